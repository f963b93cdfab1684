package gomem

import (
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/check"
)

// panicsOnDemand is a source that panics at the next call that is armed, or in place of
// unmapping one mapping.
type panicsOnDemand struct {
	backing.Source
	unmap, release bool
	at             *byte
}

func (s *panicsOnDemand) Unmap(mem []byte) error {
	if s.unmap || &mem[0] == s.at {
		s.unmap, s.at = false, nil
		panic("unmap")
	}
	return s.Source.Unmap(mem)
}

func (s *panicsOnDemand) Release(mem []byte) error {
	if s.release {
		s.release = false
		panic("release")
	}
	return s.Source.Release(mem)
}

// panics says whether f panics.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// TestChunkPoolSourcePanics: a mapping of which the source panics is live as before, and
// nobody else is given it: to unmap another empty segment, and to release pages.
func TestChunkPoolSourcePanics(t *testing.T) {
	inner := backing.NewFaulty(backing.Heap())
	src := &panicsOnDemand{Source: inner}
	pool := NewChunkPool(src)
	var other [][]byte // a segment of its own, the one that is kept
	for range segmentSize / MaxBlockSize {
		other = append(other, mapIn(t, pool, MaxBlockSize))
	}
	mem := mapIn(t, pool, MaxBlockSize)
	for _, b := range other {
		if err := pool.Unmap(b); err != nil {
			t.Fatal(err)
		}
	}
	src.unmap = true
	if !panics(func() { _ = pool.Unmap(mem) }) {
		t.Fatal("the source's panic went nowhere")
	}
	src.release = true
	if !panics(func() { _ = pool.Unmap(mem) }) {
		t.Fatal("the source's panic went nowhere")
	}
	for range 2*segmentSize/MaxBlockSize - 1 {
		if b := mapIn(t, pool, MaxBlockSize); &b[0] == &mem[0] {
			t.Fatal("a live mapping was handed out again")
		} else {
			other = append(other, b)
		}
	}
	for _, b := range append(other[segmentSize/MaxBlockSize:], mem) {
		if err := pool.Unmap(b); err != nil {
			t.Error(err)
		}
	}
	if n, _ := inner.Live(); n != 1 {
		t.Errorf("%d segments are mapped, want the one that is kept", n)
	}
}

// TestChunkPoolSourcePanicsBehind: nor is the segment of a mapping unmapped when the source
// panics for another one, which it would not take earlier.
func TestChunkPoolSourcePanicsBehind(t *testing.T) {
	inner := backing.NewFaulty(backing.Heap())
	src := &panicsOnDemand{Source: inner}
	pool := NewChunkPool(src)
	var segments [][]byte // in each the first of two mappings
	for range 3 {
		segments = append(segments, mapIn(t, pool, MaxBlockSize))
		mapIn(t, pool, MaxBlockSize)
	}
	halves := segments
	for _, s := range pool.(*chunkPool).segments {
		halves = append(halves, s.mem[MaxBlockSize:][:MaxBlockSize:MaxBlockSize])
	}
	inner.FailFrom(backing.OpUnmap, 1, nil)
	for _, i := range []int{0, 3, 2, 5, 4} { // the first and the last segment stay, empty
		if err := pool.Unmap(halves[i]); err != nil {
			t.Fatal(err)
		}
	}
	inner.FailFrom(backing.OpUnmap, 0, nil)
	src.at = &segments[2][0]
	if !panics(func() { _ = pool.Unmap(segments[1]) }) {
		t.Fatal("the source's panic went nowhere")
	}
	for _, s := range pool.(*chunkPool).segments {
		if &s.mem[0] == &segments[1][0] {
			return
		}
	}
	t.Error("the segment of a live mapping is gone")
}

func mapIn(t *testing.T, src backing.Source, size int) []byte {
	t.Helper()
	mem, err := src.Map(size)
	if err != nil || len(mem) != size {
		t.Fatalf("Map(%d): %d bytes, %v", size, len(mem), err)
	}
	return mem
}

// wide is a source with pages that are larger than the blocks of a pool.
type wide struct {
	backing.Source
	maps int
}

func (s *wide) PageSize() int { return 4 * MaxBlockSize }

func (s *wide) Map(size int) ([]byte, error) {
	mem := make([]byte, size+s.PageSize())
	skip := int(-uintptr(unsafe.Pointer(&mem[0])) & uintptr(s.PageSize()-1))
	s.maps++
	return mem[skip:][:size:size], nil
}

func (s *wide) Unmap([]byte) error {
	s.maps--
	return nil
}

// TestChunkPoolLargePages: a pool over such pages has its source map each chunk.
func TestChunkPoolLargePages(t *testing.T) {
	src := &wide{Source: backing.Heap()}
	pool := NewChunkPool(src)
	for range 3 {
		mem := mapIn(t, pool, 5000)
		if err := pool.Unmap(mem); err != nil {
			t.Error(err)
		}
	}
	if src.maps != 0 {
		t.Errorf("%d mappings are left", src.maps)
	}
}

// TestPooledChunksArePowersOfTwo: a heap asks a pool of buddies for nothing that it would
// round up to twice as much.
func TestPooledChunksArePowersOfTwo(t *testing.T) {
	for _, size := range []int{1000, 60_000, 1 << 20} {
		if size == 1<<20 && check.Enabled {
			continue // red zones make it more than a power of two
		}
		inner := backing.NewFaulty(backing.Heap())
		a := NewScalableMemoryAllocator(0, WithBacking(inner), WithPooledChunks(true))
		for range (64 << 20) / size {
			if a.Malloc(size) == nil {
				t.Fatal("no memory")
			}
		}
		_, taken := inner.Live()
		if mapped := int(a.Stats().Backing); taken > mapped+segmentSize {
			t.Errorf("blocks of %d: the pool took %d bytes for chunks of %d in all", size, taken, mapped)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
