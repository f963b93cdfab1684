package heap

import (
	"math"
	"unsafe"
)

// Borrow returns n bytes that are free now and stay free until the next
// allocation or borrow from the heap by anyone; it takes nothing. It returns nil in the
// same cases as Malloc.
//
//go:nosplit
//go:noinline
func (h *Heap) Borrow(n int) []byte {
	if uint(n-1) < maxSlot && h != nil {
		c := classOf[uint(n+slotAlign-1)/slotAlign]
		s := h.enter(here())
		if sp := s.cur[c&127]; sp.head != noSlot {
			// Safety: the head is a slot of the span, of n bytes or more.
			b := (*[maxSlot]byte)(unsafe.Add(sp.base, sp.head*sp.size))[:n:n]
			s.lent, s.lentAt = int(c)+1, s.malloced
			leave(s)
			return b
		}
		leave(s)
	}
	return h.borrowSlow(n)
}

// borrowSlow takes a slot and frees it, so that there is one to lend, and lends bytes
// of a chunk if no slot serves.
func (h *Heap) borrowSlow(n int) []byte {
	switch {
	case n <= 0 || n > math.MaxInt-1<<30 || h == nil:
		return h.Malloc(n)
	case h.debug != nil:
		return h.debugBorrow(n)
	}
	if n <= maxSlot && h.cfg.Spans {
		if b := h.Malloc(n); b == nil || !h.Free(b) {
			return nil
		}
	}
	h.mu.Lock()
	if n <= maxSlot && h.cfg.Spans {
		h.malloced -= uint64(n)
		h.freed -= uint64(n)
	}
	b := h.lendSlot(n)
	if b == nil {
		if c, off, err := h.take(n, 1); err == nil {
			h.giveBack(c, off, n)
			h.lent = c
			b = c.mem[off : off+n : off+n]
		} else {
			b = h.lendSlot(n) // of a span that the search handed over
		}
	}
	_ = h.unlock(nil)
	return b
}

// lendSlot lends n bytes of a slot, or of the strip; nil if the P's shard has none.
// Under mu.
func (h *Heap) lendSlot(n int) (b []byte) {
	if n > maxSlot || h.set.Load() == nil {
		return nil
	}
	s, c := h.pinLocked(), class(n)
	at := -1 // in the span
	if s.refill(c) {
		at = int(s.cur[c].head * s.cur[c].size)
	} else if c >= small && s.cuts[c-small] > 1 && (s.cur[stripClass].room(n) || s.nextStrip(n)) {
		c = stripClass
		at = int(s.cur[c].carved * chunkUnit)
	}
	if at >= 0 {
		// Safety: the bytes lie in the slot, or behind the block that was cut last.
		b = (*[maxSlot]byte)(unsafe.Add(s.cur[c].base, at))[:n:n]
		s.lent, s.lentAt = c+1, s.malloced
	}
	unpin(s)
	return b
}
