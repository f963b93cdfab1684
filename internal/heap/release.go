package heap

import (
	"math/bits"
	"sync"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/offset"
)

// After a peak the blocks that are left keep their chunks, but not the pages of what is free
// there. Pages that are needed again cost as much as they did the first time, so they go
// only where nothing was placed for a while. The free ranges are taken from the placement
// meanwhile, so that the source is called without a lock.

const (
	// coldPeriods is for how many periods of the clock nothing must have been placed in a
	// chunk before its free pages go: 10 s.
	coldPeriods = 40
	// coldBytes is how much of what is free there must have been in use since they went the
	// last time, and a coldPart of it: each time all of them go.
	coldBytes, coldPart = 64 << 10, 16
	// rangeBytes is the least free range that is worth a call to the source.
	rangeBytes = spanUnit
	// maxRanges is how many ranges are taken at most, the largest, in a few dozen
	// microseconds under mu.
	maxRanges = 512
	// pieceBytes is how much the source takes in one call, so that who waits for the end of
	// a release does not wait long.
	pieceBytes = 4 << 20
)

// release is free ranges of a chunk whose pages go back at this moment. Others must not
// free them, although they look taken. Under Heap.mu but for the mutex, which is locked
// until the end, as in flushing.
type release struct {
	sync.Mutex
	c     *chunk
	fits  int // what had room in c before
	taken []offset.Block
	done  bool // nobody has cut it short
}

// releaseUnit returns the shift for Heap.releaseShift: log2 of the unit in which the source
// takes memory back, or 0 for none.
func releaseUnit(s backing.Source) uint8 {
	unit := backing.ReleaseUnit(s)
	if unit <= 0 || unit > 1<<30 {
		return 0
	}
	return uint8(bits.Len(uint(max(unit, slotAlign)) - 1))
}

// cools says whether so much is free in c that was in use since its pages went that they
// may go again. Under mu.
func (h *Heap) cools(c *chunk) bool {
	if h.releaseShift == 0 {
		return false
	}
	free := c.place.FreeBytes()
	return free-c.released >= max(coldBytes, free/coldPart)
}

// releaseCold gives the free pages of chunks back that have not served for a while, and
// says whether others may come to that. Under mu, which it releases.
func (h *Heap) releaseCold() (more bool) {
	for i := 0; i < len(h.chunks) && h.releaseShift > 0; i++ {
		switch c := h.chunks[i]; {
		case c == nil, !h.cools(c):
		case h.period-c.served <= coldPeriods, h.maps.release != nil, c == h.loan():
			more = true
		case !h.release(c):
			return true
		}
	}
	return more
}

// releaseAll gives the free pages of all chunks back, unless somebody waits for what it
// has taken. Under mu, which it releases.
func (h *Heap) releaseAll() {
	if h.releaseShift == 0 {
		return
	}
	h.awaitRelease()
	for i := 0; i < len(h.chunks); i++ {
		c := h.chunks[i]
		if c == nil || c == h.loan() || c.place.FreeBytes() == c.released {
			continue
		}
		if h.maps.release != nil || !h.release(c) {
			return
		}
	}
}

// release gives the pages of the free ranges of c back to the source, and says whether
// nobody has cut it short by waiting for its end. Under mu, which it releases while the
// source is busy; no release may be under way, and nothing in c be lent.
func (h *Heap) release(c *chunk) (done bool) {
	r := &release{c: c, fits: c.place.Fits()}
	if h.takeFree(r); len(r.taken) == 0 {
		return true
	}
	r.Lock()
	h.maps.release = r
	h.mu.Unlock()
	returned := false
	defer func() {
		h.mu.Lock()
		h.endRelease(r)
		r.Unlock()
		if !returned { // the source panics
			h.mu.Unlock()
		}
	}()
	r.done = h.releaseRanges(r)
	returned = true
	return r.done
}

// takeFree takes the larger free ranges of a chunk for r. Under mu.
func (h *Heap) takeFree(r *release) {
	c, most := r.c, maxRanges
	if f, ok := c.place.(*offset.Few); ok {
		most = min(most, f.Room())
	}
	c.released = c.place.FreeBytes()
	least := max(rangeBytes, 1<<h.releaseShift)
	for n := r.fits; n >= least && len(r.taken) < most; n = c.place.Fits() {
		off := c.place.Allocate(n)
		r.taken = append(r.taken, offset.Block{Start: off, End: off + n})
	}
	h.fits.set(c.index, c.place.Fits())
	if c.idle && len(r.taken) > 0 {
		h.notEmpty(c)
	}
}

// releaseRanges has the source take the pages of r, and says whether it took all that
// it wants before somebody waited for that.
func (h *Heap) releaseRanges(r *release) bool {
	unit := 1 << h.releaseShift
	for _, b := range r.taken {
		from := b.Start + int(-(r.c.addr()+uintptr(b.Start))&uintptr(unit-1))
		for from+unit <= b.End {
			if h.maps.waiting.Load() > 0 {
				return false
			}
			to := from + min((b.End-from)&^(unit-1), max(pieceBytes, unit))
			// The memory is free, whatever becomes of its pages.
			_ = h.cfg.Source.Release(r.c.mem[from:to:to])
			from = to
		}
	}
	return true
}

// endRelease gives the ranges of r back to their chunk. Under mu.
func (h *Heap) endRelease(r *release) {
	h.maps.release = nil
	for _, b := range r.taken {
		r.c.mustFree(b.Start, b.Size())
	}
	if !r.done {
		r.c.released = 0
	}
	h.gaveBack(r.c)
}

// has says whether a byte of [off, off+n) of c is being released.
func (r *release) has(c *chunk, off, n int) bool {
	if r == nil || r.c != c {
		return false
	}
	for _, b := range r.taken {
		if off < b.End && b.Start < off+n {
			return true
		}
	}
	return false
}

// releasing is the release that is under way, nil if there is none. Under mu.
func (h *Heap) releasing() *release {
	if h.maps == nil {
		return nil
	}
	return h.maps.release
}

// awaitRelease has a release end soon, waits for that, and says whether there was one.
// Under mu, which it releases while it waits.
func (h *Heap) awaitRelease() (waited bool) {
	for r := h.releasing(); r != nil; r = h.releasing() {
		waited = true
		h.maps.waiting.Add(1)
		h.awaitHolder(&r.Mutex)
		h.maps.waiting.Add(-1)
	}
	return waited
}
