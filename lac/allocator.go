package lac

import (
	"math"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Allocator is a handle to one arena, lent by [AllocatorPool.Get], and must not be
// copied. A handle serves one goroutine at a time until IncRef makes it shared; every
// method of a nil *Allocator falls back to the Go heap or does nothing. The zero value
// is like a released handle: its allocations come from the Go heap, and are reported
// to the log as [ErrReleased].
//
// The fields base, off and end are the current window. Every state other than
// "alive, unshared, not scanned, not debugged" has an empty window, so the
// fast path needs no other test.
type Allocator struct {
	_ [0]sync.Mutex // so that go vet reports copies

	base unsafe.Pointer
	off  uintptr
	end  uintptr

	core *core // nil once released, unless a seat has the handle
	pool *AllocatorPool
	// refs is 1 from Get and one more per IncRef; -1 while a release is in
	// progress, 0 or spent once it is done.
	refs int32
	lone int32 // what a release has to do: lone and so on, or 0 for all the rest
	// given is 1 once Release gave its reference back while others were held.
	given int32
	// rested is 1 if the handle was released when half of the others of its slab had
	// their turn since its own: then so many have theirs before it is lent again. Of the
	// shard that lends it.
	rested int32
	// table is that of the core once IncRef was called: the goroutines bump in it.
	table *table
	next  *Allocator // the handle whose turn is after this one's
}

// The values of Allocator.lone beside 0.
const (
	lone     = 1 // nothing but to say so: the core is plain, and its home lent this handle last
	seated   = 2 // to make the core as it was for the seat that lent it
	homeless = 3 // it was one of these, and the seat is no more
)

// spent is the value of refs once the arena of a seat was released that has to be
// started before it is lent again.
const spent = -2

// alive returns the core of a handle, or nil after reporting op on a released one.
func (ac *Allocator) alive(op string) *core {
	c := ac.core
	if c == nil || atomic.LoadInt32(&ac.refs) <= 0 {
		ac.pool.report(op, ErrReleased, "")
		return nil
	}
	return c
}

// direct reports whether handles bump in windows of the core's chunks: the
// arena is neither scanned nor in debug mode.
func (c *core) direct() bool { return c.typed == nil && c.debug == nil }

// more hands out n zero bytes when the window could not, or nil when the type
// matters: a nil or released handle, a scanned arena, debug mode. n is a
// positive multiple of word.
func (ac *Allocator) more(n uintptr) unsafe.Pointer {
	if ac == nil || ac.core == nil {
		return nil
	}
	c := ac.core
	if t := ac.table; t != nil {
		return c.allocShared(t, n)
	}
	return ac.refill(c, n)
}

// refill serves the handle from the core, and gives it a new window.
func (ac *Allocator) refill(c *core, n uintptr) unsafe.Pointer {
	if !c.direct() || atomic.LoadInt32(&ac.refs) <= 0 {
		return nil
	}
	if c.multi {
		return ac.allocLocked(c, n)
	}
	c.cur.off = ac.off
	c.cur.scrub()
	p := c.take(n)
	ac.base, ac.off, ac.end = c.cur.base, c.cur.off, c.cur.end
	ac.grown(c)
	return p
}

// grown notes that the arena may own more than its first chunk, so that a
// release has more to do. Goroutines that share a handle only read it.
func (ac *Allocator) grown(c *core) {
	if !c.plain && atomic.LoadInt32(&ac.lone) == lone {
		to := int32(0)
		if c.home == nil {
			to = seated
		}
		atomic.CompareAndSwapInt32(&ac.lone, lone, to)
	}
}

// allocLocked serves a handle that shares its core with other handles.
func (ac *Allocator) allocLocked(c *core, n uintptr) unsafe.Pointer {
	if g := c.grow(c.granule(), ac.end); n <= g/4 {
		w := c.carve(g, ac.base)
		p := w.bump(n)
		ac.base, ac.off, ac.end = w.base, w.off, w.end
		if p != nil {
			return p
		}
	}
	return c.takeShared(n)
}

// share ends the time in which the handle is alone on its core: its window
// goes back to the core, and from now on everything happens under the core's
// lock.
func (ac *Allocator) share(c *core) {
	if c.multi {
		return
	}
	if c.direct() {
		c.cur.off = ac.off
		ac.base, ac.off, ac.end = nil, 0, 0
	}
	c.multi, c.plain, c.single = true, false, nil
	ac.grown(c)
	if atomic.LoadInt32(&ac.lone) != 0 {
		c.tenant = ac
	}
	c.handles.Store(1)
}

// IncRef takes one more reference, for a goroutine about to be started, and makes
// the handle safe for use by several goroutines until it is released. On a
// released handle ([ErrReleased]) and at 2^31-1 references ([ErrReferences]) it
// reports the misuse and changes nothing. O(1); the first call allocates a table
// of 5 KB.
func (ac *Allocator) IncRef() {
	if ac == nil {
		return
	}
	for {
		n := atomic.LoadInt32(&ac.refs)
		if n <= 0 {
			ac.pool.report("IncRef", ErrReleased, "")
			return
		}
		if n == math.MaxInt32 {
			ac.pool.report("IncRef", ErrReferences, "")
			return
		}
		if n == 1 {
			ac.shareHandle()
		}
		if atomic.CompareAndSwapInt32(&ac.refs, n, n+1) {
			return
		}
	}
}

// shareHandle prepares a handle for several goroutines: until its release it
// has no window of its own.
func (ac *Allocator) shareHandle() {
	c := ac.core
	if c == nil || ac.table != nil {
		return
	}
	if !c.direct() {
		ac.share(c)
		return
	}
	if c.multi {
		// Forked handles are at work, maybe sharing themselves.
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	ac.share(c)
	ac.base, ac.off, ac.end = nil, 0, 0
	if c.table == nil {
		c.table = &table{}
	}
	ac.table = c.table
}

// Fork returns a second handle to the same arena, for use by one other
// goroutine. It must be released, too; the memory goes back with the last
// handle. Call Fork in the goroutine that uses ac. A nil or released handle
// forks to nil, which allocates from the Go heap. O(1), allocates the handle.
func (ac *Allocator) Fork() *Allocator {
	if ac == nil {
		return nil
	}
	c := ac.alive("Fork")
	if c == nil {
		return nil
	}
	ac.share(c)
	c.handles.Add(1)
	return &Allocator{core: c, pool: c.pool, refs: 1}
}
