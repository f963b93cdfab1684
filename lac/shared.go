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
// is runtime assumption 6. The functions are go:nocheckptr because checks of the
// compiler would put the variable on the heap, or call between the look and the use.

const (
	tableSlots  = 64
	tableProbes = 4
	cacheLine   = 64
)

// slot is the window of one stack block, filed under it. The fields of a window, and
// none inside another, are what the inliner has room for in elsewhere.
type slot struct {
	key      uintptr // stack block, 0 when free; written once, under the core's lock
	base     unsafe.Pointer
	off, end uintptr
	_        [cacheLine - 4*unsafe.Sizeof(uintptr(0))]byte
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

// find returns the slot of a stack block, or a free slot, or nil. It is marked, as
// fill is, because a call that may move the stack would invalidate the block.
//
//go:nosplit
func (t *table) find(block uintptr) *slot {
	for i := range uintptr(tableProbes) {
		s := &t.slots[(block+i)%tableSlots]
		if k := atomic.LoadUintptr(&s.key); k == block || k == 0 {
			return s
		}
	}
	return nil
}

// fill makes w the window of the slot and hands out n bytes of it, which it has.
//
//go:nosplit
func (s *slot) fill(w window, n uintptr) unsafe.Pointer {
	s.base, s.off, s.end = w.base, n, w.end
	// Safety: as in alloc.
	return s.base
}

// elsewhere serves alloc when the window of the handle could not: from that of the
// goroutine if the handle is shared, else the slow way. It is inlined with alloc
// into the code of the user, and all but fills the compiler's budget. No call
// happens between the look at the key and the store, so the stack stays put. All is
// read before: where the user's package alone is compiled with -d=checkptr the
// sum is checked by a call, after which the slot may be another goroutine's. The
// key is loaded plainly: if it is that of this block, the goroutines of this block
// have stored it.
//
// What is looked up has no size, so it costs no store; and where it is put on the heap
// after all, as in a user's package under -d=checkptr=2, it has an address that is on no
// stack.
//
//go:nocheckptr
func (ac *Allocator) elsewhere(n uintptr, slow slowFunc) unsafe.Pointer {
	if ac != nil && ac.table != nil {
		block := uintptr(unsafe.Pointer(new([0]byte))) >> stackBlockShift
		s := &ac.table.slots[block%tableSlots]
		if base, off := s.base, s.off; s.key == block && off+n <= s.end {
			s.off += n
			// Safety: as in alloc.
			return unsafe.Add(base, off)
		}
	}
	return slow(ac)
}

// allocShared hands out n zero bytes to one of several goroutines: from its window,
// which may be where elsewhere does not look, from a new one, or directly. Inlined
// by a profile into a package that is compiled otherwise, it would be checked.
//
//go:nocheckptr
//go:noinline
func (c *core) allocShared(t *table, n uintptr) unsafe.Pointer {
	var mark byte
	g := c.granule() / 4 &^ (word - 1)
	var last unsafe.Pointer
	block := uintptr(unsafe.Pointer(&mark)) >> stackBlockShift
	s := t.find(block)
	if s != nil && s.key == block {
		if s.off+n <= s.end {
			s.off += n
			// Safety: as in alloc.
			return unsafe.Add(s.base, s.off-n)
		}
		g, last = c.grow(g, s.end), s.base
	}
	if s == nil || n > max(g, c.granule())/4 {
		return c.takeShared(n)
	}
	w := c.carve(max(g, n), last)
	if w.room() < n {
		return c.takeShared(n)
	}
	// The stack may have moved until here, and another goroutine may have got the
	// slot, or this one have another with room. Nothing from the block to fill moves it again.
	block = uintptr(unsafe.Pointer(&mark)) >> stackBlockShift
	if s = t.find(block); s != nil && s.key == block && s.end-s.off < n {
		return s.fill(w, n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// As above.
	block = uintptr(unsafe.Pointer(&mark)) >> stackBlockShift
	if s = t.find(block); s == nil || s.end-s.off >= n {
		return c.shorten(w, n)
	}
	p := s.fill(w, n)
	if s.key == 0 {
		atomic.StoreUintptr(&s.key, block)
		t.taken = append(t.taken, s)
	}
	return p
}

// shorten hands out n bytes of a window that was carved for nothing, and takes back
// the rest if nobody carved another one since. The caller holds the lock.
func (c *core) shorten(w window, n uintptr) unsafe.Pointer {
	switch r, rest := &c.cur, w.end-n; uintptr(w.base) {
	case uintptr(r.base) + r.off - w.end:
		r.off -= rest
	case uintptr(r.base) + r.end:
		r.end += rest
		// Safety: the last n bytes of the window.
		return unsafe.Add(w.base, rest)
	}
	return w.base
}
