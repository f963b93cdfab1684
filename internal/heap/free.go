package heap

import (
	"sync/atomic"
	"unsafe"
)

// freeSlow is Free for everything but the whole slot of an own span.
func (h *Heap) freeSlow(b []byte) bool {
	return h.reported(h.tryFree(b))
}

// freeForeign is Free for what starts in a span that s, the shard of the P,
// does not own, if it does. It begins in the section of its caller.
//
//go:nosplit
func (h *Heap) freeForeign(s *shard, sp *span, b []byte) bool {
	if sp == exhausted {
		leave(s)
		return h.freeLarge(b)
	}
	owner := sp.owner.Load() // before the slot is queued, as in freeRemote
	if s == noShard || owner == nil {
		leave(s)
		return h.freeSlow(b)
	}
	off := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(sp.base)
	i, within := sp.slot(uint32(off))
	if within != 0 || off >= uintptr(sp.limit) || !s.queue(sp, i, len(b), stateLive) {
		leave(s)
		return h.freeSlow(b)
	}
	if atomic.LoadUint32(&sp.notified) == 0 {
		keep(s)
		owner.announce(sp)
		unpin(s)
	} else {
		leave(s)
	}
	h.wake()
	return true
}

// freeLarge is Free for what probably starts where no span is.
func (h *Heap) freeLarge(b []byte) bool {
	if !h.cfg.Spans || len(b) == 0 || h.spanAt(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) != nil {
		return h.freeSlow(b)
	}
	return h.reported(h.freeBlock(b))
}

// reported tells the policy of a refused free.
func (h *Heap) reported(err error) bool {
	if err != nil && h.cfg.Misuse != nil {
		h.cfg.Misuse(err)
	}
	return err == nil
}

func (h *Heap) tryFree(b []byte) error {
	switch {
	case len(b) == 0:
		return nil
	case h.cfg.Record != nil:
		return h.cfg.Record.Free(b, func() error { return h.watchedFree(b) })
	}
	return h.watchedFree(b)
}

// watchedFree is tryFree without a record.
func (h *Heap) watchedFree(b []byte) error {
	if h.debug != nil {
		return h.debugFree(b)
	}
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for {
		sp := h.spanAt(addr)
		if sp == nil {
			return h.freeBlock(b)
		}
		if err, done := h.freeSlot(sp, addr, b); done {
			return err
		}
	}
}

// freeSlot frees b, which starts in a page of sp. Not done means that the
// state changed while it looked: find the span again and call again.
func (h *Heap) freeSlot(sp *span, addr uintptr, b []byte) (err error, done bool) {
	if sp.class == stripClass {
		return h.freeCut(sp, addr, b)
	}
	s := h.pinFor(sp)
	local := sp.owner.Load() == s
	if s == noShard {
		unpin(s)
		h.awaitShards()
		return nil, false
	}
	i, within := sp.slot(uint32(addr - uintptr(sp.base)))
	if i >= uint32(len(sp.recs)) {
		unpin(s)
		return h.misuse(ErrNotOwned, b, nil), true
	}
	rec := &sp.recs[i]
	r := atomic.LoadUint32(rec)
	size, end := r&^stateMask, within+uint32(min(len(b), 1<<30))
	switch {
	case r&stateMask == stateGone:
		unpin(s)
		return nil, false

	case sp.class >= small && r&stateMask == stateLive && end <= size && within < size && (within > 0 || end < size):
		unpin(s)
		h.melt(sp, end == size)
		return nil, false

	case r&stateMask == statePart, r&stateMask == stateLive && end < size:
		unpin(s)
		return h.freePart(sp, i, within, b)

	case r&stateMask != stateLive || within >= size || end > size:
		over := end > sp.size || i >= sp.carved
		unpin(s)
		if over {
			return h.misuse(ErrNotOwned, b, nil), true
		}
		return h.misuse(ErrDoubleFree, b, nil), true

	case within > 0: // the tail: from now on the slot is that much shorter
		if done = atomic.CompareAndSwapUint32(rec, r, stateLive|within); done {
			s.freed += uint64(len(b))
		}
		unpin(s)
		return nil, done

	case local:
		sp.give(i)
		s.freed += uint64(len(b))
		h.filed(s, sp)
		return nil, true

	default:
		return nil, h.freeRemote(s, sp, i, len(b), stateLive)
	}
}

// freeRemote frees the whole slot i of n bytes of another shard's span, and ends
// the pin to s; false if the slot is not live with that length. live is the state
// that says so.
func (h *Heap) freeRemote(s *shard, sp *span, i uint32, n int, live uint32) bool {
	// Once the slot is queued the owner may take it in and give the span back
	// before this goroutine comes to announce it.
	owner := sp.owner.Load()
	done := s.queue(sp, i, n, live)
	if done {
		owner.announce(sp)
	}
	unpin(s)
	h.wake()
	return done
}

// awaitShards waits while the heap is paused and makes a shard for a P that
// has none.
func (h *Heap) awaitShards() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.set.Load() != nil {
		unpin(h.pinLocked())
	}
}

// part says which bytes of a slot are free while others are in use.
type part struct {
	freed [maxSmall / 64]uint64
	left  int // bytes still in use
}

// each visits the words of [from, to) with the bits that the range covers.
func (p *part) each(from, to uint32, visit func(word *uint64, bits uint64) bool) bool {
	for at := from; at < to; {
		end := min(at&^63+64, to)
		bits := (^uint64(0) >> (64 - (end - at))) << (at & 63)
		if !visit(&p.freed[at/64], bits) {
			return false
		}
		at = end
	}
	return true
}

// freePart frees a head or a middle of slot i, or any range of a slot that has
// been freed in part. The record of it is exact to the byte, and exists only
// until the last byte is freed.
func (h *Heap) freePart(sp *span, i, within uint32, b []byte) (err error, done bool) {
	h.mu.Lock()
	if h.set.Load() == nil || sp.owner.Load() == nil {
		return h.unlock(nil), false
	}
	key := uintptr(sp.base) + uintptr(i*sp.size)
	p := h.parts[key]
	fresh := p == nil
	if fresh {
		p = new(part)
	}
	unpin(h.pinLocked())
	s := h.pinFor(sp)
	local := sp.owner.Load() == s
	if s == noShard {
		unpin(s)
		return h.unlock(nil), false
	}
	rec := &sp.recs[i]
	r := atomic.LoadUint32(rec)
	size, end := r&^stateMask, within+uint32(min(len(b), 1<<30))
	switch {
	case r&stateMask == stateLive:
		// Whatever record there is belongs to a block of the past.
		*p = part{left: int(size)}
		if end >= size || !atomic.CompareAndSwapUint32(rec, r, statePart|size) {
			unpin(s)
			return h.unlock(nil), false
		}
	case r&stateMask != statePart || fresh:
		unpin(s)
		return h.unlock(nil), false
	}
	free := end <= size && p.each(within, end, func(w *uint64, bits uint64) bool { return *w&bits == 0 })
	if free {
		p.each(within, end, func(w *uint64, bits uint64) bool { *w |= bits; return true })
		p.left -= len(b)
		s.freed += uint64(len(b))
		if p.left == 0 {
			s.releasePart(sp, i, local)
		}
	}
	unpin(s)
	switch {
	case p.left == 0:
		delete(h.parts, key)
	case fresh:
		if h.parts == nil {
			h.parts = make(map[uintptr]*part)
		}
		h.parts[key] = p
	}
	if !free {
		if end > sp.size {
			return h.unlock(h.misuse(ErrNotOwned, b, nil)), true
		}
		return h.unlock(h.misuse(ErrDoubleFree, b, nil)), true
	}
	return h.unlock(nil), true
}

// releasePart frees slot i of sp, whose last byte was freed.
func (s *shard) releasePart(sp *span, i uint32, local bool) {
	if local {
		sp.give(i)
		s.file(sp)
		return
	}
	atomic.StoreUint32(&sp.recs[i], stateQueue)
	atomic.OrUint32(&sp.bits[i/32], 1<<(i%32))
	sp.owner.Load().announce(sp)
}
