package heap

import "github.com/gomem-go/gomem/offset"

const (
	// coldPeriods is for how many periods of the clock no block must have been placed in a
	// chunk before its free pages go back: a chunk that serves needs them again.
	coldPeriods = 4
	// coldBytes is what must have come free in it since they went the last time.
	coldBytes = 64 << 10
	// rangeBytes is the least free range that is worth a call to the source.
	rangeBytes = spanUnit
)

// cools says whether so much is free in c that its pages may go back. Under mu.
func (h *Heap) cools(c *chunk) bool {
	return h.releases && c.place.FreeBytes()-c.released >= coldBytes
}

// releaseCold gives the free pages of chunks back that have not served for a while, and
// says whether others may come to that. Under mu, which it releases.
func (h *Heap) releaseCold() (more bool) {
	for i := 0; i < len(h.chunks); i++ {
		switch c := h.chunks[i]; {
		case c == nil, !h.cools(c):
		case h.period-c.served <= coldPeriods:
			more = true
		default:
			h.release(c)
		}
	}
	return more
}

// releaseAll gives the free pages of all chunks back. Under mu, which it releases.
func (h *Heap) releaseAll() {
	for i := 0; i < len(h.chunks) && h.releases; i++ {
		if c := h.chunks[i]; c != nil {
			h.release(c)
		}
	}
}

// release gives the pages of the free ranges of c back to the source. The ranges are taken
// meanwhile, so c has no room. Who finds none at the limit waits, and so do Reset and
// Close. Under mu, which it releases while the source is busy.
func (h *Heap) release(c *chunk) {
	if c == h.loan() || c.place.FreeBytes() == c.released {
		return // what is lent lies in a free range; or nothing came free since
	}
	c.released = c.place.FreeBytes()
	free := h.takeFree(c)
	if len(free) == 0 {
		return
	}
	defer h.maps.endFlush(h.maps.beginFlush())
	h.mu.Unlock()
	returned := false
	defer func() {
		h.mu.Lock()
		for _, b := range free {
			c.mustFree(b.Start, b.Size())
		}
		h.gaveBack(c)
		if !returned { // the source panics
			h.mu.Unlock()
		}
	}()
	page := 1 << h.pageShift
	for _, b := range free {
		from := b.Start + int(-(c.addr()+uintptr(b.Start))&uintptr(page-1))
		if n := (b.End - from) &^ (page - 1); n > 0 {
			// The memory is free, whatever becomes of its pages.
			_ = h.cfg.Source.Release(c.mem[from : from+n : from+n])
		}
	}
	returned = true
}

// takeFree takes the larger free ranges of c, and returns them. Under mu.
func (h *Heap) takeFree(c *chunk) (free []offset.Block) {
	for n := c.place.Fits(); n >= rangeBytes; n = c.place.Fits() {
		off := c.place.Allocate(n)
		free = append(free, offset.Block{Start: off, End: off + n})
	}
	if len(free) > 0 {
		h.fits.set(c.index, c.place.Fits())
		if c.idle {
			h.notEmpty(c)
		}
	}
	return free
}
