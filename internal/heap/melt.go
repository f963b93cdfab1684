package heap

import (
	"fmt"
	"sync/atomic"
)

// Spans above maxSmall. A slot is given back as a whole, and what is freed of
// it before is free for nobody else. For small slots that is a bounded loss; for
// larger ones it would not be, and trimming a block after a short read is what
// they are for. So the span of a block that is freed in part melts: its slots
// become blocks of the chunk, where any part is free for any request.
//
// The next blocks of the class are cut from a strip (strip.go). Those that are too
// long for one are placed one by one for a while.

// meltWait is how many blocks of a class are placed after a span of it melted.
const meltWait = 4096

// firstWait is how many blocks of class c are placed before its first span: one for
// each 128 bytes of that. Those may be all there are, and in a heap of a few MiB
// a span for each class would be half of it.
func firstWait(c int) int { return halfBytes[c] / 128 }

// direct says whether the next block of class c is to be placed by itself
// rather than in a slot. Under mu, in a heap that is shared out.
func (h *Heap) direct(c int) bool {
	if h.wait[c] == 0 {
		return false
	}
	h.wait[c]--
	return true
}

// melt makes what is live in sp, a span of slots above maxSmall, blocks of its
// chunk and frees what is between them: a part of one is to be freed. It does
// nothing if the span is no span any more.
func (h *Heap) melt(sp *span) {
	h.mu.Lock()
	if h.set.Load() != nil && sp.owner.Load() != nil {
		if sp.size <= maxCut {
			h.parted[sp.class-small] = true
		} else {
			h.wait[sp.class] = meltWait
		}
		h.meltSpan(sp)
	}
	_ = h.unlock(nil)
}

// meltSpan melts sp on its owner's P, or else with the heap paused. Under mu.
func (h *Heap) meltSpan(sp *span) {
	s, owner := h.pinFor(sp), sp.owner.Load()
	if owner != s {
		unpin(s)
		h.pause()
	}
	if owner.lends(sp) {
		h.lent = sp.chunk
	}
	h.freeze(owner, sp)
	if owner == s {
		unpin(s)
	} else {
		h.resume()
	}
	sp.next = nil
	h.dissolve(sp)
}

// freeze makes sp no span any more: what is live in it is gone. Whoever still
// comes for it by way of the span looks again. The span itself is garbage when
// they have. What is queued in it is free already. Under mu, pinned to the owner's
// P or with the heap paused; dissolve has to follow, under the same mu.
func (h *Heap) freeze(owner *shard, sp *span) {
	owner.unlink(sp)
	for i := range sp.recs[:sp.carved] {
		// Others may free it, or parts of it, until it is gone.
		for !makeGone(&sp.recs[i]) {
		}
	}
	h.removeSpan(sp)
}

// makeGone makes a record of what is live one of what is gone; false if somebody
// else is at it.
func makeGone(rec *uint32) bool {
	r := atomic.LoadUint32(rec)
	switch r & stateMask {
	case stateLive, stateCut:
		return atomic.CompareAndSwapUint32(rec, r, stateGone|r&^stateMask)
	case stateParts:
		return atomic.CompareAndSwapUint32(rec, r, stateGoneParts|r&^stateMask)
	}
	return r&stateMask != stateBusy
}

func isGone(r uint32) bool { return r&stateMask == stateGone || r&stateMask == stateGoneParts }

// dissolve makes what is gone of frozen spans, linked through next, blocks of
// the chunk and frees the rest. Under mu.
func (h *Heap) dissolve(sp *span) {
	for ; sp != nil; sp = sp.next {
		c, end := sp.chunk, sp.off // of what was dealt with
		free := func(to int) {
			if to == end {
				return
			}
			if err := c.place.Free(end, to-end); err != nil {
				panic(fmt.Sprintf("gomem: internal error: freeing %d bytes at %d: %v", to-end, end, err))
			}
		}
		for i, r := range sp.recs[1:max(sp.carved, 1)] {
			if at := sp.off + (i+1)*int(sp.size); isGone(r) && !c.split.Split(at) {
				panic(fmt.Sprintf("gomem: internal error: no live block to split at %d", at))
			}
		}
		for i, r := range sp.recs[:sp.carved] {
			if !isGone(r) {
				continue
			}
			at, size := sp.off+i*int(sp.size), int(lengthOf(r))
			free(at)
			if end = at; r&stateMask == stateGoneParts {
				for from, to := range sp.parts.Load().runs(uint32(i), size) {
					end = at + from
					free(at + to)
				}
			}
			end = at + size
		}
		free(sp.off + sp.bytes())
		h.gaveBack(c)
	}
}

// unlink takes sp out of the shard's lists.
func (s *shard) unlink(sp *span) {
	switch sp.where {
	case isCur:
		s.swap(int(sp.class), sp, exhausted)
	case isListed:
		if sp.used == 0 {
			s.idle -= sp.units()
		}
		s.spans[sp.class].remove(sp)
	}
	sp.where = isFull
}
