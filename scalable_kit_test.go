package gomem

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/check"
)

// kind is one way to make an allocator.
type kind struct {
	name   string
	place  Placement
	shared bool // past the point where small blocks come from slots
	opts   []Option
}

// kinds is every placement over every source of chunks. SizeClasses is there
// twice, since an allocator with few blocks has no slots yet.
func kinds() []kind {
	var all []kind
	for _, src := range []struct {
		name string
		opts []Option
	}{
		{"heap", []Option{WithBacking(backing.Heap())}},
		{"mmap", []Option{WithBacking(backing.Mmap())}},
		{"pool", []Option{WithBacking(backing.Heap()), WithPooledChunks(true)}},
	} {
		for _, p := range []struct {
			name   string
			place  Placement
			shared bool
		}{
			{"SizeClasses", SizeClasses, true},
			{"SizeClassesFew", SizeClasses, false},
			{"TLSF", TLSF, false},
			{"SingleTree", SingleTree, false},
			{"TwoTree", TwoTree, false},
		} {
			all = append(all, kind{p.name + "/" + src.name, p.place, p.shared, src.opts})
		}
	}
	return all
}

// exact says whether the placement knows where each block ends.
func (k kind) exact() bool { return k.place == SizeClasses || k.place == TLSF }

// make returns an allocator of the kind with a first chunk of 1 MiB.
func (k kind) make(t testing.TB, opts ...Option) *ScalableMemoryAllocator {
	all := append([]Option{WithPlacement(k.place)}, k.opts...)
	a := NewScalableMemoryAllocator(1<<20, append(all, opts...)...)
	t.Cleanup(func() { _ = a.Close() })
	if k.shared {
		shareOut(a)
	}
	return a
}

// shareOut makes small blocks of a come from slots.
func shareOut(a *ScalableMemoryAllocator) {
	for range 1100 {
		a.Free(a.Malloc(8))
	}
}

// plainOnly skips what a debug build does otherwise: it puts zones around blocks,
// holds back what was freed, and is slow.
func plainOnly(t *testing.T) {
	t.Helper()
	if check.Enabled {
		t.Skip("not in a debug build")
	}
}

// inlinedOnly is for tests of what stays on the stack where the compiler inlines.
func inlinedOnly(t *testing.T) {
	t.Helper()
	cell := func() *int { return new(int) }
	if leastAllocs(10, func() { *cell() = 1 }) > 0 {
		t.Skip("not in a build without inlining")
	}
}

// leastAllocs is what f allocates: the least of several testing.AllocsPerRun, which also
// count what the clocks of heaps from earlier tests allocate, when many tick at once.
func leastAllocs(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for range 4 {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

func eachKind(t *testing.T, f func(t *testing.T, k kind)) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) { f(t, k) })
	}
}

// eachKindAtRest is eachKind where no time passes: nothing goes back by itself,
// however slow the machine is.
func eachKindAtRest(t *testing.T, f func(t *testing.T, k kind)) {
	eachKind(t, func(t *testing.T, k kind) {
		synctest.Test(t, func(t *testing.T) { f(t, k) })
	})
}

// stamp is what is left of a block, and what is in it: byte i of the block is
// seed + 31*i. Of a large block only some bytes are looked at.
type stamp struct {
	b    []byte
	seed byte
	from int // of b in the block
	step int
}

func newStamp(b []byte, seed byte) stamp {
	s := stamp{b: b, seed: seed, step: 1}
	if len(b) > 32<<10 {
		s.step = 1021
	}
	s.each(func(i int, want byte) bool { b[i] = want; return true })
	return s
}

func (s stamp) each(visit func(i int, want byte) bool) {
	for i := (s.step - s.from%s.step) % s.step; i < len(s.b); i += s.step {
		if !visit(i, s.seed+byte(31*(s.from+i))) {
			return
		}
	}
}

func (s stamp) intact() (err error) {
	s.each(func(i int, want byte) bool {
		if got := s.b[i]; got != want {
			err = fmt.Errorf("block of %d bytes at %p: byte %d is %#x, want %#x", len(s.b), s.b, i, got, want)
		}
		return err == nil
	})
	return err
}

// part is the bytes [from, to) of s.
func (s stamp) part(from, to int) stamp {
	return stamp{s.b[from:to:to], s.seed, s.from + from, s.step}
}

// shadow drives an allocator and knows what must be live in it.
type shadow struct {
	t    testing.TB
	a    *ScalableMemoryAllocator
	rng  *rand.Rand
	seed uint64
	max  int // bytes of the largest block
	live []stamp
	size int // bytes in live
}

func newShadow(t testing.TB, a *ScalableMemoryAllocator, seed uint64) *shadow {
	return &shadow{t: t, a: a, rng: rand.New(rand.NewPCG(seed, 7)), seed: seed, max: 9000, size: a.Stats().Live}
}

func (s *shadow) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Logf("seed %d", s.seed)
	s.t.Fatalf(format, args...)
}

// malloc takes a block that the shadow keeps.
func (s *shadow) malloc(n int) []byte {
	s.t.Helper()
	b, err := s.a.TryMalloc(n)
	if err != nil || len(b) != n || cap(b) != n {
		s.fail("TryMalloc(%d): len %d cap %d, %v", n, len(b), cap(b), err)
	}
	s.live = append(s.live, newStamp(b, byte(s.rng.Uint32())))
	s.size += n
	return b
}

// free gives back [from, to) of live block i.
func (s *shadow) free(i, from, to int) {
	s.t.Helper()
	st := s.live[i]
	if err := st.intact(); err != nil {
		s.fail("%v", err)
	}
	if !s.a.Free(st.b[from:to]) {
		s.fail("Free of [%d,%d) of %d bytes refused", from, to, len(st.b))
	}
	s.live[i] = s.live[len(s.live)-1]
	s.live = s.live[:len(s.live)-1]
	s.keep(st.part(0, from))
	s.keep(st.part(to, len(st.b)))
	s.size -= to - from
}

func (s *shadow) keep(st stamp) {
	if len(st.b) > 0 {
		s.live = append(s.live, st)
	}
}

// drop gives back the live block that b is.
func (s *shadow) drop(b []byte) {
	s.t.Helper()
	for i, st := range s.live {
		if unsafe.SliceData(st.b) == unsafe.SliceData(b) {
			s.free(i, 0, len(b))
			return
		}
	}
	s.fail("no live block at %p", b)
}

// run does n random operations: blocks of up to s.max bytes, most of them
// small, freed whole or in part.
func (s *shadow) run(n int) {
	s.t.Helper()
	for range n {
		if len(s.live) < 4 || len(s.live) < 100 && s.rng.IntN(2) == 0 {
			n := 1 + s.rng.IntN(s.max)
			if s.rng.IntN(4) != 0 {
				n = 1 + n%300
			}
			s.malloc(n)
			continue
		}
		i := s.rng.IntN(len(s.live))
		from, to := 0, len(s.live[i].b)
		if s.rng.IntN(3) == 0 {
			from = s.rng.IntN(to)
			to = from + 1 + s.rng.IntN(to-from)
		}
		s.free(i, from, to)
	}
	s.check()
}

// check compares everything with the shadow.
func (s *shadow) check() {
	s.t.Helper()
	for _, st := range s.live {
		if err := st.intact(); err != nil {
			s.fail("%v", err)
		}
	}
	if err := s.a.Verify(); err != nil {
		s.fail("Verify: %v", err)
	}
	if got := s.a.Stats().Live; got != s.size {
		s.fail("%d bytes live, want %d", got, s.size)
	}
}

// drain gives everything back.
func (s *shadow) drain() {
	s.t.Helper()
	for len(s.live) > 0 {
		s.free(len(s.live)-1, 0, len(s.live[len(s.live)-1].b))
	}
	s.check()
}

// wild is n bytes from the first of b, also behind its end: a slice that only
// a program with unsafe can have.
func wild(b []byte, n int) []byte {
	// Safety: the bytes behind b are never touched. Built as a header, since
	// unsafe.Slice is checked in test builds.
	h := struct {
		p        unsafe.Pointer
		len, cap int
	}{unsafe.Pointer(unsafe.SliceData(b)), n, n}
	return *(*[]byte)(unsafe.Pointer(&h))
}

// touching says whether y starts where x ends.
func touching(x, y []byte) bool {
	// Safety: the addresses are compared and never followed.
	return uintptr(unsafe.Pointer(unsafe.SliceData(x)))+uintptr(len(x)) == uintptr(unsafe.Pointer(unsafe.SliceData(y)))
}
