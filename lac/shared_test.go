package lac

import (
	"runtime"
	"sync"
	"testing"
	"unsafe"
)

// Stacks grow, shrink and pass to other goroutines between the allocations from a
// shared handle, which are inlined here: no object is handed out twice.
func TestSharedWhileStacksMove(t *testing.T) {
	const workers, rounds = 8, 60
	p := quietPool(t)
	ac := p.Get()
	collectMeanwhile(t)
	var group sync.WaitGroup
	for g := range workers {
		for range workers {
			ac.IncRef()
		}
		group.Go(func() {
			for life := range workers {
				var inner sync.WaitGroup
				// A new goroutine takes over the stack of one that is done.
				inner.Go(func() {
					defer ac.DecRef()
					id := uint64(g*workers+life+1) << 32
					var all []*uint64
					for round := range rounds {
						for i := range 20 {
							v := New[uint64](ac)
							if *v != 0 {
								t.Errorf("an object holds %#x", *v)
							}
							*v = id + uint64(round*100+i)
							all = append(all, v, ac.Uint64(*v))
						}
						deep(ac, round%40)
					}
					for i := 0; i < len(all); i += 2 {
						if want := id + uint64(i/40*100+i/2%20); *all[i] != want || *all[i+1] != want {
							t.Errorf("objects %#x and %#x, want %#x", *all[i], *all[i+1], want)
							return
						}
					}
				})
				inner.Wait()
			}
		})
	}
	group.Wait()
	ac.Release()
}

// collectMeanwhile has the collector run again and again until the test ends.
func collectMeanwhile(t *testing.T) {
	t.Helper()
	stop := make(chan struct{})
	var collector sync.WaitGroup
	collector.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		collector.Wait()
	})
}

// Goroutines that find no place for a window of their own take what they need, and
// not a window each time.
func TestSharedByMany(t *testing.T) {
	const goroutines, objects = 400, 100
	p := quietPool(t)
	ac := p.Get()
	var group sync.WaitGroup
	start := make(chan struct{})
	for range goroutines {
		ac.IncRef()
		group.Go(func() {
			<-start
			for i := range objects {
				ac.Int(i)
			}
			ac.DecRef()
		})
	}
	close(start)
	group.Wait()
	// They took 320 KB, and windows of up to 4 KiB for at most 64 of them.
	if n := p.Stats().ChunksMade; n > 12 {
		t.Errorf("%d chunks of 64 KiB made", n)
	}
	ac.Release()
}

// Goroutines whose stacks grow at any place of an allocation take what they need,
// and not a window each: where the stack comes to lie another one has left its own.
func TestSharedWhereStacksGrow(t *testing.T) {
	p := quietPool(t)
	ac := p.Get()
	ac.IncRef()
	var at func(depth int)
	at = func(depth int) {
		if depth > 0 {
			at(depth - 1)
			return
		}
		ac.Int(1)
	}
	for depth := range 60 {
		for range 100 {
			done := make(chan struct{})
			go func() {
				defer close(done)
				at(depth)
			}()
			<-done
		}
	}
	// They took 48 KB, and a few windows.
	if n := p.Stats().ChunksMade; n > 12 {
		t.Errorf("%d chunks of 64 KiB made", n)
	}
	ac.DecRef()
	ac.Release()
}

// A goroutine that shares an arena goes the slow way for a window, and windows grow.
func TestSharedFastPath(t *testing.T) {
	if unsafe.Sizeof(table{}) == 1 {
		t.Skip("goroutines that share an arena take turns here")
	}
	ac := quietPool(t).Get()
	defer ac.Release()
	ac.IncRef()
	defer ac.DecRef()
	slow := 0
	for range 8000 {
		alloc(ac, word, (*Allocator).elsewhere, func(ac *Allocator) unsafe.Pointer {
			slow++
			return newSlow[uint64](ac)
		})
	}
	// 1, 2, 4, 8 and then 16 KiB each, and some more if the stack moves.
	if slow > 30 {
		t.Errorf("%d of 8000 words were taken the slow way", slow)
	}
}

// Chunks may have any size, and windows of a quarter or a sixteenth of one; objects
// start on a multiple of 8.
func TestSharedInOddChunks(t *testing.T) {
	for size := 512; size <= 1536; size += 8 {
		ac := quietPool(t, WithChunkSize(size)).Get()
		ac.IncRef()
		fork := ac.Fork()
		last := map[uintptr]bool{}
		for i := range 60 {
			for _, h := range []*Allocator{ac, fork} {
				p := New[[2]uint64](h)
				if at := uintptr(unsafe.Pointer(p)); at%8 != 0 || last[at] || *p != [2]uint64{} {
					t.Fatalf("chunks of %d bytes: object %d at %#x holds %v", size, i, at, *p)
				}
				last[uintptr(unsafe.Pointer(p))] = true
				*p = [2]uint64{1, 2}
				h.Int(3)
			}
		}
		fork.Release()
		ac.DecRef()
		ac.Release()
	}
}
