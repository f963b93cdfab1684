//go:build !race && !gomem_portable

package lac

import "testing"

// A Get that lends an arena of a shard just while that is replaced does not keep its
// release from being counted.
func TestLentWhileTheShardGoes(t *testing.T) {
	p := quietPool(t)
	p.watched = true // by nobody, so that the only collections are those below
	for i := range p.seats.places {
		p.seats.places[i] = new(seat) // somebody else's
	}
	p.Get().Release()
	x := p.Get()
	clear(p.seats.places[:])
	if x.lone != lone || x.core.home == nil {
		t.Fatal("not from a shard")
	}
	p.mu.Lock()
	p.renewShards()
	p.mu.Unlock()
	x.lone = lone // as such a Get stores it
	p.collected()
	p.collected()
	x.Release()
	if s := p.Stats(); s.Gets != 2 || s.Releases != 2 {
		t.Errorf("%d gets, %d releases", s.Gets, s.Releases)
	}
}
