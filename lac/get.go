package lac

import (
	"sync/atomic"
	"unsafe"
)

const stackBlockShift = 11 // stacks are powers of two of at least 2 KiB, aligned

// Get lends out an empty arena. The caller owns the handle until its Release.
// A nil pool, or any pool while DisableAllLac is set, returns nil, which
// allocates from the Go heap. O(1), amortized over the handles made at once, apart from
// zeroing what the previous arena used of its first chunk; takes no lock in steady state.
//
//go:nosplit
func (p *AllocatorPool) Get() *Allocator {
	return get(p, (*AllocatorPool).mySeat, (*AllocatorPool).next, (*AllocatorPool).getSlow)
}

// get is the whole fast path, to be inlined into the code of the user: one call less
// saves a twentieth of the time of five objects with their Get and Release. Its parts
// are parameters for the same reason as in alloc. They are marked nosplit so that,
// where they are not inlined, nothing moves the stack between the look at it and the
// start of the arena. And they convert no pointer before that: in a package compiled
// with -d=checkptr a call would check it.
//
//go:nosplit
func get(p *AllocatorPool, find func(*AllocatorPool) *seat, next func(*AllocatorPool, *seat) (*Allocator, bool), slow func(*AllocatorPool, *[0]byte) *Allocator) *Allocator {
	if h, ok := next(p, find(p)); ok {
		return h
	}
	return slow(p, new([0]byte))
}

// mySeat returns the seat of the goroutine, or nil. A mark without a size costs no store.
//
//go:nosplit
func (p *AllocatorPool) mySeat() *seat {
	if p != nil && !DisableAllLac {
		if s, ok := p.seats.find(new([0]byte)); ok {
			return s
		}
	}
	return nil
}

// next lends the next handle of a seat if the arena lent last was small and is released.
//
//go:nosplit
func (p *AllocatorPool) next(s *seat) (*Allocator, bool) {
	if s != nil {
		if l, h := s.turn(); atomic.LoadInt32(&l.refs) == 0 && l.off <= header+smallWipe {
			s.count++
			h.off, h.end, h.lone, h.refs = header, p.chunkSize, lone, 1
			wipeSmall(l.base)
			return h, true
		}
	}
	return nil, false
}

// getSlow is Get where there is no seat for the goroutine that has mark, or its
// seat has more to clear or nothing to lend. It is go:nocheckptr, as lend is, because
// functions that have to be may be inlined into it.
//
//go:nocheckptr
//go:noinline
func (p *AllocatorPool) getSlow(mark *[0]byte) *Allocator {
	var here byte
	if uintptr(unsafe.Pointer(mark))-uintptr(unsafe.Pointer(&here)) >= 1<<stackBlockShift {
		// It may be on the heap, as in a user's package under -d=checkptr=2.
		mark = (*[0]byte)(unsafe.Pointer(&here))
	}
	if p == nil || DisableAllLac {
		return nil
	}
	if s, ok := p.seats.find(mark); ok {
		l, h := s.turn()
		if atomic.LoadInt32(&l.refs) != 0 {
			return p.lend(nil, mark)
		}
		s.count++
		h.off, h.end, h.lone, h.refs = header, p.chunkSize, lone, 1
		wipe(l.base, l.off)
		return h
	}
	s := p.at(procPin())
	l := s.last
	h := l.next
	if atomic.LoadInt32(&l.refs)|atomic.LoadInt32(&h.refs) != 0 || l.core == nil || h.core != nil || h.rested == 0 {
		return p.lend(s, mark)
	}
	// The handle lent before this one was released and kept its core.
	c, used := l.core, l.off
	l.base, l.core, h.base, h.core, s.last = nil, nil, c.whole.base, c, h
	h.off, h.end, h.lone, h.rested, h.refs = c.whole.off, c.whole.end, lone, 0, 1
	s.count++
	s.look()
	unpin(s)
	wipe(c.first.base, used)
	return h
}

// newSlab makes the handles of a shard, each with the next one in turn.
func newSlab(p *AllocatorPool, refs int32) *[slabLen]Allocator {
	slab := new([slabLen]Allocator)
	for i := range slab {
		slab[i] = Allocator{pool: p, refs: refs, rested: 1 - refs, next: &slab[(i+1)%slabLen]}
	}
	return slab
}

// noHandles stands in for the slab of a shard that has none: all are taken.
var noHandles = newSlab(nil, 1)

// noShard stands in for a shard that does not exist yet: it has nothing to give
// and room for nothing.
var noShard = shard{slab: noHandles, last: &noHandles[0], half: &noHandles[slabLen/2], idle: shardCores}

// look notes whether the handle that is half the slab away was released, and goes on to
// the next one: once for each handle that has its turn. The caller is pinned at s.
func (s *shard) look() {
	h := s.half
	if h.rested == 0 && atomic.LoadInt32(&h.refs) == 0 {
		h.rested = 1
	}
	s.half = h.next
}

// follow makes h the handle lent last. The one before is not lone any more,
// because nobody would look for the core that it leaves. The caller is pinned
// at s.
func (s *shard) follow(h *Allocator) {
	if l := s.last; atomic.LoadInt32(&l.lone) != 0 {
		put32(&l.lone, 0)
	}
	s.last = h
}

// turn takes h for an arena on c. The caller is pinned at s.
func (s *shard) turn(h *Allocator, c *core) {
	s.follow(h)
	s.look()
	c.home = s
	h.lone, h.rested, h.refs = 0, 0, 1
	if lazy && c.plain {
		h.lone = lone
	}
	s.gets++
}

// lend is Get when the arena released last cannot be lent at once. The caller
// is pinned at s, and not any more when it returns, or has the seat that mark
// leads to if s is nil.
//
//go:nocheckptr
func (p *AllocatorPool) lend(s *shard, mark *[0]byte) *Allocator {
	if s == nil {
		if h := p.seats.again(mark); h != nil {
			p.start(h, h.core)
			return h
		}
	} else if s == &noShard {
		unpin(s)
		s = nil
	}
	if s == nil {
		s = p.pinned()
	}
	s.drain()
	s.reap(s.last)
	var c *core
	if s.idle > 0 {
		s.idle--
		c, s.cores[s.idle] = s.cores[s.idle], nil
		if !p.seats.free(mark) {
			if h := s.handle(p.epoch.Load()); h != nil {
				s.turn(h, c)
				unpin(s)
				p.start(h, c)
				return h
			}
		}
	}
	unpin(s)
	if c == nil {
		c = p.findCore()
	}
	if h := p.seats.sit(p, c, mark); h != nil {
		p.start(h, c)
		return h
	}
	return p.take(c)
}

// handle returns a free handle of the slab, or nil if the shard needs a new slab: too
// many in a row or in a round are out, or were until a moment ago, so that the others would
// be lent again too soon, or one was out when a collection ran. The slab would keep the
// arena of a dropped handle alive otherwise. The caller is pinned at s.
func (s *shard) handle(epoch uint32) *Allocator {
	h := s.last.next
	for row := 0; row < 8 && s.out <= mostOut; row++ {
		free := atomic.LoadInt32(&h.refs) == 0
		if free && h.rested != 0 {
			for range row { // had their turn as well
				s.look()
			}
			s.reap(h)
			return h
		}
		if !free && s.born != epoch {
			break
		}
		at := uintptr(unsafe.Pointer(h)) // a number: a pointer would have a write barrier
		if at <= s.outAt {
			s.out = 0
		}
		s.out, s.outAt = s.out+1, at
		h = h.next
	}
	return nil
}

// reap makes the core that a released handle kept idle, or the collector's if too
// many are. The caller is pinned at s.
func (s *shard) reap(h *Allocator) {
	if atomic.LoadInt32(&h.refs) != 0 || h.core == nil {
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

// take lends an arena on c, which the caller owns, by a handle of the shard. Should debug
// mode have been switched on since c was made, it is on another core: whoever finds the
// shards made by then sees debug mode, too.
func (p *AllocatorPool) take(c *core) *Allocator {
	var spare *[slabLen]Allocator
	for {
		s := p.pinned()
		if spare != nil {
			s.follow(&spare[slabLen-1])
			for i := range s.slab {
				s.reap(&s.slab[i])
			}
			s.slab, s.born, s.half = spare, p.epoch.Load(), &spare[slabLen/2]
			s.out, s.outAt = 0, 0
		}
		if c.debug == nil && p.debugOn.Load() {
			unpin(s)
			c, spare = p.newCore(), nil
			continue
		}
		if c.debug != nil {
			s.gets++
			unpin(s)
			h := &Allocator{pool: p, refs: 1}
			p.start(h, c)
			return h
		}
		if h := s.handle(p.epoch.Load()); h != nil {
			s.turn(h, c)
			unpin(s)
			p.start(h, c)
			return h
		}
		unpin(s)
		spare = newSlab(p, 0)
	}
}

// start gives a core to a new handle.
func (p *AllocatorPool) start(h *Allocator, c *core) {
	h.core = c
	if c.debug != nil {
		c.debug.handle = h
		p.mu.Lock()
		if p.live == nil {
			p.live = map[*core]struct{}{}
		}
		p.live[c] = struct{}{}
		holding.Store(p, nil)
		p.mu.Unlock()
		return
	}
	used := c.first.used
	h.base, h.off, h.end = c.whole.base, c.whole.off, c.whole.end
	if c.direct() && !c.plain {
		// The rest is cleared by whoever takes it.
		c.cur.dirty = used
		h.end = h.off + c.granule()
		used = min(used, h.end)
	}
	wipe(c.first.base, used)
}
