package gomem

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomem-go/gomem/backing"
)

// program is operations that map and unmap chunks of several kinds. It returns
// when an operation fails, with the error.
func program(s *shadow) error {
	sizes := []int{100, 3000, 70000, 600 << 10, 300, 2 << 20, 40000}
	for round := range 2 {
		for _, n := range sizes {
			b, err := s.a.TryMalloc(n)
			if err != nil {
				return err
			}
			s.live = append(s.live, newStamp(b, byte(round)))
			s.size += n
		}
		for i := len(s.live) - 1; i >= 0; i -= 2 {
			s.free(i, 0, len(s.live[i].b))
		}
		s.a.Trim()
	}
	return nil
}

// A fault at the k-th call of the source, for every k: a typed error that wraps
// the errno, no damage, and afterwards the allocator works on.
func TestFaultAtEachCall(t *testing.T) {
	plainOnly(t)
	eachKind(t, func(t *testing.T, k kind) {
		for _, op := range []backing.Op{backing.OpMap, backing.OpUnmap} {
			for at := 1; ; at++ {
				src := backing.NewFaulty(backing.Heap())
				a := k.make(t, WithBacking(src))
				s := newShadow(t, a, uint64(at))
				before := src.Calls(op)
				src.FailFrom(op, at, syscall.ENOMEM)
				err := program(s)
				if err != nil && (op != backing.OpMap || !errors.Is(err, ErrOutOfMemory) || !errors.Is(err, syscall.ENOMEM)) {
					t.Fatalf("%v %d: %v", op, at, err)
				}
				done := src.Calls(op)-before < at
				if !done && err == nil && op == backing.OpMap {
					t.Fatalf("Map %d and all after it fail, and nobody was told", at)
				}
				s.check()
				src.Fail(op, 0, nil)
				if err := program(s); err != nil {
					t.Fatalf("%v %d: after the fault: %v", op, at, err)
				}
				s.drain()
				a.Trim()
				if n, bytes := src.Live(); n != 0 || a.Stats().Backing != 0 {
					t.Fatalf("%v %d: %d mappings of %d bytes are left, Backing %d", op, at, n, bytes, a.Stats().Backing)
				}
				if done {
					break
				}
			}
		}
	})
}

// One failing call among others: the allocator asks for less, or gives back
// what is empty and asks again.
func TestFaultOnce(t *testing.T) {
	plainOnly(t)
	eachKind(t, func(t *testing.T, k kind) {
		for at := 1; at < 12; at++ {
			src := backing.NewFaulty(backing.Heap())
			a := k.make(t, WithBacking(src))
			s := newShadow(t, a, uint64(at))
			src.Fail(backing.OpMap, at, syscall.EPERM)
			if err := program(s); err != nil && !errors.Is(err, syscall.EPERM) {
				t.Fatal(err)
			}
			s.run(500)
			s.drain()
		}
	})
}

func TestCloseReportsWhatTheSourceSays(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		src := backing.NewFaulty(backing.Heap())
		a := NewScalableMemoryAllocator(5000, WithPlacement(k.place), WithBacking(src))
		a.Malloc(100)
		src.Fail(backing.OpUnmap, 1, syscall.EINVAL)
		if err := a.Close(); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("Close: %v", err)
		}
		if err := a.Verify(); err != nil {
			t.Error(err)
		}
	})
}

// A failing Unmap does not make a Malloc fail that could be served.
func TestFaultyUnmapKeepsTheLimit(t *testing.T) {
	plainOnly(t)
	const limit = 4 << 20
	src := &limited{backing.NewFaulty(backing.Heap()), t, limit}
	a := NewScalableMemoryAllocator(1<<20, WithBacking(src), WithMaxBytes(limit))
	a.Free(a.Malloc(1 << 20))
	src.FailFrom(backing.OpUnmap, 1, syscall.EINVAL)
	if b, err := a.TryMalloc(3500 << 10); b != nil || !errors.Is(err, ErrLimit) {
		t.Errorf("%d bytes although a chunk cannot be given back: %v", len(b), err)
	}
	src.Fail(backing.OpUnmap, 0, nil)
	if b, err := a.TryMalloc(3500 << 10); err != nil || !a.Free(b) {
		t.Errorf("now it can: %v", err)
	}
}

// After a peak all chunks but one go back by themselves within two seconds.
func TestMemoryGoesBackByItself(t *testing.T) {
	plainOnly(t)
	synctest.Test(t, memoryGoesBackByItself)
}

func memoryGoesBackByItself(t *testing.T) {
	var all []*shadow
	var sources []*backing.Faulty
	for _, k := range kinds() {
		src := backing.NewFaulty(backing.Heap())
		s := newShadow(t, k.make(t, WithBacking(src)), 1)
		for range 100 {
			s.malloc(100_000)
			s.malloc(500)
		}
		s.malloc(20 << 20)
		s.drain()
		all, sources = append(all, s), append(sources, src)
	}
	end := time.Now().Add(2 * time.Second)
	for i, s := range all {
		n, bytes := sources[i].Live()
		for (n > 1 || bytes > 4<<20) && time.Now().Before(end) {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			n, bytes = sources[i].Live()
		}
		if n > 1 || bytes > 4<<20 {
			t.Errorf("%s: two seconds after the peak %d mappings of %d bytes are left", kinds()[i].name, n, bytes)
		}
		s.check()
	}
}

// What Borrow lends can be used, however long and whatever is freed, until the
// next allocation.
func TestG22BorrowStaysMapped(t *testing.T) { synctest.Test(t, borrowStaysMapped) }

func borrowStaysMapped(t *testing.T) {
	type loan struct {
		a *ScalableMemoryAllocator
		b []byte
	}
	var loans []loan
	for _, k := range kinds() {
		for _, n := range []int{100, 5000, 3 << 20, 20 << 20} {
			a := k.make(t)
			first, second := a.Malloc(100), a.Malloc(2<<20)
			third := a.Malloc(5 << 20)
			loans = append(loans, loan{a, a.Borrow(n)})
			a.Free(second)
			a.Free(first)
			a.Free(third)
		}
	}
	time.Sleep(2 * time.Second)
	synctest.Wait()
	for _, l := range loans {
		l.a.Trim()
		for i := 0; i < len(l.b); i += 97 {
			l.b[i] = byte(i)
		}
		if err := l.a.Verify(); err != nil {
			t.Error(err)
		}
		l.a.Free(l.a.Malloc(len(l.b)))
	}
}

func TestThousandsOfIdleAllocators(t *testing.T) {
	plainOnly(t)
	const count = 5000
	all := make([]*ScalableMemoryAllocator, count)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range all {
		all[i] = NewScalableMemoryAllocator(16 << 10)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / count; each >= 1024 {
		t.Errorf("an idle allocator takes %d bytes", each)
	}
	runtime.KeepAlive(all)
}

// An allocator on the Go heap needs nobody to close it.
func TestDroppedOnTheHeap(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 200 {
		a := NewScalableMemoryAllocator(1<<20, WithBacking(backing.Heap()))
		a.Malloc(1 << 20)[0] = 1
	}
	if !eventually(func() bool {
		runtime.ReadMemStats(&after)
		return int64(after.HeapAlloc)-int64(before.HeapAlloc) < 20<<20
	}) {
		t.Errorf("200 dropped allocators keep %d bytes", int64(after.HeapAlloc)-int64(before.HeapAlloc))
	}
}

func TestG21DroppedIsUnmapped(t *testing.T) {
	var sources []*backing.Faulty
	for _, k := range kinds() {
		src := backing.NewFaulty(backing.Heap())
		for range 50 {
			a := NewScalableMemoryAllocator(1<<20, WithPlacement(k.place), WithBacking(src))
			if k.shared {
				shareOut(a)
			}
			for _, n := range []int{10, 300, 5000} {
				a.Free(a.Malloc(n))
			}
		}
		sources = append(sources, src)
	}
	for i, src := range sources {
		if !eventually(func() bool { n, _ := src.Live(); return n == 0 }) {
			n, bytes := src.Live()
			t.Errorf("%s: 50 dropped allocators leave %d mappings of %d bytes", kinds()[i].name, n, bytes)
		}
	}
}

// What was freed is no reason to keep a chunk, in debug mode either, which keeps it for a
// while; what is live is.
func TestDroppedInDebugMode(t *testing.T) {
	src := backing.NewFaulty(backing.Heap())
	var kept [][]byte
	for i := range 50 {
		a := NewScalableMemoryAllocator(1<<20, WithBacking(src), WithDebug(DebugOptions{Quiet: true}))
		b := a.Malloc(100)
		a.Free(a.Malloc(200))
		if a.Borrow(300); i%10 == 0 {
			kept = append(kept, b)
			continue
		}
		a.Free(b)
	}
	if !eventually(func() bool { n, _ := src.Live(); return n == len(kept) }) {
		n, bytes := src.Live()
		t.Errorf("50 dropped allocators, of which %d have live blocks, leave %d mappings of %d bytes", len(kept), n, bytes)
	}
}

func TestG20RecycledIsUnmapped(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		src := backing.NewFaulty(backing.Heap())
		for i := range 600 {
			a := NewScalableMemoryAllocator(1<<(10+i%3*2), WithPlacement(k.place), WithBacking(src))
			a.Malloc(700)
			a.Recycle()
			if n, bytes := src.Live(); n != 0 {
				t.Fatalf("recycled, and %d mappings of %d bytes are left", n, bytes)
			}
		}
	})
}

// What the system does not take back at Close it is asked to by the next one.
func TestCloseAgain(t *testing.T) {
	src := backing.NewFaulty(backing.Mmap())
	a := NewScalableMemoryAllocator(4096, WithBacking(src))
	a.Malloc(100)
	src.Fail(backing.OpUnmap, 1, syscall.EPERM)
	if err := a.Close(); !errors.Is(err, syscall.EPERM) {
		t.Errorf("Close: %v", err)
	}
	if b, err := a.TryMalloc(1); b != nil || !errors.Is(err, ErrClosed) {
		t.Errorf("Malloc of a closed allocator: %v", err)
	}
	src.Fail(backing.OpUnmap, 1, syscall.EPERM)
	if err := a.Close(); !errors.Is(err, syscall.EPERM) {
		t.Errorf("Close, while the system still refuses: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Errorf("Close at last: %v", err)
	}
	if n, bytes := src.Live(); n != 0 || bytes != 0 {
		t.Errorf("%d mappings of %d bytes are left", n, bytes)
	}
	if err := a.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("Close once more: %v", err)
	}
}

// refusing waits in its first Unmap until leave is closed, and refuses all others.
type refusing struct {
	backing.Source
	called atomic.Bool
	leave  chan bool
}

func (s *refusing) Unmap(mem []byte) error {
	if s.called.Swap(true) {
		return syscall.ENOMEM
	}
	<-s.leave
	return s.Source.Unmap(mem)
}

// TestFaultOfAnother: what the source says to a chunk that one call drops is not the
// answer to another one that comes in between, for the lack of which memory is lost.
func TestFaultOfAnother(t *testing.T) {
	plainOnly(t)
	const limit, chunk = 6 << 20, 1 << 20
	for name, call := range map[string]func(t *testing.T, a *ScalableMemoryAllocator, own []byte){
		"Free": func(t *testing.T, a *ScalableMemoryAllocator, own []byte) {
			if !a.Free(own) {
				t.Error("a free of a live block is refused")
			}
		},
		"TryMalloc": func(t *testing.T, a *ScalableMemoryAllocator, _ []byte) {
			if b, err := a.TryMalloc(300 << 10); err != nil || len(b) != 300<<10 {
				t.Errorf("TryMalloc returns %d bytes and %v", len(b), err)
			}
		},
		"MallocAligned": func(t *testing.T, a *ScalableMemoryAllocator, _ []byte) {
			if b, err := a.MallocAligned(300<<10, 64); err != nil || len(b) != 300<<10 {
				t.Errorf("MallocAligned returns %d bytes and %v", len(b), err)
			}
		},
		"Verify": func(t *testing.T, a *ScalableMemoryAllocator, _ []byte) {
			if err := a.Verify(); err != nil {
				t.Errorf("Verify returns %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := &refusing{Source: backing.Heap(), leave: make(chan bool)}
			a := NewScalableMemoryAllocator(chunk, WithBacking(src), WithMaxBytes(limit),
				WithMisuse(func(err error) { t.Error("misuse: ", err) }))
			var b [5][]byte
			for i := range b {
				b[i] = a.Malloc(chunk)
			}
			a.FreeRest(&b[2], 1000) // leaves room in its chunk
			a.Free(b[0])
			var others sync.WaitGroup
			others.Go(a.Trim) // waits for the source
			for !src.called.Load() {
				runtime.Gosched()
			}
			a.Free(b[1])
			chunks := a.Stats().Chunks
			others.Go(func() { _, _ = a.TryMalloc(4 * chunk) }) // drops that chunk, and waits for Trim
			for a.Stats().Chunks == chunks {
				runtime.Gosched()
			}
			call(t, a, b[2])
			close(src.leave)
			others.Wait()
			if err := a.Verify(); err != nil {
				t.Error(err)
			}
		})
	}
}
