package heap

// sharing is what a heap that is shared out needs besides. Under mu.
type sharing struct {
	// Lists of spans that are placed nowhere: of each class, strips of each size, half ones,
	// double ones.
	spare   [3*classes + stripSizes]*span
	spanned [kinds]int            // bytes of the spans of each class
	wait    [classes]uint32       // blocks to place one by one before the next span of a class
	tries   [classes]uint8        // times that there was no room for the first large span of a class
	parted  [classes - small]bool // classes that are to be cut from strips, as each shard learns under mu
	vain    vain                  // reclaims that did not bring what was missing
	pass    uint32                // numbers the looks at all strips
	unseen  int                   // strips that are left to look at after the last reclaim, at most
	dry     int                   // blocks to place before the next try to find a place for a strip
}

// shareOut decides whether small blocks come from spans, where there may be any, and
// prepares for it. A heap with few small blocks places them in its chunks: it may be one of
// thousands, and spans take 16 KiB for each class.
func (h *Heap) shareOut() bool {
	const enough = 1024 // blocks
	if h.set.Load() != nil {
		return true
	}
	h.solo++
	if h.solo < enough {
		return false
	}
	if h.sharing == nil {
		h.sharing = new(sharing)
		for c := range h.wait {
			h.wait[c] = uint32(firstWait(c))
		}
	}
	set := newShardSet(shardCount())
	h.set.Store(set)
	h.publish(set)
	return true
}

// pinLocked is pin for the holder of mu in a heap that is shared out; it makes
// the shard if the P has none yet.
func (h *Heap) pinLocked() *shard {
	for again := false; ; again = true {
		if s := h.pin(); s != noShard {
			h.settle(s)
			return s
		}
		unpin(noShard)
		id := pinIndex()
		old := h.set.Load().byID
		set := newShardSet(max(len(old), id+1))
		copy(set.byID, old)
		for i, s := range set.byID {
			// One more round means that pin looks elsewhere than pinIndex said,
			// and will again. Then every place gets a shard.
			if s == noShard && (i == id || again) {
				set.byID[i] = newShard()
			}
		}
		h.set.Store(set)
		h.publish(set)
	}
}
