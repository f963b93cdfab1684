package lac

import (
	"sync"
	"testing"
)

// Once debug mode is on, every arena lent is in it, also if arenas were lent and released
// while it was switched on.
func TestDebugModeSwitchedOnMeanwhile(t *testing.T) {
	for range 300 {
		p := quietPool(t)
		on := make(chan struct{})
		var begun, done sync.WaitGroup
		for range 4 {
			begun.Add(1)
			done.Go(func() {
				for i := range 100 {
					a, b := p.Get(), p.Get()
					b.Release()
					a.Release()
					if i == 10 {
						begun.Done()
					}
				}
				<-on
				for range 3 {
					a, b := p.Get(), p.Get()
					if a.core.debug == nil || b.core.debug == nil {
						t.Error("an arena lent later is not in debug mode")
					}
					b.Release()
					a.Release()
				}
			})
		}
		begun.Wait()
		p.EnableDebugMode(true)
		close(on)
		done.Wait()
	}
}

// An arena made just before debug mode was switched on is not lent after that.
func TestArenaFromBeforeDebugMode(t *testing.T) {
	p := quietPool(t)
	c := p.newCore()
	p.EnableDebugMode(true)
	if p.seats.sit(p, c, new([0]byte)) != nil {
		t.Error("a seat has it")
	}
	h := p.take(c)
	if h.core == c || h.core.debug == nil {
		t.Error("a shard lends it")
	}
	h.Release()
	p.retire(c)
	for range 2 {
		h := p.Get()
		if h.core == c {
			t.Error("it waited in the pool")
		}
		h.Release()
	}
}
