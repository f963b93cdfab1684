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
	// A goroutine that was stopped in the middle of a Get or Release while its seat was
	// cleared away twice is not counted.
	const stopped = 4
	if s := p.Stats(); gets-s.Gets > stopped || gets-s.Releases > stopped {
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

// Whatever an arena was used for, and by whomever it was released, also while its
// seat is freed: the next one is zero and nobody else's, a stale handle is
// noticed, and each arena is counted once.
func TestSeatAfterAnyUse(t *testing.T) {
	const rounds, chunk = 150, 4 << 10
	both := func(list ...func()) func() {
		return func() {
			var wg sync.WaitGroup
			for _, f := range list {
				wg.Go(f)
			}
			wg.Wait()
		}
	}
	uses := map[string]func(ac *Allocator) (release func()){
		"little": func(ac *Allocator) func() { return ac.Release },
		"chunks": func(ac *Allocator) func() {
			NewSlice[byte](ac, 3*chunk, 3*chunk)[0] = 1
			return ac.Release
		},
		"attached": func(ac *Allocator) func() {
			Attach(ac, new(int))
			return ac.Release
		},
		"nothing attached": func(ac *Allocator) func() {
			Attach(ac, 3)
			return ac.DecRef
		},
		"IncRef": func(ac *Allocator) func() {
			ac.IncRef()
			*New[[100]uint64](ac) = [100]uint64{1}
			return both(ac.DecRef, ac.DecRef)
		},
		"Fork": func(ac *Allocator) func() {
			fork := ac.Fork()
			for range 50 {
				*New[[8]uint64](fork), *New[[8]uint64](ac) = [8]uint64{1}, [8]uint64{2}
			}
			return both(fork.Release, ac.Release)
		},
		"both": func(ac *Allocator) func() {
			ac.IncRef()
			fork := ac.Fork()
			fork.IncRef()
			ac.String("text")
			fork.Int(1)
			return both(fork.Release, ac.Release, fork.DecRef, ac.DecRef)
		},
	}
	for _, opts := range [][]Option{nil, {WithScanned()}} {
		for name, use := range uses {
			opts := append(opts, WithChunkSize(chunk), WithMisuse(func(error) {}))
			p := NewPool(name, opts...)
			for round := range rounds {
				x := p.Get()
				x.Int(1)
				*New[*int](x) = x.Int(2)
				release := use(x)
				if round%3 == 0 {
					p.mu.Lock()
					p.seats.clear(true)
					p.mu.Unlock()
				}
				release()
				before := p.Stats().Misuses
				x.Release()
				x.Int(3)
				New[*int](x)
				if n := p.Stats().Misuses - before; n != 3 && name != "both" || !errors.Is(p.Err(), ErrReleased) {
					t.Fatalf("%s, scanned %v: %d reports of three stale uses, last %v", name, p.scanned, n, p.Err())
				}
				a, b := p.Get(), p.Get()
				if a.core == b.core {
					t.Fatalf("%s, scanned %v: one arena has two owners", name, p.scanned)
				}
				for _, ac := range []*Allocator{a, b} {
					if *New[[16]uint64](ac) != ([16]uint64{}) || *New[*int](ac) != nil {
						t.Fatalf("%s, scanned %v: not zero", name, p.scanned)
					}
					ac.Release()
				}
			}
			if s := p.Stats(); s.Gets != 3*rounds || s.Releases != 3*rounds || s.Cores > 20 {
				t.Errorf("%s, scanned %v: %d gets, %d releases, %d arenas made", name, p.scanned, s.Gets, s.Releases, s.Cores)
			}
		}
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

// TestReplacedShardsGo: the shards that a quiet pool replaced, and the arenas that were
// dropped there, do not stay until it is quiet again.
func TestReplacedShardsGo(t *testing.T) {
	p := quietPool(t)
	p.watched = true // by nobody, so that the only collections are those below
	p.Get().Release()
	collected := func(quiet bool) {
		if p.lastGets, _ = p.shardCounts(); !quiet {
			p.lastGets--
		}
		p.collected()
	}
	collected(true)
	before := p.Stats()
	collected(false)
	if p.prev == nil && p.older == nil {
		t.Error("shards went while somebody may be at work in one")
	}
	collected(false)
	if p.prev != nil || p.older != nil {
		t.Error("replaced shards stay")
	}
	if s := p.Stats(); s != before {
		t.Errorf("%+v, before %+v", s, before)
	}
}
