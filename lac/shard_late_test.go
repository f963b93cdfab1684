//go:build !race && !gomem_portable

package lac

import "testing"

// A release of an arena whose shard was replaced is the pool's to count at once: one
// that had begun before has until the shard is counted for the last time to end.
func TestReleaseAfterTheShardWent(t *testing.T) {
	p := quietPool(t)
	fillSeats(p)
	x := p.Get()
	if x.lone != lone {
		t.Fatal("not from a shard")
	}
	clear(p.seats.places[:])
	p.mu.Lock()
	p.renewShards()
	p.mu.Unlock()
	x.Release()
	if n := p.oldReleases.Load(); n != 1 {
		t.Errorf("the pool counted %d releases", n)
	}
}

// A Get that lends an arena of a shard just while that is replaced does not keep its
// release from being counted.
func TestLentWhileTheShardGoes(t *testing.T) {
	p := quietPool(t)
	p.watched = true // by nobody, so that the only collections are those below
	fillSeats(p)
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
