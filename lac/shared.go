//go:build !race && !gomem_portable

package lac

import (
	"sync/atomic"
	"unsafe"
)

// A handle shared by IncRef is used by several goroutines at once. Each finds a
// window of its own without a lock and without an atomic write, by the address
// of its stack: stacks are made of aligned blocks of 2 KiB, and a block belongs
// to one goroutine at a time. So the window filed under the block of a local
// variable can be used by nobody else until the function calls something that
// may grow, and so move, the stack. When a block passes to another goroutine,
// the runtime orders the two, as it must for the stack's own contents. All of this
// is runtime assumption 6. The functions are go:nocheckptr because the stricter
// of the compiler's checks would put the variable on the heap.

const (
	stackBlockShift = 11 // stacks are powers of two of at least 2 KiB, aligned
	tableSlots      = 64
	tableProbes     = 4
	cacheLine       = 64
)

// slot is the window of one stack block.
type slot struct {
	key    uintptr // stack block, 0 when free; written once, under the core's lock
	window window
	_      [cacheLine - 4*unsafe.Sizeof(uintptr(0))]byte
}

// table files windows by stack block. Slots are claimed under the core's lock
// and never change hands until the arena ends. When the probes of a block are
// all taken, its goroutines allocate under the lock.
type table struct {
	slots [tableSlots]slot
	taken []*slot
}

// reset frees all slots. The caller owns the core alone.
func (t *table) reset() {
	for _, s := range t.taken {
		*s = slot{}
	}
	t.taken = t.taken[:0]
}

// find returns the slot of a stack block, or a free slot, or nil.
func (t *table) find(key uintptr) *slot {
	for i := range uintptr(tableProbes) {
		s := &t.slots[(key+i)%tableSlots]
		if k := atomic.LoadUintptr(&s.key); k == key || k == 0 {
			return s
		}
	}
	return nil
}

// bump hands out n bytes of the window filed under the stack block of the
// caller, or nil. It is to be inlined, and no call happens between the look at
// the key and the store, so the stack stays put.
//
//go:nocheckptr
func (t *table) bump(n uintptr) unsafe.Pointer {
	var mark byte
	key := uintptr(unsafe.Pointer(&mark)) >> stackBlockShift
	s := &t.slots[key%tableSlots]
	if off := s.window.off; atomic.LoadUintptr(&s.key) == key && off+n <= s.window.end {
		s.window.off = off + n
		// Safety: as in alloc.
		return unsafe.Add(s.window.base, off)
	}
	return nil
}

// shared hands out n bytes of the goroutine's window if the handle is shared, else
// nil. It is to be inlined.
//
//go:nocheckptr
func (ac *Allocator) shared(n uintptr) unsafe.Pointer {
	if ac != nil && ac.table != nil {
		return ac.table.bump(n)
	}
	return nil
}

// elsewhere serves alloc when the window of the handle could not.
//
//go:nosplit
//go:nocheckptr
func elsewhere(ac *Allocator, n uintptr, slow slowFunc) unsafe.Pointer {
	if p := ac.shared(n); p != nil {
		return p
	}
	return slow(ac)
}

// allocShared hands out n zero bytes to one of several goroutines.
//
//go:nocheckptr
func (c *core) allocShared(t *table, n uintptr) unsafe.Pointer {
	if p := t.bump(n); p != nil {
		return p
	}
	var mark byte
	key := uintptr(unsafe.Pointer(&mark)) >> stackBlockShift
	if s := t.find(key); s != nil && atomic.LoadUintptr(&s.key) == key {
		// As in bump: the stack may have moved before, but not from here on.
		key = uintptr(unsafe.Pointer(&mark)) >> stackBlockShift
		if off := s.window.off; s.key == key && s.window.end-off >= n {
			s.window.off = off + n
			return unsafe.Add(s.window.base, off)
		}
	}
	return c.refillShared(n, &mark)
}

// refillShared gives the calling goroutine a new window, or n bytes directly.
// mark is a variable of the caller, so that the window is filed where the
// caller will look.
//
//go:nocheckptr
func (c *core) refillShared(n uintptr, mark *byte) unsafe.Pointer {
	g := c.granule() / 4 &^ (word - 1)
	key := uintptr(unsafe.Pointer(mark)) >> stackBlockShift
	var last unsafe.Pointer
	if s := c.table.find(key); s != nil && atomic.LoadUintptr(&s.key) == key {
		g, last = c.grow(g, s.window.end), s.window.base
	}
	if n > max(g, c.granule())/4 {
		return c.takeShared(n)
	}
	w := c.carve(max(g, n), last)
	p := w.bump(n)
	if p == nil {
		return c.takeShared(n)
	}
	// The stack may have moved until here; nothing up to the store calls or moves it.
	key = uintptr(unsafe.Pointer(mark)) >> stackBlockShift
	if s := c.table.find(key); s != nil && atomic.LoadUintptr(&s.key) == key {
		s.window = w
		return p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// As above.
	key = uintptr(unsafe.Pointer(mark)) >> stackBlockShift
	if s := c.table.find(key); s != nil {
		s.window = w
		if s.key == 0 {
			atomic.StoreUintptr(&s.key, key)
			c.table.taken = append(c.table.taken, s)
		}
	}
	return p
}
