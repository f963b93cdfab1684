package lac

import "fmt"

// Stats is a snapshot of a pool.
type Stats struct {
	Gets, Releases uint64 // arenas lent out and given back
	Cores          int64  // arenas made; the others were reused
	ChunksMade     int64  // chunks allocated from the Go heap
	ChunksReused   int64  // chunks served from the pool
	ChunksDropped  int64  // idle chunks left to the collector, without those of idle arenas
	IdleBytes      int    // bytes of idle chunks, without those of idle arenas
	Misuses        int64  // reports so far
}

// counts returns how many arenas were lent and given back. The caller holds p.mu.
func (p *AllocatorPool) counts() (gets, releases uint64) {
	gets, releases = p.shardCounts()
	g, r := p.seats.counts()
	return gets + g, releases + r
}

// shardCounts is counts without the seats.
func (p *AllocatorPool) shardCounts() (gets, releases uint64) {
	if list := p.shards.Load(); list != nil { // nil in a zero pool that lent nothing
		gets, releases = list.counts()
	}
	for _, old := range [][]shards{p.prev, p.older} {
		for _, list := range old {
			g, r := list.counts()
			gets, releases = gets+g, releases+r
		}
	}
	return gets + p.oldGets, releases + p.oldReleases.Load()
}

// Stats returns a snapshot. Each number is recent, and exact while nobody uses the pool,
// with two exceptions: Gets or Releases may be one too low for each goroutine that was
// stopped in the middle of a Get or Release for longer than two collections, and a
// release on another processor may not be counted if a shard gets new handles at that
// moment. It may be called at any time from any goroutine. O(processors).
func (p *AllocatorPool) Stats() Stats {
	if p == nil {
		return Stats{}
	}
	p.mu.Lock()
	gets, releases := p.counts()
	p.mu.Unlock()
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	return Stats{
		Gets: gets, Releases: releases, Cores: p.cores.Load(),
		ChunksMade: p.store.created, ChunksReused: p.store.reused, ChunksDropped: p.store.dropped,
		IdleBytes: int(p.store.bytes), Misuses: p.misuses.Load(),
	}
}

// DumpStats returns the statistics as one line of text. With reset it also
// clears the count of misuses and the last misuse. It may be called at any time
// from any goroutine. O(processors).
func (p *AllocatorPool) DumpStats(reset bool) string {
	if p == nil {
		return "lac: no pool, the Go heap"
	}
	s := p.Stats()
	if reset {
		p.misuses.Store(0)
		p.lastMisuse.Store(nil)
	}
	return fmt.Sprintf("lac pool %q: gets %d, releases %d, arenas made %d, chunks made %d, reused %d, dropped %d, idle bytes %d, misuses %d",
		p.name, s.Gets, s.Releases, s.Cores, s.ChunksMade, s.ChunksReused, s.ChunksDropped, s.IdleBytes, s.Misuses)
}
