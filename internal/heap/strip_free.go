package heap

import (
	"sync/atomic"
	"unsafe"
)

// block returns the granule where the block around the byte at off starts, how
// far into it the byte is, and its record. If there is no block the record is not
// that of one, or of one that ends before off.
//
//go:nosplit
func (sp *span) block(off uint32, local bool) (i, within, r uint32) {
	i = off / chunkUnit
	if i >= uint32(len(sp.recs)) {
		return i, 0, stateFree
	}
	least := i - min(i, maxSlot/chunkUnit)
	if local && i >= sp.last {
		i, least = sp.last, sp.last
	}
	for r = atomic.LoadUint32(&sp.recs[i]); r == stateFree && i > least; {
		i--
		r = atomic.LoadUint32(&sp.recs[i])
	}
	return i, off - i*chunkUnit, r
}

// freeStrip is Free for what starts in a strip that s, the shard of the P, owns,
// if it does. It begins in the section of its caller.
//
//go:nosplit
func (h *Heap) freeStrip(s *shard, sp *span, b []byte) bool {
	off := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(sp.base)
	if off < uintptr(sp.limit) {
		i, within, r := sp.block(uint32(off), true)
		size := r &^ stateMask
		switch {
		case r&stateMask != stateCut || int(size)-int(within) != len(b) || len(b) == 0:
		case within > 0:
			s.noteTrim(size, i == sp.last)
			sp.trim(i, within)
			s.freed += uint64(len(b))
			leave(s)
			return true
		default:
			sp.uncut(i)
			s.freed += uint64(len(b))
			if sp.used == 0 {
				keep(s)
				return h.filed(s, sp)
			}
			leave(s)
			return true
		}
	}
	leave(s)
	return h.freeSlow(b)
}

// noteTrim takes note that a block of n bytes was trimmed, and whether it was the
// one cut last: then more of its class are worth cutting, else the end is lost.
//
//go:nosplit
func (s *shard) noteTrim(n uint32, last bool) {
	if n <= maxSmall {
		return
	}
	left := &s.cuts[classOf[(n+slotAlign-1)/slotAlign]-small]
	switch {
	case *left == 0:
	case last:
		*left = cutWait
		s.lost -= min(s.lost, 1)
	default:
		if s.lost += lostLoss; s.lost >= maxLost {
			*left = 1
		}
	}
}

// freeCut is freeSlot for a strip.
func (h *Heap) freeCut(sp *span, addr uintptr, b []byte) (err error, done bool) {
	s := h.pinFor(sp)
	local := sp.owner.Load() == s
	if s == noShard {
		unpin(s)
		h.awaitShards()
		return nil, false
	}
	i, within, r := sp.block(uint32(addr-uintptr(sp.base)), local)
	size, end := r&^stateMask, within+uint32(min(len(b), 1<<30))
	switch {
	case r&stateMask == stateGone:
		unpin(s)
		return nil, false

	case r&stateMask != stateCut || within >= size || end > size:
		over := r&stateMask == stateCut && within < size && sp.starts(i*chunkUnit+size)
		unpin(s)
		if over {
			return h.misuse(ErrNotOwned, b, nil), true
		}
		return h.misuse(ErrDoubleFree, b, nil), true

	case end < size:
		unpin(s)
		h.melt(sp, false)
		return nil, false

	case within > 0: // the tail
		last := local && i == sp.last
		if done = true; local {
			sp.trim(i, within)
		} else {
			done = atomic.CompareAndSwapUint32(&sp.recs[i], r, stateCut|within)
		}
		if done {
			s.freed += uint64(len(b))
			s.noteTrim(size, last)
		}
		unpin(s)
		return nil, done

	case local:
		sp.uncut(i)
		s.freed += uint64(len(b))
		if sp.used == 0 {
			h.filed(s, sp)
		} else {
			unpin(s)
		}
		return nil, true

	default:
		return nil, h.freeRemote(s, sp, i, int(size), stateCut)
	}
}

// starts says whether a live block of the strip starts at off.
func (sp *span) starts(off uint32) bool {
	i := off / chunkUnit
	return off%chunkUnit == 0 && i < uint32(len(sp.recs)) && atomic.LoadUint32(&sp.recs[i])&stateMask == stateCut
}
