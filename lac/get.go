package lac

import "sync/atomic"

// Get lends an arena out, empty, until its Release. The handle is owned by the
// caller until then. A nil pool, or any pool while DisableAllLac is
// set, returns nil, which allocates from the Go heap. O(1), amortised over the
// handles made at once; takes no lock in steady state.
func (p *AllocatorPool) Get() *Allocator {
	if p == nil || DisableAllLac {
		return nil
	}
	s := p.at(procPin())
	l := s.last
	h := l.next
	if atomic.LoadInt32(&l.refs) != 0 || l.core == nil || atomic.LoadInt32(&h.refs) != 0 || h.core != nil {
		return p.lend(s)
	}
	// The handle lent before this one was released and kept its core.
	c, used := l.core, l.off
	l.base, l.core, h.base, h.core, s.last = nil, nil, c.whole.base, c, h
	h.off, h.end, h.lone, h.refs = c.whole.off, c.whole.end, 1, 1
	s.turns++
	unpin(s)
	c.first.wipe(used)
	return h
}

// newSlab makes the handles of a shard, each with the next one in turn.
func newSlab(p *AllocatorPool, refs int32) *[slabLen]Allocator {
	slab := new([slabLen]Allocator)
	for i := range slab {
		slab[i] = Allocator{pool: p, refs: refs, next: &slab[(i+1)%slabLen]}
	}
	return slab
}

// noHandles stands in for the slab of a shard that has none: all are taken.
var noHandles = newSlab(nil, 1)

// noShard stands in for a shard that does not exist yet: it has nothing to give
// and room for nothing.
var noShard = shard{slab: noHandles, last: &noHandles[0], idle: shardCores}

// follow makes h the handle lent last. The one before is not lone any more, as
// nobody would look for the core that it leaves. The caller is pinned at s.
func (s *shard) follow(h *Allocator) {
	if l := s.last; atomic.LoadInt32(&l.lone) != 0 {
		put32(&l.lone, 0)
	}
	s.last = h
}

// turn takes h for an arena on c. The caller is pinned at s.
func (s *shard) turn(h *Allocator, c *core) {
	s.follow(h)
	h.lone, h.refs = 0, 1
	if lazy && c.plain {
		h.lone = 1
	}
	s.gets++
}

// lend is Get when the arena released last is not the one to lend. The caller
// is pinned at s, and not any more when it returns.
func (p *AllocatorPool) lend(s *shard) *Allocator {
	h := s.last.next
	if atomic.LoadInt32(&s.last.refs) == 0 && s.last.core != nil || s.idle == 0 ||
		atomic.LoadInt32(&h.refs) != 0 || h.core != nil {
		unpin(s)
		return p.getSlow()
	}
	s.idle--
	c := s.cores[s.idle]
	s.cores[s.idle] = nil
	s.turn(h, c)
	unpin(s)
	p.start(h, c)
	return h
}

// handle returns a free handle of the slab, or nil if the shard needs a new slab:
// too many in a row are out, or one was out when a collection ran. The slab
// would keep the arena of a dropped handle alive otherwise. The caller is pinned
// at s.
func (s *shard) handle(epoch uint32) *Allocator {
	h := s.last.next
	for range 8 {
		if atomic.LoadInt32(&h.refs) == 0 {
			s.reap(h)
			return h
		}
		if s.born != epoch {
			break
		}
		h = h.next
	}
	return nil
}

// reap makes the core that a released handle kept idle, or the collector's if too
// many are. The caller is pinned at s.
func (s *shard) reap(h *Allocator) {
	if atomic.LoadInt32(&h.refs) != 0 || h.core == nil || !h.core.plain {
		return
	}
	c := h.core
	c.first.used = h.off
	s.releases++
	h.base, h.core = nil, nil
	if s.idle < len(s.cores) {
		s.cores[s.idle] = c
		s.idle++
	}
}

// getSlow finds or makes a core and a handle.
func (p *AllocatorPool) getSlow() *Allocator {
	var spare *[slabLen]Allocator
	var c *core
	for {
		s := p.pinned()
		s.drain()
		if s.idle == 0 {
			s.reap(s.last)
		}
		if c == nil && s.idle > 0 {
			s.idle--
			c, s.cores[s.idle] = s.cores[s.idle], nil
		}
		if spare != nil {
			s.follow(&spare[slabLen-1])
			for i := range s.slab {
				s.reap(&s.slab[i])
			}
			s.slab, s.born, spare = spare, p.epoch.Load(), nil
		}
		short := false
		if c != nil && c.debug != nil {
			s.gets++
			unpin(s)
			h := &Allocator{pool: p, refs: 1}
			p.start(h, c)
			return h
		}
		if c != nil {
			if h := s.handle(p.epoch.Load()); h != nil {
				c.home = s
				s.turn(h, c)
				unpin(s)
				p.start(h, c)
				return h
			}
			short = true
		}
		unpin(s)
		if short {
			spare = newSlab(p, 0)
		}
		if c == nil {
			c = p.findCore()
		}
	}
}

// start gives a core to a new handle.
func (p *AllocatorPool) start(h *Allocator, c *core) {
	h.core = c
	if c.debug != nil {
		p.mu.Lock()
		if p.live == nil {
			p.live = map[*core]struct{}{}
		}
		p.live[c] = struct{}{}
		p.mu.Unlock()
		return
	}
	c.first.wipe(c.first.used)
	h.base, h.off, h.end = c.whole.base, c.whole.off, c.whole.end
}
