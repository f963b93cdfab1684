package heap

import (
	"fmt"
	"sync/atomic"
)

// Spans above maxSmall. A slot is given back as a whole: parts of it that are
// freed earlier cannot be used by others. For small slots that loss is bounded;
// for larger ones it would be too much, since such blocks are typically trimmed
// after a short read. So if a part of a block is freed, its span melts: the
// slots become blocks of the chunk, where any part that is free serves any
// request.
//
// The next blocks of the class are cut from a strip (strip.go). Blocks that are
// too long for a strip are placed one by one for a while.

// meltWait is how many blocks of a class are placed after a span of it melted.
const meltWait = 4096

// firstWait is how many blocks of class c are placed before its first span: one for
// each 128 bytes of the span. There may never be more blocks of the class, and in a
// heap of a few MiB one span for each class would be half of it.
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

// melt turns the live slots of sp, a span of slots above maxSmall, into blocks
// of its chunk and frees the bytes between them, because a part of a slot is
// to be freed. It does nothing if sp has melted already.
func (h *Heap) melt(sp *span) {
	h.mu.Lock()
	if h.set.Load() != nil && sp.owner.Load() != nobody {
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
	lends := owner.lends(sp)
	h.freeze(owner, sp)
	if owner == s {
		unpin(s)
	} else {
		h.resume()
	}
	if lends {
		h.lend(sp.chunk) // not while pinned: it asks all shards
	}
	h.dissolve(sp)
}

// freeze ends sp as a span: it marks its live blocks as gone. A goroutine that
// still reaches them through the span sees that and looks again; after that the
// span itself is garbage. Queued slots are free already. Under mu, pinned to the
// owner's P or with the heap paused; dissolve has to follow without releasing mu.
func (h *Heap) freeze(owner *shard, sp *span) {
	owner.disown(sp, nil)
	for i := range sp.recs[:sp.carved] {
		// Others may free it, or parts of it, until it is gone.
		for !sp.makeGone(uint32(i)) {
		}
	}
	h.removeSpan(sp)
}

// makeGone changes the record of slot i to gone if a block lives there; false if another
// goroutine is changing it.
func (sp *span) makeGone(i uint32) bool {
	rec := &sp.recs[i]
	r := atomic.LoadUint32(rec)
	switch r & stateMask {
	case stateLive, stateCut:
		return atomic.CompareAndSwapUint32(rec, r, stateGone|r&^stateMask)
	case stateParts:
		return atomic.CompareAndSwapUint32(rec, r, stateGoneParts|r&^stateMask)
	case stateQueue:
		return sp.posted(i)
	}
	return r&stateMask != stateBusy
}

func isGone(r uint32) bool { return r&stateMask == stateGone || r&stateMask == stateGoneParts }

// dissolve turns the gone blocks of frozen spans, linked through next, into
// blocks of the chunk and frees the rest. Under mu.
func (h *Heap) dissolve(sp *span) {
	for ; sp != nil; sp = sp.next {
		c, end := sp.chunk, sp.off // of what was dealt with
		free := func(to int) {
			if to > end {
				c.mustFree(end, to-end)
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
