package heap

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// freeForeign is Free for a b that starts in a span that the P's shard does not
// own, or in none. A whole slot takes a section.
//
//go:nosplit
//go:noinline
func (h *Heap) freeForeign(b []byte) bool {
	at := here()
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	sp := h.guess.of(addr).Load()
	if sp == exhausted {
		return h.freeLarge(b)
	}
	s := h.enterFor(sp, at)
	owner := sp.owner.Load() // before the slot is queued, as in freeSlow
	if s == noShard || owner == nobody {
		leave(s)
		return h.freeSlow(sp, b)
	}
	base := sp.base
	off := addr - uintptr(base)
	i, within := sp.slot(off)
	if within != 0 || off >= uintptr(sp.limit) || uint(len(b)-1) >= maxSlot ||
		!sp.queue(uint32(i), sp.whole()|uint32(len(b)), s.busy, base) {
		leave(s)
		return h.freeSlow(sp, b)
	}
	s.post(sp, uint32(i))
	s.freed += uint64(len(b))
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

// freeOther is Free for parts and strips. sp is the span in which b probably
// starts. Frees that happen for each frame of a read take a section, if the shard
// owns the span: those of a part of a block, except the first and the last part,
// and in a strip also those of a tail or a whole block.
//
//go:nosplit
//go:noinline
func (h *Heap) freeOther(sp *span, b []byte) bool {
	s := h.enterOwner(sp, here())
	if s == noShard { // before all else: it may be no span any more
		leave(s)
		return h.freeSlow(sp, b)
	}
	off, n := uint(uintptr(unsafe.Pointer(unsafe.SliceData(b)))-uintptr(sp.base)), uint(len(b))
	i, _ := sp.slot(uintptr(off))
	if i >= uint(len(sp.recs)) || n == 0 {
		leave(s)
		return h.freeSlow(sp, b)
	}
	if sp.class == stripClass {
		if last := uint(sp.last); i >= last {
			i = last
		} else {
			w, set := sp.begun(uint32(i))
			i = uint(w*64 + uint32(bits.Len64(set)) - 1)
		}
	}
	done := false
	if i < uint(len(sp.recs)) {
		rec, within := &sp.recs[i], off-i*uint(sp.size)
		r := atomic.LoadUint32(rec)
		switch size := uint(lengthOf(r)); {
		case within >= size || n > size-within:
		case r&stateMask == stateParts:
			if n == uint(r&leftMask) || !atomic.CompareAndSwapUint32(rec, r, s.busy) {
				break
			}
			p := sp.parts.Load()
			from := p.bit(uint32(i), uint32(within))
			if done = anySet(p.gone, from, from+uint32(n)) == 0; done {
				setAll(p.gone, from, from+uint32(n))
				r -= uint32(n)
			}
			atomic.StoreUint32(rec, r) // nobody but the owner overrides a busy record
		case r&stateMask != stateCut:
		case n == size:
			if done = sp.used() > 1; done {
				sp.uncut(uint32(i))
			}
		case n == size-within:
			if done = sp.trim(uint32(i), r, r&stateMask|uint32(within), true); done {
				s.noteTrim(uint32(size), uint32(i) == sp.last)
			}
		}
	}
	if !done {
		leave(s)
		return h.freeSlow(sp, b)
	}
	s.freed += uint64(n)
	leave(s)
	return true
}

// freeSlow is Free for whatever no section has done. sp is the span in which b probably
// starts.
//
//go:noinline
func (h *Heap) freeSlow(sp *span, b []byte) bool {
	if len(b) == 0 {
		return true
	}
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for ; sp != nil; sp = h.spanAt(addr) {
		s := h.pinFor(sp)
		// Once a slot is queued the owner may take it in and give the span back before
		// this goroutine comes to announce it.
		owner := sp.owner.Load()
		if s == noShard || owner == nobody {
			unpin(s)
			h.awaitShards()
			continue
		}
		base := sp.base
		from := addr - uintptr(base)
		if from >= uintptr(sp.bytes()) {
			unpin(s)
			continue
		}
		off, n, local := uint32(from), uint32(min(len(b), 1<<30)), owner == s
		end := s.free(sp, base, off, n, local)
		switch end {
		case freedPart:
			unpin(s)
			return true
		case freedOwn:
			if sp.class == stripClass && sp.used() > 0 {
				unpin(s)
				return true
			}
			return h.filed(s, sp)
		case freedRemote:
			owner.announce(sp)
			unpin(s)
			h.wake()
			return true
		case freeRefused:
			err := sp.refusal(off, n, local)
			unpin(s)
			return h.reported(h.misuse(err, b))
		}
		unpin(s)
		switch end {
		case freeAgain:
			runtime.Gosched()
		case freeParts:
			h.wantParts(sp)
		case freeMelts:
			h.melt(sp)
		}
	}
	return h.reported(h.freeBlock(b))
}

// freeLarge is Free for a b that probably starts outside all spans.
//
//go:noinline
func (h *Heap) freeLarge(b []byte) bool {
	if !h.cfg.Spans || len(b) == 0 {
		return h.reported(h.tryFree(b))
	}
	if sp := h.spanAt(uintptr(unsafe.Pointer(unsafe.SliceData(b)))); sp != nil {
		return h.freeSlow(sp, b)
	}
	return h.reported(h.freeBlock(b)) // neither watched nor recorded, as there are spans
}

// reported calls the function for misuse if a free was refused.
func (h *Heap) reported(err error) bool {
	if err != nil && h.cfg.Misuse != nil {
		h.cfg.Misuse(err)
	}
	return err == nil
}

// tryFree frees b, which lies in no span.
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
	return h.freeBlock(b)
}

// How a free in a span ended.
type freeEnd uint8

const (
	freedPart   freeEnd = iota // a part of a block
	freedOwn                   // all that was left of a block, in an own span: it is to be filed
	freedRemote                // the same in another shard's: it is to be announced
	freeAgain                  // somebody else was quicker
	freeParts                  // a part of a block, for which the span is not prepared
	freeMelts                  // a part of a slot above maxSmall: the span has to melt before
	freeRefused                // it is not all in use
)

// free frees n bytes at off of sp, which began at base and which s owns if local is set,
// and counts them.
func (s *shard) free(sp *span, base unsafe.Pointer, off, n uint32, local bool) freeEnd {
	i, within, r := sp.block(off, local)
	state, size := r&stateMask, lengthOf(r)
	switch {
	case state == stateBusy, isGone(r), state == stateQueue && !sp.posted(i):
		return freeAgain
	case state != sp.whole() && state != stateParts, n == 0, within >= size, n > size-within:
		return freeRefused
	case n < size && sp.class >= small && sp.class != stripClass:
		return freeMelts

	case state == stateParts, within+n < size:
		end := s.freePart(sp, base, i, r, within, n, local)
		if end != freedOwn {
			return end
		}
		r = s.busy

	case within > 0: // the tail: from now on the block is that much shorter
		from := r
		if !local {
			if from = s.busy; !sp.mark(i, r, from, base) {
				return freeAgain
			}
		}
		if !sp.trim(i, from, r&stateMask|within, local) {
			return freeAgain
		}
		s.freed += uint64(n)
		s.noteTrim(size, local && i == sp.last)
		return freedPart
	}
	end := freedRemote
	if local {
		sp.free(i)
		end = freedOwn
	} else if sp.queue(i, r, s.busy, base) {
		s.post(sp, i)
	} else {
		return freeAgain
	}
	s.freed += uint64(n)
	return end
}

// refusal is why n bytes at off cannot be freed.
func (sp *span) refusal(off, n uint32, local bool) error {
	i, within, r := sp.block(off, local)
	over := i >= sp.carved || within+n > sp.size
	if sp.class == stripClass {
		size := lengthOf(r)
		next := i*chunkUnit + size
		over = r&stateMask != stateFree && within < size && within+n > size && next%chunkUnit == 0 &&
			next/chunkUnit < uint32(len(sp.recs)) && atomic.LoadUint32(&sp.recs[next/chunkUnit])&stateMask != stateFree &&
			(r&stateMask != stateParts || sp.parts.Load().next(i, int(within), int(size), 0) == int(size))
	}
	if over {
		return ErrNotOwned
	}
	return ErrDoubleFree
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
