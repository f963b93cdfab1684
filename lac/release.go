package lac

import (
	"sync/atomic"
)

// DecRef gives one reference back; the last one releases the arena, as Release
// does. One DecRef too many reports [ErrReleased] and changes nothing. Use DecRef if
// others may hold the arena, Release if you are the last holder. O(1); the last one takes
// what Release does.
func (ac *Allocator) DecRef() { leave(ac, (*Allocator).decRefSlow) }

func (ac *Allocator) decRefSlow() {
	if ac != nil {
		ac.drop("DecRef")
	}
}

// Release ends the arena: its objects are gone, and its memory waits in the
// pool for the next arena. Nobody may use an object of the arena any more. A pointer to
// one that an object of another arena still has must not even be overwritten, unless it
// was attached there: clear it before the release. Releasing twice reports [ErrReleased]
// and changes nothing; releasing while references taken by IncRef are outstanding reports
// [ErrHeld], and the last DecRef gives the memory back. O(1) for an arena of one chunk,
// else O(chunks + attached); a scanned one also zeroes the slab of each of its types, of
// up to 32 KiB. Never allocates in steady state.
func (ac *Allocator) Release() { leave(ac, (*Allocator).releaseSlow) }

// leave ends a lone handle: the next Get of its home looks at it first, so it
// keeps its core. Only the handle is written: if a second release at the same
// time came first, the core may belong to another user. The slow path, for
// other handles, is a parameter for the same reason as in alloc.
func leave(ac *Allocator, out func(*Allocator)) {
	if ac != nil && atomic.LoadInt32(&ac.lone) == lone {
		ac.lone, ac.end = 0, 0
		put32(&ac.refs, 0)
		return
	}
	out(ac)
}

func (ac *Allocator) releaseSlow() {
	if ac == nil {
		return
	}
	if atomic.LoadInt32(&ac.lone) == seated && atomic.LoadInt32(&ac.given) == 0 && atomic.CompareAndSwapInt32(&ac.refs, 1, -1) {
		ac.finish(ac.core)
		return
	}
	if ac.pool == nil { // no pool lent it
		ac.drop("Release")
		return
	}
	s := ac.pool.pin()
	if c := ac.core; c != nil && s.idle < len(s.cores) && ac.claim(c, s) {
		s.cores[s.idle] = c
		s.idle++
		unpin(s)
		return
	}
	unpin(s)
	ac.drop("Release")
}

// claim ends a plain handle whose core has its home at s, where the caller is
// pinned: nobody else can be inside claim for that core, so of two goroutines
// that release one handle only one succeeds.
func (ac *Allocator) claim(c *core, s *shard) bool {
	if c.home != s || ac.core != c || !c.plain || ac.refs != 1 {
		return false
	}
	s.releases++
	c.first.used = ac.off
	ac.base, ac.off, ac.end, ac.core = nil, 0, 0, nil
	put32(&ac.refs, 0)
	return true
}

// dead empties a claimed handle, so that no allocation succeeds on it, and lets it
// be lent again by a shard. The handle of a seat, which is no more, stays claimed:
// the goroutine may just have found the seat, and look whether it may go on there.
func (ac *Allocator) dead() {
	ac.base, ac.off, ac.end, ac.core, ac.table = nil, 0, 0, nil, nil
	atomic.StoreInt32(&ac.given, 0)
	if ac.next != nil {
		atomic.StoreInt32(&ac.refs, 0)
	}
}

// drop gives one reference back by the general way.
func (ac *Allocator) drop(op string) {
	p, releases, first := ac.pool, op == "Release", false
	for {
		n := atomic.LoadInt32(&ac.refs)
		if n > 1 && releases && !first {
			first = atomic.CompareAndSwapInt32(&ac.given, 0, 1)
		}
		// The references that are left after a Release are not its own.
		if n <= 0 || releases && !first && atomic.LoadInt32(&ac.given) != 0 {
			p.report(op, ErrReleased, "")
			return
		}
		if n > 1 {
			if atomic.CompareAndSwapInt32(&ac.refs, n, n-1) {
				if releases {
					p.report(op, ErrHeld, "")
				}
				return
			}
			continue
		}
		s := p.pinned()
		c := ac.core
		home := c != nil && c.home == s
		claimed := c != nil && ac.claim(c, s)
		unpin(s)
		switch {
		case claimed:
			p.retire(c)
			return
		case c != nil && c.plain && c.home == nil:
			// From a seat. If it is not homeless, another goroutine is about to
			// release it too, and was first.
			if !atomic.CompareAndSwapInt32(&ac.lone, homeless, 0) {
				p.report(op, ErrReleased, "")
				return
			}
			atomic.StoreInt32(&ac.refs, -1)
			ac.finish(c)
			return
		case c != nil && c.plain && !home:
			if ac.sendHome(c) {
				return
			}
		case c != nil && !c.plain && atomic.CompareAndSwapInt32(&ac.refs, 1, -1):
			ac.finish(c)
			return
		}
	}
}

// sendHome releases a plain handle away from the home of its core, unless
// somebody else was first.
func (ac *Allocator) sendHome(c *core) bool {
	if !atomic.CompareAndSwapInt32(&ac.refs, 1, -1) {
		return false
	}
	ac.pool.oldReleases.Add(1)
	// The end alone: should a second release at the same time have claimed the
	// handle, its next user is no worse off for it.
	ac.end = 0
	c.home.send(&returned{handle: ac, core: c})
	return true
}

// finish gives up a claimed handle, and its core if no other handle is left: to the
// seat that lent it, or to the pool. The seat looks at the handle that it lent, its
// tenant, which is therefore the last to be done.
func (ac *Allocator) finish(c *core) {
	p, tenant := ac.pool, ac
	if c.multi {
		tenant = c.tenant
		ac.base, ac.off, ac.end, ac.table = nil, 0, 0, nil
		last := c.handles.Add(-1) == 0
		if ac != tenant {
			p.end(ac)
		}
		if !last {
			return
		}
	} else if c.direct() {
		c.cur.off = ac.off
	}
	if tenant != nil {
		if atomic.CompareAndSwapInt32(&tenant.lone, seated, 0) {
			c.reset()
			tenant.vacate(c)
			return
		}
		p.end(tenant)
	}
	p.oldReleases.Add(1)
	if c.debug != nil {
		p.releaseDebug(c)
		return
	}
	c.reset()
	p.retire(c)
}

// vacate leaves an empty core to the seat that lent the handle.
func (ac *Allocator) vacate(c *core) {
	ac.base, ac.off, ac.end, ac.table = c.first.base, c.first.used, 0, nil
	atomic.StoreInt32(&ac.given, 0)
	refs := int32(0)
	if !c.plain {
		refs = spent
	}
	atomic.StoreInt32(&ac.refs, refs)
}

// end lets a claimed handle be lent again.
func (p *AllocatorPool) end(ac *Allocator) {
	s := p.pinned()
	ac.dead()
	unpin(s)
}

// returned is a plain handle released away from its core's home.
type returned struct {
	next   *returned
	handle *Allocator
	core   *core
}

// send puts a returned handle on the list that the home's next Get drains.
func (s *shard) send(r *returned) {
	for {
		head := s.inbox.Load()
		r.next = head
		if s.inbox.CompareAndSwap(head, r) {
			return
		}
	}
}

// drain takes returned handles into the idle cores, as many as fit, and leaves
// the others for the next time. The caller is pinned at s.
func (s *shard) drain() {
	if s.inbox.Load() == nil {
		return
	}
	for r := s.inbox.Swap(nil); r != nil; {
		next := r.next
		if s.idle == len(s.cores) {
			s.send(r)
		} else if c := r.end(); c != nil {
			s.cores[s.idle] = c
			s.idle++
		}
		r = next
	}
}

// end ends the handle and returns its core; nil if a second release at the same time was
// claimed at home before.
func (r *returned) end() *core {
	if r.handle.core != r.core || atomic.LoadInt32(&r.handle.refs) != -1 {
		return nil
	}
	r.core.first.used = r.handle.off
	r.handle.dead()
	return r.core
}
