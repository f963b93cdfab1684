//go:build !race && !gomem_portable

package lac

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
)

// fillSeats takes all places of seats, so that every arena comes from a shard.
func fillSeats(p *AllocatorPool) {
	for i := range p.seats.places {
		p.seats.places[i] = new(seat) // somebody else's
	}
}

// Without a seat, two arenas at a time are each released once, in any way, however
// often that is tried; the next ones are zero and nobody else's, and neither arenas nor
// handles are made anew.
func TestShardArenasAreReleasedOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const rounds = 3 * slabLen
	for name, release := range map[string]func(*Allocator){
		"Release": (*Allocator).Release,
		"DecRef":  (*Allocator).DecRef,
		"Fork": func(ac *Allocator) {
			fork := ac.Fork()
			ac.Release()
			fork.Release()
		},
		"IncRef": func(ac *Allocator) {
			ac.IncRef()
			ac.DecRef()
			ac.Release()
		},
	} {
		p := NewPool(name, WithMisuse(func(error) {}))
		fillSeats(p)
		slab := (*[slabLen]Allocator)(nil)
		for round := range rounds {
			pair := []*Allocator{p.Get(), p.Get()}
			if pair[0].core == pair[1].core {
				t.Fatalf("%s: one arena has two owners", name)
			}
			for _, ac := range pair {
				b := NewSlice[byte](ac, 1000, 1000)
				for i := range b {
					if b[i] != 0 {
						t.Fatalf("%s, round %d: byte %d is %#x", name, round, i, b[i])
					}
					b[i] = 0xff
				}
			}
			for _, ac := range pair {
				release(ac)
				ac.Release()
			}
			if slab == nil {
				slab = (*p.shards.Load())[0].slab
			}
		}
		if (*p.shards.Load())[0].slab != slab {
			t.Errorf("%s: another slab", name)
		}
		clear(p.seats.places[:])
		if s := p.Stats(); s.Gets != 2*rounds || s.Releases != 2*rounds || s.Misuses != 2*rounds || s.Cores != 2 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// A seat keeps its arena whatever that is used for, also one that a shard had before.
func TestSeatKeepsTheArenaOfAShard(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, use := range map[string]func(*Allocator){
		"Attach": func(ac *Allocator) { Attach(ac, new(int)) },
		"IncRef": func(ac *Allocator) {
			ac.IncRef()
			ac.DecRef()
		},
		"Fork": func(ac *Allocator) { ac.Fork().Release() },
	} {
		p := quietPool(t)
		fillSeats(p)
		x, y := p.Get(), p.Get()
		c := x.core
		x.Release()
		clear(p.seats.places[:])
		ac := p.Get()
		if ac.core != c {
			t.Fatal("not from the shard")
		}
		use(ac)
		ac.Release()
		again := p.Get()
		if again.core != c || c.home != nil {
			t.Errorf("%s: the seat lends it no more", name)
		}
		again.Release()
		y.Release()
	}
}

// A shard starts a scanned arena anew each time.
func TestShardStartsScannedArenas(t *testing.T) {
	p := quietPool(t, WithScanned())
	fillSeats(p)
	for range 100 {
		ac := p.Get()
		for range 10 {
			if n := New[*int](ac); *n != nil {
				t.Fatal("not zero")
			} else {
				*n = new(int)
			}
		}
		if bytes := ac.core.typed.own[0].free.off; bytes != 10*word {
			t.Fatalf("%d bytes of the slab in use, want %d", bytes, 10*word)
		}
		ac.Release()
	}
}

// A goroutine that finds no place makes no seat.
func TestNoSeatWithoutAPlace(t *testing.T) {
	p := quietPool(t)
	fillSeats(p)
	c := p.newCore()
	if n := testing.AllocsPerRun(10, func() {
		if p.seats.sit(p, c, new([0]byte)) != nil {
			t.Error("two have one place")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A processor past the shards finds none.
func TestProcessorWithoutAShard(t *testing.T) {
	p := quietPool(t)
	n := len(*p.shards.Load())
	if p.at(n-1) == &noShard || p.at(n) != &noShard {
		t.Errorf("of %d shards, the last is missing or there is one more", n)
	}
}

// A second release that begins in the middle of the first one is reported.
func TestReleaseInTheMiddleOfAnother(t *testing.T) {
	p := NewPool(t.Name(), WithMisuse(func(error) {}))
	x := p.Get()
	x.lone = 0 // as the first one stores it
	x.Release()
	if s := p.Stats(); s.Misuses != 1 || !errors.Is(p.Err(), ErrReleased) {
		t.Errorf("%d reports, last %v", s.Misuses, p.Err())
	}
}

// An arena that was dropped goes, although the shard that lent it is busy.
func TestDroppedArenaOfABusyShardGoes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := quietPool(t)
	p.watched = true // by nobody, so that the only collections are those below
	gone := make(chan struct{})
	fillSeats(p)
	func() {
		child := new([4]int)
		runtime.AddCleanup(child, func(c chan struct{}) { close(c) }, gone)
		Attach(p.Get(), child)
	}()
	for range 100 {
		fillSeats(p)
		for range 2 * slabLen {
			p.Get().Release()
		}
		p.collected()
		runtime.GC()
		runtime.Gosched()
		select {
		case <-gone:
			return
		default:
		}
	}
	t.Error("a dropped arena is kept")
}

// However many arenas stay lent, in whatever order, a handle that was released waits for
// half a slab of others before it is lent again.
func TestStaleHandleBesideOthers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, most := range []int{10, -10, 40, -40, 112, -112, 127, -127, 300} {
		inTurn := most < 0 // seven of eight stay as long as there are not too many
		most = max(most, -most)
		p := quietPool(t)
		var live []*Allocator
		released := map[*Allocator]int{} // before which Get
		fillSeats(p)
		for i := range 50 * slabLen {
			ac := p.Get()
			if at, ok := released[ac]; ok && i-at < 63 {
				t.Fatalf("%d live: lent again after %d others", most, i-at)
			}
			switch {
			case inTurn && i%8 != 7 && len(live) < most, !inTurn && rng.IntN(8) > 0:
				live = append(live, ac)
			default:
				ac.Release()
				released[ac] = i + 1
			}
			for len(live) > most {
				k := rng.IntN(len(live))
				live[k].Release()
				released[live[k]] = i + 1
				live = slices.Delete(live, k, k+1)
			}
		}
		for _, ac := range live {
			ac.Release()
		}
		clear(p.seats.places[:])
	}
}
