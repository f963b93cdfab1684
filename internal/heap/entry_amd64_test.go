//go:build gc && !race && !gomem_portable && !purego

package heap

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

// TestEntries: calls begin in assembly. If this fails, a new release of Go passes
// arguments otherwise, and all calls begin in Go.
func TestEntries(t *testing.T) {
	malloc, free, probe := addresses()
	for name, pc := range map[string][2]uintptr{
		"Malloc":    {reflect.ValueOf(mallocEntry).Pointer(), malloc},
		"TryMalloc": {reflect.ValueOf(tryMallocEntry).Pointer(), malloc},
		"Free":      {reflect.ValueOf(freeEntry).Pointer(), free},
	} {
		if pc[0] != pc[1] {
			t.Errorf("%s does not begin in assembly", name)
		}
	}
	if malloc%64 != 0 || free%64 != 0 {
		t.Errorf("malloc at %#x and free at %#x do not begin a cache line", malloc, free)
	}
	if !expected(probe) {
		t.Error("the probe finds other registers than those it should")
	}
}

// TestUnexpected: with arguments or results in other places than the assembly has them
// no call begins there.
func TestUnexpected(t *testing.T) {
	g := func(a, b, c, d uintptr) (uintptr, uintptr, uintptr, uintptr, uintptr) { return 0, a, b, c + d, 0 }
	order := func(a, b, c, d uintptr) (uintptr, uintptr, uintptr, uintptr, uintptr) { return 0, b, a, c + d, 0 }
	_, _, probe := addresses()
	if !expected(probe) || expected(reflect.ValueOf(g).Pointer()) || expected(reflect.ValueOf(order).Pointer()) {
		t.Error("anything is expected")
	}
}

// twin is one of two heaps that play the same program, one by the entries and one
// without the assembly.
type twin struct {
	h      *Heap
	malloc func(*Heap, int) []byte
	try    func(*Heap, int) ([]byte, error)
	free   func(*Heap, []byte) bool
	live   [][]byte
}

// TestEntriesAlike: what begins in assembly ends as what begins in Go, call by call.
func TestEntriesAlike(t *testing.T) {
	if prepareSections(); pOfM == 0 {
		t.Skip(sectionsOff)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 13))
	twins := [2]*twin{
		{h: newHeap(1 << 20), malloc: mallocEntry, try: tryMallocEntry, free: freeEntry},
		{h: newHeap(1 << 20), malloc: (*Heap).mallocSection, try: (*Heap).tryMalloc, free: (*Heap).freeSection},
	}
	for _, w := range twins {
		w.h.cfg.Source = placedSource{backing.Heap(), 0} // so that both find as much room
	}
	both := func(what string, do func(w *twin) any) {
		t.Helper()
		got, want := do(twins[0]), do(twins[1])
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %v in assembly, %v in Go", what, got, want)
		}
	}
	keep := func(w *twin, b []byte) any {
		if b != nil {
			w.live = append(w.live, b)
		}
		sp := w.h.spanAt(addressOf(b))
		if sp == nil || b == nil {
			return [3]int{len(b), cap(b), -1}
		}
		return [3]int{len(b), cap(b), int(addressOf(b) - uintptr(sp.base))}
	}
	for i := range 200_000 {
		n := []int{rng.IntN(300), rng.IntN(300), rng.IntN(maxSmall + 2), rng.IntN(2 * maxSlot), -1, 1 << 62}[rng.IntN(1000)*rng.IntN(1000)*6/1_000_000]
		switch k := rng.IntN(20); {
		case k < 7:
			both("Malloc", func(w *twin) any { return keep(w, w.malloc(w.h, n)) })
		case k < 10:
			both("TryMalloc", func(w *twin) any {
				b, err := w.try(w.h, n)
				return []any{keep(w, b), err}
			})
		case len(twins[0].live) == 0:
		case k < 19 || i%5 > 0:
			at := rng.IntN(len(twins[0].live))
			both("Free", func(w *twin) any {
				b := w.live[at]
				w.live = slices.Delete(w.live, at, at+1)
				return w.free(w.h, b)
			})
		default: // parts, and what is refused
			at, from, to := rng.IntN(len(twins[0].live)), rng.IntN(64), rng.IntN(64)
			both("Free", func(w *twin) any {
				b := w.live[at]
				size := len(b)
				// Safety: nobody follows the pointer outside the block.
				part := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), from)), to)
				switch to % 4 {
				case 0:
					part = b[min(from, size):]
				case 1:
					part = b[:min(to, size)]
				case 2:
					part = append([]byte(nil), part[:min(size, 1)]...)
				}
				w.live = slices.Delete(w.live, at, at+1) // whatever comes of it
				return []bool{w.free(w.h, part), w.free(w.h, part), w.free(w.h, b)}
			})
		}
		if i%500 == 0 {
			both("Stats", func(w *twin) any {
				// How many bytes are mapped depends also on the clock.
				s := w.h.Stats()
				return [4]uint64{s.Malloced, s.Freed, uint64(s.Live), s.Refused}
			})
		}
	}
	for _, w := range twins {
		mustVerify(t, w.h)
	}
	for _, nothing := range []*Heap{nil, newHeap(0)} {
		if b, c := mallocEntry(nothing, 100), freeEntry(nothing, make([]byte, 100)); len(b) != 100 || c {
			t.Errorf("no heap, or one of no shard: %d bytes, %v", len(b), c)
		}
	}
}

// TestEntriesLook: the assembly believes neither a hint nor a span that it has not looked
// at, each of which is rarely wrong.
func TestEntriesLook(t *testing.T) {
	if prepareSections(); pOfM == 0 {
		t.Skip(sectionsOff)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h := sharedOut(t, 100)
	blocks := make([][]byte, 100)
	for i := range blocks {
		blocks[i] = mustMalloc(t, h, 100)
	}
	next := func() (b []byte, sp *span, i uint) {
		b, blocks = blocks[0], blocks[1:]
		sp = h.spanAt(addressOf(b))
		i, _ = sp.slot(addressOf(b) - uintptr(sp.base))
		return b, sp, i
	}
	s := h.pin()
	unpin(s)
	for s.cur[class(100)].head == noSlot {
		mustMalloc(t, h, 100)
	}
	var elsewhere [1]uint32
	other := newShard()
	other.home = unsafe.Pointer(&elsewhere)
	other.show(true, true)
	other.cur[class(100)] = s.cur[class(100)]
	hint := func(s *shard) { *h.hints.of(here()) = unsafe.Pointer(s) }

	hint(other)
	if b := mustMalloc(t, h, 100); other.malloced != 0 {
		t.Errorf("%d bytes from another P's shard", len(b))
	}
	hint(s)
	b, sp, i := next()
	sp.owner.Store(other)
	if mustFree(t, h, b); sp.recs[i]&stateMask != stateQueue {
		t.Error("a span of another P's shard was changed")
	}
	sp.owner.Store(s)
	b, sp, i = next()
	all := sp.recs
	if sp.recs = all[:i]; h.Free(b) || all[i] != stateLive|100 {
		t.Error("freed behind the last slot")
	}
	sp.recs = all
	mustFree(t, h, b)

	// A record of a slot that is not live may have the low bits of a length.
	for _, more := range []int{0, 1 << 31, 1 << 32} {
		// Safety: nobody follows the pointer outside the block.
		again := struct {
			p        unsafe.Pointer
			len, cap int
		}{unsafe.Pointer(&b[0]), more + int(sp.recs[i]), more + int(sp.recs[i])}
		if h.Free(*(*[]byte)(unsafe.Pointer(&again))) {
			t.Errorf("a second free, of %d bytes, was taken", again.len)
		}
	}
}
