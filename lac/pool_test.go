package lac

import (
	"math"
	"testing"
)

// However many idle chunks are allowed, the bound is a whole number of chunks
// that does not overflow.
func TestIdleLimit(t *testing.T) {
	for _, c := range []struct {
		most   int
		chunks uintptr
	}{
		{-1, 0}, {0, 0}, {1, 1}, {1024, 1024}, {1 << 20, min(1<<20, maxAlloc/defaultChunkSize)},
		{math.MaxInt, maxAlloc / defaultChunkSize}, {math.MaxInt/defaultChunkSize + 1, maxAlloc / defaultChunkSize},
	} {
		p := NewPool(t.Name(), WithIdleChunks(0, c.most))
		if got := p.store.limit; got != c.chunks*defaultChunkSize {
			t.Errorf("%d chunks: bound %d bytes, want %d chunks", c.most, got, c.chunks)
		}
	}
}

// What NewAllocatorPool is told, and what is out of range, arrives as the options say.
func TestPoolSettings(t *testing.T) {
	logger := &testLogger{}
	p := NewAllocatorPool("orders", logger, 3, 1000, 2, 50)
	if p.name != "orders" || p.logger != logger || p.idleCap != 3 || p.chunkSize != 1000 ||
		p.store.limit != 50*1000 || p.Stats().IdleBytes != 2*1000 {
		t.Errorf("%q: %d arenas, chunks of %d bytes, %d to %d bytes idle", p.name, p.idleCap, p.chunkSize,
			p.Stats().IdleBytes, p.store.limit)
	}
	for size, want := range map[int]uintptr{
		math.MinInt: defaultChunkSize, -1: defaultChunkSize, 0: defaultChunkSize, 1: 512, 511: 512, 512: 512, 513: 520,
		256 << 20: 256 << 20, 256<<20 + 1: 256 << 20, math.MaxInt: 256 << 20,
	} {
		if p := NewPool("", WithChunkSize(size)); p.chunkSize != want {
			t.Errorf("WithChunkSize(%d) makes chunks of %d bytes, want %d", size, p.chunkSize, want)
		}
	}
}

// Chunks that were asked for are there at once, and stay.
func TestIdleChunksStay(t *testing.T) {
	p := quietPool(t, WithChunkSize(1024), WithIdleChunks(5, 10))
	p.watched = true // by nobody, so that the only collections are those below
	for range 4 {
		if s := p.Stats(); s.ChunksMade != 5 || s.IdleBytes != 5*1024 {
			t.Errorf("%d chunks made, %d bytes idle", s.ChunksMade, s.IdleBytes)
		}
		p.collected()
	}
	if p.newCore(); p.Stats().ChunksReused != 1 {
		t.Error("an arena took none of them")
	}
}

// Collections change nothing in what was counted, whatever becomes of seats and shards.
func TestCollectionsKeepCounts(t *testing.T) {
	p := quietPool(t)
	p.watched = true // by nobody, so that the only collections are those below
	var gets uint64
	for range 4 {
		var all [20]*Allocator
		for i := range all {
			all[i] = p.Get()
		}
		for _, ac := range all {
			ac.Release()
		}
		gets += uint64(len(all))
		for range 5 {
			p.collected()
			if s := p.Stats(); s.Gets != gets || s.Releases != gets {
				t.Fatalf("%d gets, %d releases, want %d", s.Gets, s.Releases, gets)
			}
		}
	}
}

// A collection leaves the idle arenas that were needed since the one before, and the
// chunks of what is too many serve others.
func TestIdleArenasGo(t *testing.T) {
	p := quietPool(t)
	p.watched = true // by nobody, so that the only collections are those below
	var idle []*core
	for range 10 {
		idle = append(idle, p.newCore())
	}
	p.idle = append(p.idle, idle...)
	p.collected()
	a, b := p.findCore(), p.findCore()
	p.idle = append(p.idle, a, b)
	p.collected()
	if len(p.idle) != 2 {
		t.Errorf("%d of 10 idle arenas left, 2 were needed", len(p.idle))
	}
	for range 3 {
		if c := p.findCore(); c == nil || c.first.base == nil {
			t.Error("no arena")
		}
	}
	if n := p.Stats().Cores; n != 11 {
		t.Errorf("%d arenas made", n)
	}
	p = quietPool(t, WithIdleArenas(0))
	idle = nil
	for range shardCores*shardCount() + 3 {
		idle = append(idle, p.newCore())
	}
	for _, c := range idle {
		p.retire(c)
	}
	if n := p.Stats().IdleBytes; n < 3*defaultChunkSize {
		t.Errorf("%d bytes idle", n)
	}
}
