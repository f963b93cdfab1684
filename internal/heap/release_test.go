package heap

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gomem-go/gomem/backing"
)

// wiping is a source that overwrites what is released, which must be free and mapped.
type wiping struct {
	gated
	released atomic.Int64 // bytes
	busy     atomic.Pointer[[]byte]
	during   func()
	early    atomic.Bool // a mapping went while a part of it was released
}

func (w *wiping) Release(mem []byte) error {
	w.busy.Store(&mem)
	for i := 0; i < len(mem); i += 64 { // no block is smaller where that is looked for
		mem[i] = 0xDD
	}
	w.released.Add(int64(len(mem)))
	if w.during != nil {
		w.during()
	}
	w.busy.Store(nil)
	return nil
}

func (w *wiping) Unmap(mem []byte) error {
	if b := w.busy.Load(); b != nil && addressOf(*b)-addressOf(mem) < uintptr(len(mem)) {
		w.early.Store(true)
	}
	return w.gated.Unmap(mem)
}

func wipingHeap(w *wiping, maxBytes int) *Heap {
	gatedHeap(&w.gated, maxBytes) // for its source
	h := new(Heap)
	h.Init(Config{Size: 1 << 20, MaxBytes: maxBytes, Source: w, Placement: placements["tlsf"], Few: few, Spans: true})
	return h
}

// peaked allocates blocks of n bytes, frees all but every keep-th, and returns those.
func peaked(t *testing.T, h *Heap, n, blocks, keep int) (kept []stamped) {
	t.Helper()
	var all []stamped
	for i := range blocks {
		all = append(all, stamped{mustMalloc(t, h, n), uint64(i) * hashFactor})
		all[i].fill()
	}
	for i, s := range all {
		if i%keep > 0 {
			mustFree(t, h, s.b)
		} else {
			kept = append(kept, s)
		}
	}
	return kept
}

func mustHoldMarks(t *testing.T, live []stamped) {
	t.Helper()
	for _, s := range live {
		for i, got := range s.b {
			if want := byte(s.mark >> (8 * (i & 7))); got != want {
				t.Fatalf("byte %d of a block of %d is %#x, want %#x", i, len(s.b), got, want)
			}
		}
	}
}

// TestTrimReleasesPages: what is left of a peak keeps chunks, but not their free pages.
func TestTrimReleasesPages(t *testing.T) {
	for _, n := range []int{100, 3000, 20 << 10, 100 << 10, 300 << 10} {
		w := &wiping{}
		h := wipingHeap(w, 0)
		kept := peaked(t, h, n, 16<<20/n, max(10, 1<<20/n))
		mustFree(t, h, mustMalloc(t, h, n)) // the last one may lie anywhere
		if err := h.Trim(); err != nil {
			t.Fatal(err)
		}
		s, taken := h.Stats(), 0
		for _, c := range h.chunks {
			if c != nil {
				taken += c.size - c.place.FreeBytes() + 4*rangeBytes
			}
		}
		if left := s.Backing - int(w.released.Load()); left > taken {
			t.Errorf("blocks of %d: %d of %d bytes released, %d taken", n, w.released.Load(), s.Backing, taken)
		}
		before := w.released.Load()
		if err := h.Trim(); err != nil || w.released.Load() > before {
			t.Errorf("blocks of %d: %d bytes released again, %v", n, w.released.Load()-before, err)
		}
		mustHoldMarks(t, kept)
		mustVerify(t, h)
		for _, s := range kept {
			mustFree(t, h, s.b)
		}
		if err := h.Close(); err != nil || w.now.Load() != 0 {
			t.Errorf("blocks of %d: %d bytes left, %v", n, w.now.Load(), err)
		}
	}
}

// TestColdPagesGo: by itself a heap gives free pages back of chunks that have not served
// for some periods, once, and again when more has come free.
func TestColdPagesGo(t *testing.T) {
	const n = 100 << 10
	w := &wiping{}
	h := wipingHeap(w, 0)
	kept := peaked(t, h, n, 160, 8)
	tick := func(times int) int64 {
		before := w.released.Load()
		for range times {
			h.tick()
		}
		return w.released.Load() - before
	}
	if got := tick(coldPeriods); got > 0 {
		t.Errorf("%d bytes were released at once", got)
	}
	got := int(tick(2))
	if s := h.Stats(); got < (s.Backing-s.Live)*9/10 {
		t.Errorf("%d bytes were released of %d with %d live", got, s.Backing, s.Live)
	}
	if got := tick(2 * coldPeriods); got > 0 {
		t.Errorf("%d bytes were released again", got)
	}
	mustFree(t, h, kept[5].b, kept[6].b)
	kept = append(kept[:5], kept[7:]...)
	if got := tick(2 * coldPeriods); got < 2*n-pageSize {
		t.Errorf("%d bytes were released of two blocks", got)
	}
	served := mustMalloc(t, h, n)
	c := h.table.find(addressOf(served)).c
	mustFree(t, h, served)
	if got := tick(coldPeriods); got > 0 {
		t.Errorf("%d bytes were released of a chunk that serves", got)
	}
	if got := tick(2); got < n-pageSize {
		t.Errorf("%d bytes were released after chunk %d served", got, c.index)
	}
	mustFree(t, h, mustMalloc(t, h, 1000))
	if got := tick(2 * coldPeriods); got > 0 {
		t.Errorf("%d bytes were released for a small block", got)
	}
	mustHoldMarks(t, kept)
	mustVerify(t, h)
}

// TestClockReleasesPages: the clock goes on until the pages of a quiet heap have gone, also
// those of an empty chunk, and then stops.
func TestClockReleasesPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, keep := range []int{1, 0} {
			w := &wiping{}
			h := wipingHeap(w, 0)
			kept := mustMalloc(t, h, 600<<10)
			mustFree(t, h, kept[100*keep:])
			pass(3 * coldPeriods * tickPeriod)
			if got := w.released.Load(); got < 500<<10 || h.ticking.Load() {
				t.Errorf("%d bytes were released, the clock runs: %v", got, h.ticking.Load())
			}
			mustVerify(t, h)
		}
	})
}

// TestPagesOfLentBytesStay: a borrow lies in free memory, and Trim does not end it.
func TestPagesOfLentBytesStay(t *testing.T) {
	h := wipingHeap(&wiping{}, 0)
	peaked(t, h, 100<<10, 20, 4)
	lent := stamped{h.Borrow(150 << 10), hashFactor}
	lent.fill()
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	mustHoldMarks(t, []stamped{lent})
	mustVerify(t, h)
}

// TestReleasePanics: the heap works on, and has its free memory, if the source panics.
func TestReleasePanics(t *testing.T) {
	w := &wiping{during: func() { panic("source") }}
	h := wipingHeap(w, 8<<20)
	kept := mustMalloc(t, h, 6<<20)
	mustFree(t, h, kept[1<<20:])
	sourcePanics(t, func() { _ = h.Trim() })
	mustFree(t, h, mustMalloc(t, h, 5<<20))
	mustVerify(t, h)
	w.during = nil
	if err := h.Close(); err != nil || w.now.Load() != 0 {
		t.Errorf("%d bytes are left, %v", w.now.Load(), err)
	}
}

// TestReleaseBesideOthers: pages go while others allocate and free, and none of a block.
func TestReleaseBesideOthers(t *testing.T) {
	w := &wiping{during: runtime.Gosched}
	h := wipingHeap(w, 0)
	stop := always(func() {
		if err := h.Trim(); err != nil {
			t.Error(err)
		}
		h.tick()
	})
	var users sync.WaitGroup
	for u := range 3 {
		users.Go(func() {
			r := rand.New(rand.NewPCG(uint64(u), 1))
			var live [30][]byte
			for i := 0; i < 3000 || w.released.Load() < 8<<20 && i < 300000; i++ {
				b := &live[r.IntN(len(live))]
				if n := len(*b); n > 0 {
					if binary.LittleEndian.Uint64(*b) != uint64(n) || binary.LittleEndian.Uint64((*b)[n-8:]) != uint64(n) {
						t.Errorf("user %d, step %d: a block of %d bytes was overwritten", u, i, n)
					}
					if !h.Free(*b) {
						t.Error("refused")
					}
				}
				n := 16 << r.IntN(15)
				*b = h.Malloc(n + r.IntN(n))
				binary.LittleEndian.PutUint64(*b, uint64(len(*b)))
				binary.LittleEndian.PutUint64((*b)[len(*b)-8:], uint64(len(*b)))
				if i%16 == 0 {
					runtime.Gosched() // where there is one thread and no preemption
				}
			}
			for _, b := range live {
				h.Free(b)
			}
		})
	}
	users.Wait()
	stop()
	mustVerify(t, h)
	if w.released.Load() == 0 {
		t.Error("nothing was released")
	}
	if err := h.Close(); err != nil || w.now.Load() != 0 {
		t.Errorf("%d bytes are left, %v", w.now.Load(), err)
	}
}

// TestNothingToRelease: the Go heap takes no pages, and what debug mode filled stays.
func TestNothingToRelease(t *testing.T) {
	w := &wiping{}
	w.Source = backing.Heap()
	debug := debugHeap(&w.gated, Debug{})
	locked := new(Heap)
	locked.Init(Config{Size: 1 << 20, Source: backing.Mmap(backing.Locked()), Placement: placements["tlsf"]})
	for name, h := range map[string]*Heap{"Go heap": newHeap(1 << 20), "debug": debug, "locked": locked} {
		if h.releaseShift != 0 {
			t.Errorf("%s: pages go", name)
		}
	}
}
