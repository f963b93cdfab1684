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
