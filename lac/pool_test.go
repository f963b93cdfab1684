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
