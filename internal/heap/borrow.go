package heap

import (
	"math"
	"sync/atomic"
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
			s.lent, s.lentAt, s.placed = int(c)+1, s.malloced, atomic.LoadUint32(&h.placed)
			leave(s)
			return b
		}
		leave(s)
	}
	return h.borrowSlow(n)
}

// borrowSlow lends bytes of a slot that the shard comes to have, or of a chunk if no slot
// serves.
//
//go:noinline
func (h *Heap) borrowSlow(n int) []byte {
	switch {
	case n <= 0 || n > math.MaxInt-1<<30 || h == nil:
		return h.Malloc(n)
	case h.debug != nil:
		return h.debugBorrow(n)
	}
	h.mu.Lock()
	var b []byte
	if n > maxSlot || !h.cfg.Spans {
		b = h.lendPlace(n)
	} else {
		b = h.lendSmall(n)
	}
	if b == nil {
		h.failed++
	}
	_ = h.unlock(nil)
	return b
}

// lendSmall is borrowSlow for a block that a slot may hold; it looks for one as mallocSlot
// does. Under mu.
func (h *Heap) lendSmall(n int) (b []byte) {
	c := class(n)
	for !h.closed && h.shareOut() {
		b, of := h.lendSlot(n, c)
		if b != nil {
			return b
		}
		if of < 0 || h.direct(of) {
			break
		}
		sp := h.placeSpan(of)
		if sp == nil {
			break
		}
		s := h.pinLocked()
		s.adopt(sp)
		unpin(s)
	}
	if b = h.lendPlace(n); b == nil && h.set.Load() != nil {
		b = h.lendAny(n, c)
	}
	return b
}

// lendPlace lends n bytes of a chunk, nil if there is no room and none to be had. Under
// mu.
func (h *Heap) lendPlace(n int) []byte {
	c, off, err := h.take(n, 1)
	if err != nil {
		return nil
	}
	h.giveBack(c, off, n)
	atomic.AddUint32(&h.placed, 1)
	h.lend(c)
	return c.mem[off : off+n : off+n]
}

// lendSlot lends n bytes of a slot of class c, or of the strip. Where there are none it
// returns the class of the span that is to be placed, -1 if none is. Under mu, in a heap
// that is shared out.
func (h *Heap) lendSlot(n, c int) (b []byte, of int) {
	s := h.pinLocked()
	defer unpin(s)
	cut := c >= small && (s.cuts[c-small] > 1 || s.cuts[c-small] == 0 && h.parted[c-small]) // as placeCut
	switch {
	case s.refill(c):
		return h.lendOf(s, n, c, s.cur[c].head*s.cur[c].size), c
	case cut && (s.cur[stripClass].room(n) || s.nextStrip(n)):
		return h.lendOf(s, n, stripClass, s.cur[stripClass].carved*chunkUnit), c
	case cut:
		return nil, -1
	}
	return nil, s.lacks(c)
}

// lendAny is lendSlot where there is no room for anything else: as takeAny.
func (h *Heap) lendAny(n, c int) []byte {
	if b, _ := h.lendSlot(n, c); b != nil {
		return b
	}
	s := h.pinLocked()
	defer unpin(s)
	if !s.refillHost(c) {
		return nil
	}
	return h.lendOf(s, n, c, s.cur[c].head*s.cur[c].size)
}

// lendOf lends n bytes at a place of the current span of class c that is free. Under mu,
// pinned.
func (h *Heap) lendOf(s *shard, n, c int, at uint32) []byte {
	s.lent, s.lentAt, s.placed = c+1, s.malloced, h.placed
	// Safety: the bytes lie in a slot, or behind the block that was cut last.
	return (*[maxSlot]byte)(unsafe.Add(s.cur[c].base, at))[:n:n]
}

// lend notes that bytes of c are lent. Under mu, not pinned.
func (h *Heap) lend(c *chunk) {
	malloced, _ := h.totals()
	h.lent, h.lentAt = c, uint32(malloced)
}

// loan returns the chunk in which a borrow may lie that no slot serves, nil if there is
// none: it ends with the next block. Under mu, not pinned.
func (h *Heap) loan() *chunk {
	if h.lent != nil {
		if malloced, _ := h.totals(); uint32(malloced) != h.lentAt {
			h.lent = nil
		}
	}
	return h.lent
}

// endBorrows ends the borrows for which the last reclaim kept memory, and says whether
// there were any. Under mu, not pinned.
func (h *Heap) endBorrows() bool {
	if h.loan() == nil && !h.lending {
		return false
	}
	h.lent, h.lending = nil, false
	atomic.AddUint32(&h.placed, 1)
	return true
}

// lends says whether sp, a current span, may have a borrower.
func (s *shard) lends(sp *span) bool {
	return s.lent > 0 && s.lentAt == s.malloced && s.cur[s.lent-1] == sp
}
