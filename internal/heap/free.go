package heap

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// freeSlow is Free for what takes more than freeOther does.
func (h *Heap) freeSlow(b []byte) bool {
	return h.reported(h.tryFree(b))
}

// freeForeign is Free for what starts in a span that the P's shard does not own, if
// it does: exhausted stands for none. A whole slot takes a section.
//
//go:nosplit
//go:noinline
func (h *Heap) freeForeign(sp *span, b []byte) bool {
	if sp == exhausted {
		return h.freeLarge(b)
	}
	at := here()
	s := h.enterFor(sp, at)
	owner := sp.owner.Load() // before the slot is queued, as in freeSlot
	if s == noShard || owner == nil {
		leave(s)
		return h.freeOther(sp, b)
	}
	off := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(sp.base)
	i, within := sp.slot(off)
	if within != 0 || off >= uintptr(sp.limit) || uint(len(b)-1) >= maxSlot || !s.queue(sp, uint32(i), sp.whole()|uint32(len(b))) {
		leave(s)
		return h.freeOther(sp, b)
	}
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

// freeOther is Free for parts and strips. sp is where b probably starts.
func (h *Heap) freeOther(sp *span, b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if err, done := h.freeSlot(sp, b); done {
		return h.reported(err)
	}
	return h.freeSlow(b)
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
		if err, done := h.freeSlot(sp, b); done {
			return err
		}
	}
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

// freeSlot frees b, if it starts in sp. Not done means that it does not, or that the
// state changed while it looked: find the span again and call again.
func (h *Heap) freeSlot(sp *span, b []byte) (err error, done bool) {
	s := h.pinFor(sp)
	// Once a slot is queued the owner may take it in and give the span back before
	// this goroutine comes to announce it.
	owner := sp.owner.Load()
	if s == noShard || owner == nil {
		unpin(s)
		h.awaitShards()
		return nil, false
	}
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(sp.base)
	if from >= uintptr(sp.bytes()) {
		unpin(s)
		return nil, false
	}
	off, n, local := uint32(from), uint32(min(len(b), 1<<30)), owner == s
	switch end := s.free(sp, off, n, local); end {
	case freedOwn:
		if sp.class == stripClass && sp.used > 0 {
			unpin(s)
		} else {
			h.filed(s, sp)
		}
		return nil, true
	case freedRemote:
		owner.announce(sp)
		unpin(s)
		h.wake()
		return nil, true
	case freeRefused:
		err = sp.refusal(off, n, local)
		unpin(s)
		return h.misuse(err, b, nil), true
	default:
		unpin(s)
		switch end {
		case freeAgain:
			runtime.Gosched()
		case freeParts:
			h.wantParts(sp)
		case freeMelts:
			h.melt(sp)
		}
		return nil, end == freedPart
	}
}

// free frees n bytes at off of sp, which s owns if local is set, and takes the
// account.
func (s *shard) free(sp *span, off, n uint32, local bool) freeEnd {
	i, within, r := sp.block(off, local)
	state, size := r&stateMask, r&^stateMask
	switch {
	case state == stateBusy, isGone(r):
		return freeAgain
	case state != sp.whole() && state != stateParts, n == 0, within >= size, n > size-within:
		return freeRefused
	case n < size && sp.class >= small && sp.class != stripClass:
		return freeMelts

	case state == stateParts, within+n < size:
		if end := sp.freePart(i, r, within, n); end != freedOwn {
			if end == freedPart {
				s.freed += uint64(n)
				s.noteParts(size)
			}
			return end
		}
		r = stateBusy | size

	case within > 0: // the tail: from now on the block is that much shorter
		if !sp.trim(i, r, within, local) {
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
	} else if !s.queue(sp, i, r) {
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
		next := i*chunkUnit + r&^stateMask
		over = r&stateMask != stateFree && within < r&^stateMask && within+n > r&^stateMask && next%chunkUnit == 0 &&
			next/chunkUnit < uint32(len(sp.recs)) && atomic.LoadUint32(&sp.recs[next/chunkUnit])&stateMask != stateFree
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
