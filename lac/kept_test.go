//go:build !race && !gomem_portable

package lac

import (
	"runtime"
	"testing"
)

// TestLongTask: a handle that was out while others had their turns is not lent again right
// after its release, so that a second Release is reported.
func TestLongTask(t *testing.T) {
	p := quietPool(t)
	fillSeats(p)
	for wait := range 3 * slabLen {
		ac := p.Get()
		for range wait {
			p.Get().Release()
		}
		ac.Release()
		for i := range 63 {
			other := p.Get()
			if other == ac {
				t.Fatalf("out for %d others, and lent again after %d", wait, i)
			}
			other.Release()
		}
	}
}

// TestSentBeyondTheBound: arenas that are released away from home, more than the pool is
// to keep, go with the next collection, whether or not their home lends by the general way.
func TestSentBeyondTheBound(t *testing.T) {
	p := quietPool(t, WithIdleArenas(4), WithIdleChunks(0, 4))
	fillSeats(p)
	var all []*Allocator
	for range 100 {
		all = append(all, p.Get())
	}
	sent := 0
	for _, ac := range all {
		if c := ac.core; c.plain && c.home != nil && ac.sendHome(c) {
			sent++
		} else {
			ac.Release()
		}
	}
	if sent < 50 {
		t.Fatalf("%d were sent home", sent)
	}
	p.collected()
	for i := range *p.shards.Load() {
		if (*p.shards.Load())[i].inbox.Load() != nil {
			t.Error("some wait at home")
		}
	}
	if len(p.idle) > 4 || p.store.bytes > p.store.limit {
		t.Errorf("%d arenas are idle, %d bytes of chunks", len(p.idle), p.store.bytes)
	}
}

// TestShardsOfProcessors: the shards of processors that are gone go, too, and those of an
// idle pool are not made anew with each collection.
func TestShardsOfProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	runtime.GOMAXPROCS(4)
	p := quietPool(t)
	fillSeats(p)
	p.Get().Release()
	runtime.GOMAXPROCS(1)
	p.Get().Release()
	p.collected()
	if n := len(*p.shards.Load()); n != shardCount() {
		t.Errorf("%d shards for %d processors", n, shardCount())
	}
	for range 3 {
		p.collected()
	}
	idle := p.shards.Load()
	if p.collected(); p.shards.Load() != idle {
		t.Error("an idle pool makes new shards")
	}
}

// TestSecondReleaseWithoutSeat is TestSecondReleaseWhileHeld for the handles of shards.
func TestSecondReleaseWithoutSeat(t *testing.T) {
	for name, opts := range modes {
		p, _ := strictPool(t, opts...)
		fillSeats(p)
		releasedTwice(t, name, p)
	}
}

// TestLateReleasesGo: arenas that were out while the shards were renewed, and are released
// to those that nobody else uses, go, too.
func TestLateReleasesGo(t *testing.T) {
	p := quietPool(t)
	fillSeats(p)
	var late []*Allocator
	for range shardCores {
		ac := p.Get()
		ac.IncRef() // so that it goes to the shard of whoever releases it
		ac.DecRef()
		late = append(late, ac)
	}
	p.collected()
	p.collected() // nobody used the shards since
	for _, ac := range late {
		ac.Release()
	}
	for range 3 {
		p.collected()
	}
	for i := range *p.shards.Load() {
		if n := (*p.shards.Load())[i].idle; n > 0 {
			t.Errorf("%d arenas are idle in a shard", n)
		}
	}
}
