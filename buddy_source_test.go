package gomem

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

// zero says whether every byte of b is zero.
func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// Every mapping is zero, of the size asked for, aligned to a page, and nobody
// else's; what is not exactly a live mapping is refused.
func TestChunkPool(t *testing.T) {
	inner := backing.NewFaulty(backing.Heap())
	p := NewChunkPool(inner)
	const seed = 1
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	var live []stamp
	for i := range 3000 {
		if len(live) > 40 || len(live) > 0 && rng.IntN(2) == 0 {
			j := rng.IntN(len(live))
			s := live[j]
			if err := s.intact(); err != nil {
				t.Fatal(err)
			}
			for _, wrong := range [][]byte{s.b[:len(s.b)-1], s.b[1:], wild(s.b, len(s.b)+1), make([]byte, 4096), nil, {}} {
				if len(wrong) == len(s.b) {
					continue
				}
				if err := p.Unmap(wrong); !errors.Is(err, backing.ErrNotMapped) {
					t.Fatalf("Unmap of %d bytes of a mapping of %d: %v", len(wrong), len(s.b), err)
				}
			}
			if err := p.Unmap(s.b); err != nil {
				t.Fatal(err)
			}
			if err := p.Unmap(s.b); !errors.Is(err, backing.ErrNotMapped) {
				t.Fatalf("the second Unmap: %v", err)
			}
			live[j] = live[len(live)-1]
			live = live[:len(live)-1]
			continue
		}
		n := 1 + rng.IntN(200000)
		switch rng.IntN(30) {
		case 0:
			n = MaxBlockSize + rng.IntN(3) - 1
		case 1:
			n = 1 + rng.IntN(5000)
		}
		mem, err := p.Map(n)
		if err != nil || len(mem) != n || cap(mem) != n || uintptr(unsafe.Pointer(&mem[0]))%uintptr(p.PageSize()) != 0 {
			t.Fatalf("Map(%d): len %d cap %d at %p, %v", n, len(mem), cap(mem), mem, err)
		}
		if !zero(mem) {
			t.Fatalf("%d: Map(%d) is not zero", i, n)
		}
		live = append(live, newStamp(mem, byte(rng.Uint32()|1)))
	}
	for _, s := range live {
		if err := errors.Join(s.intact(), p.Unmap(s.b)); err != nil {
			t.Fatal(err)
		}
	}
	if n, bytes := inner.Live(); n != 1 || bytes != segmentSize {
		t.Errorf("nothing is mapped, and the pool holds %d segments of %d bytes", n, bytes)
	}
}

func TestChunkPoolSizes(t *testing.T) {
	p := NewChunkPool(backing.Heap())
	for _, n := range []int{0, -1, math.MinInt} {
		if mem, err := p.Map(n); mem != nil || !errors.Is(err, backing.ErrInvalidSize) {
			t.Errorf("Map(%d) = %d bytes, %v", n, len(mem), err)
		}
	}
	if mem, err := p.Map(math.MaxInt); mem != nil || !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("Map(MaxInt) = %d bytes, %v", len(mem), err)
	}
}

// otherLength is a source whose mappings are shorter or longer than they should be.
type otherLength struct {
	*backing.Faulty
	by int
}

func (s otherLength) Map(size int) ([]byte, error) {
	mem, err := s.Faulty.Map(max(size+s.by, 1))
	return mem[:max(size+s.by, 0)], err
}

// What the inner source maps at another length goes back, and is refused.
func TestChunkPoolOtherLength(t *testing.T) {
	for _, by := range []int{-100 << 20, -1, 1} {
		for _, size := range []int{100, MaxBlockSize + 1} {
			f := backing.NewFaulty(nil)
			p := NewChunkPool(otherLength{f, by})
			mem, err := p.Map(size)
			if n, _ := f.Live(); mem != nil || !errors.Is(err, backing.ErrOutOfMemory) || n != 0 && by > -size {
				t.Errorf("%d bytes more: %d bytes, %v, %d mappings left", by, len(mem), err, n)
			}
		}
	}
}

func TestChunkPoolConcurrent(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		inner := backing.NewFaulty(backing.Heap())
		p := newChunkPool(inner, keeps)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(i), 1))
				for range 200 {
					mem, err := p.Map(1 + rng.IntN(100000))
					if err != nil || !zero(mem) {
						t.Errorf("seed %d: zero %v, %v", i, zero(mem), err)
						return
					}
					s := newStamp(mem, byte(i+1))
					runtime.Gosched()
					if err := errors.Join(s.intact(), p.Unmap(mem)); err != nil {
						t.Errorf("seed %d: %v", i, err)
						return
					}
				}
			})
		}
		all.Wait()
		if n, bytes := inner.Live(); (n == 1) != keeps || n > 1 {
			t.Errorf("keeps %v: %d segments of %d bytes are left", keeps, n, bytes)
		}
	}
}

func TestG14SmallPooledAllocators(t *testing.T) {
	for n := range 1100 {
		a := NewScalableMemoryAllocator(n, WithPooledChunks(true))
		if b := a.Malloc(n); len(b) != n || !a.Free(b) {
			t.Fatalf("allocator of %d: %d bytes", n, len(b))
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestG15PooledAllocatorsShareNoMemory(t *testing.T) {
	for _, size := range []int{100, 1500, 1023, 4097, 70000} {
		a := NewScalableMemoryAllocator(size, WithPooledChunks(true))
		b := NewScalableMemoryAllocator(size, WithPooledChunks(true))
		x := newStamp(a.Malloc(size), 1)
		y := newStamp(b.Malloc(size), 2)
		if err := errors.Join(x.intact(), y.intact()); err != nil {
			t.Errorf("allocators of %d bytes: %v", size, err)
		}
		if a.Free(y.b) || b.Free(x.b) {
			t.Errorf("allocators of %d bytes free each other's", size)
		}
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestG16PooledAllocatorsSurviveCollections(t *testing.T) {
	pool := backing.NewFaulty(backing.Heap())
	src := NewChunkPool(pool)
	var live []stamp
	var all []*ScalableMemoryAllocator
	for i := range 50 {
		a := NewScalableMemoryAllocator(4096, WithBacking(src))
		live = append(live, newStamp(a.Malloc(4000), byte(i)))
		all = append(all, a)
		runtime.GC()
	}
	if n, _ := pool.Live(); n != 1 {
		t.Errorf("50 allocators of 4 KiB take %d segments", n)
	}
	for i, a := range all {
		if err := errors.Join(live[i].intact(), a.Close()); err != nil {
			t.Error(err)
		}
	}
}

// eventually collects garbage until ok, or for a time that is long also where a
// collection takes a second.
func eventually(ok func() bool) bool {
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		runtime.GC()
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

func TestG17DroppedPooledAllocators(t *testing.T) {
	plainOnly(t)
	pool := backing.NewFaulty(backing.Heap())
	src := NewChunkPool(pool)
	for range 300 {
		a := NewScalableMemoryAllocator(1<<20, WithBacking(src))
		a.Free(a.Malloc(1 << 20))
	}
	if !eventually(func() bool { n, _ := pool.Live(); return n <= 1 }) {
		n, bytes := pool.Live()
		t.Errorf("300 allocators were dropped, and %d segments of %d bytes are left", n, bytes)
	}
}

// A pool that belongs to one allocator gives all back with it; what the source does
// not take, Close tries again.
func TestPoolOfOneAllocator(t *testing.T) {
	for _, fault := range []bool{false, true} {
		inner := backing.NewFaulty(nil)
		a := NewScalableMemoryAllocator(4096, WithBacking(inner), WithPooledChunks(true), WithPlacement(TwoTree))
		for _, n := range []int{4000, 3 << 20, 3 << 20, MaxBlockSize, MaxBlockSize + 1} {
			if b := a.Malloc(n); len(b) != n {
				t.Fatalf("Malloc(%d): %d bytes", n, len(b))
			}
		}
		if fault {
			inner.FailFrom(backing.OpUnmap, 1, syscall.EINVAL)
			if err := a.Close(); !errors.Is(err, syscall.EINVAL) {
				t.Errorf("Close: %v", err)
			}
			inner.Fail(backing.OpUnmap, 0, nil)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if n, bytes := inner.Live(); n != 0 {
			t.Errorf("fault %v: %d mappings of %d bytes are left", fault, n, bytes)
		}
	}
}

// beside is a source that does something else while pages are released.
type beside struct {
	backing.Source
	do func()
}

func (b *beside) Release([]byte) error { b.do(); return nil }

// Of two mappings that go at once, the later one takes the segment along.
func TestLastTwoOfASegment(t *testing.T) {
	inner := backing.NewFaulty(nil)
	src := &beside{Source: inner}
	p := newChunkPool(src, false)
	a, _ := p.Map(100)
	b, _ := p.Map(100)
	src.do = func() {
		src.do = func() {}
		if err := p.Unmap(b); err != nil {
			t.Error(err)
		}
	}
	if n, _ := inner.Live(); p.Unmap(a) != nil || n != 1 {
		t.Errorf("%d segments before", n)
	}
	if n, _ := inner.Live(); n != 0 {
		t.Errorf("%d segments left", n)
	}
}

// What an allocator that is garbage had handed out is never issued again.
func TestDroppedWithLiveBlocks(t *testing.T) {
	for _, shared := range []bool{false, true} {
		inner := backing.NewFaulty(backing.Heap())
		src := NewChunkPool(inner)
		var kept []stamp
		for i := range 20 {
			a := NewScalableMemoryAllocator(4096, WithBacking(src), WithPlacement(SizeClasses))
			if shared {
				shareOut(a)
			}
			kept = append(kept, newStamp(a.Malloc(100), byte(i)), newStamp(a.Malloc(5000), byte(i)))
			rest := a.Malloc(300)
			a.Free(rest[:100])
			kept = append(kept, newStamp(rest[100:], byte(i)))
		}
		for range 5 {
			runtime.GC()
			time.Sleep(2 * time.Millisecond)
		}
		for range 50 {
			mem, err := src.Map(4096)
			if err != nil {
				t.Fatal(err)
			}
			mem[0] = 0xFF
			for i := range mem {
				mem[i] = 0xFF
			}
		}
		for _, s := range kept {
			if err := s.intact(); err != nil {
				t.Errorf("shared %v: %v", shared, err)
			}
		}
	}
}
