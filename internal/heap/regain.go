package heap

// vain counts the reclaims in a row that did not bring what was missing.
type vain struct {
	times int
	live  int64  // bytes, the most since the last one
	freed uint64 // at that
}

// regain is takeAgain with what the shards hold, which may be what is missing. To ask all
// of them the world stops; where that is hopeless, this P's alone is asked. Under growing
// and mu.
func (h *Heap) regain(n, align int) (c *chunk, off int, err error) {
	switch {
	case h.set.Load() == nil:
		return h.takeAgain(n, align)
	case h.hopeless(n):
		s := h.pinLocked()
		s.drain()
		unpin(s)
		h.dropIdle()
		return h.takeAgain(n, align)
	}
	for more := h.reclaim(); ; more = h.meltMore() {
		switch c, off, err = h.takeAgain(n, align); {
		case c != nil:
			h.hope()
		case err == nil && more:
			continue
		case err == nil:
			total, freed := h.totals()
			h.vain = vain{h.vain.times + 1, int64(total - freed), freed}
		}
		return c, off, err
	}
}

// hopeless says whether another reclaim for n bytes would most likely be in vain, too: the
// live bytes are not n fewer than they were since the last one. A cache at its limit that
// frees a block whenever it is refused one is refused again for each block, and after some
// reclaims in vain it has to free twice as much from one to the next, and so on, up to a
// 64th of what is mapped, or 1 MiB but no more than a quarter. Under mu, in a heap that is
// shared out.
func (h *Heap) hopeless(n int) bool {
	const some, most, little = 4, 12, 1 << 20
	v := &h.vain
	if v.times == 0 {
		return false
	}
	total, freed := h.totals()
	live := int64(total - freed)
	v.live = max(v.live, live)
	return v.live-live < int64(min(n, h.mapped))<<max(min(v.times, most)-some, 0) &&
		freed-v.freed < uint64(max(n, h.mapped/64, min(little, h.mapped/4)))
}

// hope forgets about reclaims in vain. Under mu.
func (h *Heap) hope() {
	if h.sharing != nil {
		h.vain.times = 0
	}
}
