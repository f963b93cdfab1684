package heap

import "fmt"

// Spans above maxSmall. A slot is given back as a whole, and what is freed of
// it before is free for nobody else. For small slots that is a bounded loss; for
// larger ones it would not be, and trimming a block after a short read is what
// they are for. So the span of a block that is freed in part melts: its slots
// become blocks of the chunk, where any part is free for any request. A class
// whose spans melt places its blocks one by one for a while.

const (
	firstWait = 64   // blocks of a class that are placed before its first span: one may be all there is
	meltWait  = 4096 // the same after a span of the class melted
)

// direct says whether the next block of class c is to be placed by itself
// rather than in a slot. Under mu, in a heap that is shared out.
func (h *Heap) direct(c int) bool {
	if c < small || h.wait[c-small] == 0 {
		return false
	}
	h.wait[c-small]--
	return true
}

// melt makes the live slots of sp blocks of its chunk and frees what is between
// them. It does nothing if the span is no span any more.
func (h *Heap) melt(sp *span) {
	h.mu.Lock()
	owner := sp.owner.Load()
	if h.set.Load() == nil || owner == nil {
		_ = h.unlock(nil)
		return
	}
	h.wait[sp.class-small] = meltWait
	h.pause()
	if owner.lends(int(sp.class)) && sp.where == isCur {
		h.lent = sp.chunk
	}
	owner.unlink(sp)
	// Whoever still comes for a slot by way of the span finds it gone, and looks
	// again. The span itself is garbage when they have. What is queued in it is
	// free already.
	var lengths [maxSpan / maxSmall]int
	for i, r := range sp.recs[:sp.carved] {
		if r&stateMask == stateLive {
			lengths[i] = int(r &^ stateMask)
			sp.recs[i] = stateGone
		}
	}
	h.removeSpan(sp)
	h.resume()

	size, t := int(sp.size), sp.chunk.tlsf
	for i := range sp.recs {
		start := sp.off + i*size
		if i > 0 && !t.Split(start) {
			panic(fmt.Sprintf("gomem: internal error: no live block to split at %d", start))
		}
	}
	used := len(sp.recs) * size
	if used < sp.bytes() {
		h.giveBack(sp.chunk, sp.off+used, sp.bytes()-used)
	}
	for i, n := range lengths[:len(sp.recs)] {
		if n < size {
			h.giveBack(sp.chunk, sp.off+i*size+n, size-n)
		}
	}
	_ = h.unlock(nil)
}

// unlink takes sp out of the shard's lists.
func (s *shard) unlink(sp *span) {
	switch sp.where {
	case isCur:
		s.cur[sp.class] = exhausted
	case isListed:
		if sp.used == 0 {
			s.idle -= sp.units()
		}
		s.spans[sp.class].remove(sp)
	}
	sp.where = isFull
}
