package lac

import (
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Stacks grow, shrink and pass to other goroutines between the allocations from a
// shared handle, which are inlined here: no object is handed out twice.
func TestSharedWhileStacksMove(t *testing.T) {
	const workers, rounds = 8, 60
	p := quietPool(t)
	ac := p.Get()
	stop := make(chan struct{})
	var collector, group sync.WaitGroup
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
	close(stop)
	collector.Wait()
	ac.Release()
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

// The fast paths are inlined: each fits the compiler's budget, some just so.
func TestInlined(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, name := range []string{
		"alloc", "elsewhere", "put[int]", "(*Allocator).Int", "(*Allocator).Float64", "(*Allocator).Release", "(*Allocator).DecRef",
	} {
		if !strings.Contains(string(out), "can inline "+name+"\n") {
			t.Errorf("%s is not inlined", name)
		}
	}
}
