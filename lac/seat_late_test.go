//go:build !race && !gomem_portable

package lac

import "testing"

// A goroutine that found its seat just before the place was freed does not go on
// there when the arena that was out has gone to the pool.
func TestSeatIsFoundTooLate(t *testing.T) {
	for _, opts := range [][]Option{nil, {WithScanned()}} {
		p := NewPool(t.Name(), opts...)
		x := p.Get()
		var s *seat
		for i := range p.seats.places {
			if p.seats.places[i] != nil {
				s = (*seat)(p.seats.places[i])
			}
		}
		p.mu.Lock()
		p.seats.clear(true)
		p.mu.Unlock()
		x.Release()
		if last, _ := s.turn(); last.refs == 0 || last.refs == spent {
			t.Errorf("scanned %v: a seat that is no more may lend the core that is another's", p.scanned)
		}
		if s := p.Stats(); s.Gets != 1 || s.Releases != 1 {
			t.Errorf("%d gets, %d releases", s.Gets, s.Releases)
		}
	}
}

// A seat goes when it was idle from one collection to the next, and not before.
func TestIdleSeatGoes(t *testing.T) {
	p := quietPool(t)
	p.watched = true // by nobody, so that the only collections are those below
	taken := func() (n int) {
		for _, s := range p.seats.places {
			if s != nil {
				n++
			}
		}
		return n
	}
	for range 3 {
		p.Get().Release()
		p.collected()
		if taken() == 0 {
			t.Error("a goroutine at work lost its seat")
		}
	}
	p.collected()
	p.collected() // it may have two, if its stack moved
	if taken() != 0 {
		t.Error("an idle seat stays")
	}
}

// A Get that lends an arena of a seat just while the place is freed does not keep its
// release from being counted.
func TestLentWhileTheSeatGoes(t *testing.T) {
	p := quietPool(t)
	p.watched = true // by nobody, so that the only collections are those below
	x := p.Get()
	p.mu.Lock()
	p.seats.clear(true)
	p.mu.Unlock()
	x.lone = lone // as such a Get stores it
	p.collected()
	x.Release()
	if s := p.Stats(); s.Gets != 1 || s.Releases != 1 {
		t.Errorf("%d gets, %d releases", s.Gets, s.Releases)
	}
}
