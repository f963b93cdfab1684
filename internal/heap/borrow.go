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

// borrowSlow takes a slot and frees it, so that there is one to lend, and lends bytes
// of a chunk if no slot serves.
//
//go:noinline
func (h *Heap) borrowSlow(n int) []byte {
	switch {
	case n <= 0 || n > math.MaxInt-1<<30 || h == nil:
		return h.Malloc(n)
	case h.debug != nil:
		return h.debugBorrow(n)
	}
	if n > maxSlot || !h.cfg.Spans {
		h.mu.Lock()
		b := h.lendPlace(n)
		_ = h.unlock(nil)
		return b
	}
	for range 3 { // others may be faster, or the goroutine get on another P
		b := h.Malloc(n)
		if b == nil {
			return nil
		}
		sp := h.spanAt(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
		if !h.Free(b) {
			return nil
		}
		h.mu.Lock()
		h.malloced -= uint64(n)
		h.freed -= uint64(n)
		if b = h.lendSlot(n, sp); b == nil {
			if b = h.lendPlace(n); b == nil {
				b = h.lendSlot(n, sp) // of a span that the search handed over
			}
		}
		_ = h.unlock(nil)
		if b != nil {
			return b
		}
	}
	return nil
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

// lendSlot lends n bytes of a slot, or of the strip; nil if the shard where a slot of sp
// was freed has none. Under mu.
func (h *Heap) lendSlot(n int, sp *span) (b []byte) {
	if sp == nil || h.set.Load() == nil {
		return nil
	}
	s, c := h.pinFor(sp), class(n)
	at := -1 // in the current span
	if s != noShard && s.refill(c) {
		at = int(s.cur[c].head * s.cur[c].size)
	} else if c >= small && s.cuts[c-small] > 1 && (s.cur[stripClass].room(n) || s.nextStrip(n)) {
		c = stripClass
		at = int(s.cur[c].carved * chunkUnit)
	}
	if at >= 0 {
		// Safety: the bytes lie in the slot, or behind the block that was cut last.
		b = (*[maxSlot]byte)(unsafe.Add(s.cur[c].base, at))[:n:n]
		s.lent, s.lentAt, s.placed = c+1, s.malloced, h.placed
	}
	unpin(s)
	return b
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
