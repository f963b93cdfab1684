package lac

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Many goroutines get, nest and release arenas, at changing depths of stacks that
// move, while places of seats are freed: each arena is zero, nobody else's, and
// counted.
func TestSeats(t *testing.T) {
	const goroutines, rounds = 40, 300
	p := quietPool(t)
	stop := make(chan struct{})
	var cleaner, workers sync.WaitGroup
	cleaner.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				p.mu.Lock()
				p.seats.clear(true)
				p.mu.Unlock()
				p.Stats()
			}
		}
	})
	var use func(id uint64, depth int)
	use = func(id uint64, depth int) {
		var pad [500]byte
		ac := p.Get()
		var list [4]*uint64
		for k := range list {
			list[k] = New[uint64](ac)
			if *list[k] != 0 {
				t.Errorf("an object of %d holds %d", id, *list[k])
			}
			*list[k] = id
		}
		if depth > 0 {
			use(id+1, depth-1)
		}
		if id%5 == 0 {
			runtime.Gosched()
		}
		for _, v := range list {
			if *v != id {
				t.Errorf("an object of %d holds %d", id, *v)
			}
		}
		pad[depth]++
		ac.Release()
		runtime.KeepAlive(&pad)
	}
	gets := uint64(0)
	for g := range goroutines {
		depth := g % 6
		gets += uint64(rounds * (depth + 1))
		workers.Go(func() {
			for i := range rounds {
				use(uint64(g*rounds+i+1)*10, depth)
			}
		})
	}
	workers.Wait()
	close(stop)
	cleaner.Wait()
	if s := p.Stats(); s.Gets != gets || s.Releases != gets {
		t.Errorf("%d gets, %d releases, want %d", s.Gets, s.Releases, gets)
	}
}

// An arena that is out when the place of its seat is freed is released once, by
// whoever is first, and counted.
func TestSeatIsFreed(t *testing.T) {
	p := NewPool(t.Name(), WithMisuse(func(error) {}))
	for round := range 500 {
		x := p.Get()
		x.Int(1)
		p.mu.Lock()
		p.seats.clear(true)
		p.mu.Unlock()
		var wg sync.WaitGroup
		wg.Go(x.Release)
		if round%2 == 0 {
			wg.Go(x.DecRef)
		}
		wg.Wait()
		a, b := p.Get(), p.Get()
		if a.core == b.core {
			t.Fatal("one arena has two owners")
		}
		if *New[int](a) != 0 || *New[int](b) != 0 {
			t.Fatal("not zero")
		}
		b.Release()
		a.Release()
	}
	if s := p.Stats(); s.Gets != 1500 || s.Releases != 1500 || s.Cores > 50 {
		t.Errorf("%d gets, %d releases, %d arenas made", s.Gets, s.Releases, s.Cores)
	}
	x := p.Get()
	p.mu.Lock()
	p.seats.clear(true)
	p.mu.Unlock()
	x.Release()
	before := p.Stats().Misuses
	x.Release()
	if n := p.Stats().Misuses - before; n != 1 || !errors.Is(p.Err(), ErrReleased) {
		t.Errorf("%d reports of a second release, last %v", n, p.Err())
	}
}

// A dropped arena is collected, whether its goroutine gets others or not.
func TestDroppedArenaGoes(t *testing.T) {
	for _, busy := range []bool{false, true} {
		p := quietPool(t)
		gone := make(chan struct{})
		func() {
			child := new([4]int)
			runtime.AddCleanup(child, func(c chan struct{}) { close(c) }, gone)
			*New[*[4]int](p.Get()) = child
			Attach(p.Get(), child)
		}()
		for i := 0; ; i++ {
			select {
			case <-gone:
			default:
				if i == 500 {
					t.Fatalf("busy %v: a dropped arena is kept", busy)
				}
				if busy {
					for range 2 * slabLen {
						p.Get().Release()
					}
				}
				runtime.GC()
				time.Sleep(time.Millisecond)
				continue
			}
			break
		}
	}
}
