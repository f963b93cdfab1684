package heap

import (
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// MallocAligned is TryMalloc of a positive n with the address a multiple of align, which
// is a power of two up to the page size.
func (h *Heap) MallocAligned(n, align int) ([]byte, error) {
	if n > math.MaxInt-1<<30 {
		return nil, fmt.Errorf("gomem: MallocAligned(%d, %d): %w", n, align, ErrOutOfMemory)
	}
	if h.cfg.Record != nil {
		return h.cfg.Record.Malloc(func() ([]byte, error) { return h.watchedAligned(n, align) })
	}
	return h.watchedAligned(n, align)
}

// watchedAligned is MallocAligned without a record.
func (h *Heap) watchedAligned(n, align int) ([]byte, error) {
	switch {
	case h.debug != nil:
		return h.debugMalloc(n, align)
	case align <= slotAlign && h.cfg.Spans:
		return h.TryMalloc(n)
	case n <= maxSlot && h.cfg.Spans:
		if c := alignedClass(n, align); c >= 0 {
			return h.mallocSlot(n, c, align)
		}
	}
	return h.mallocLarge(n, align)
}

// alignedClass is the class for a block of n bytes at a multiple of align, a power of two up
// to spanUnit; -1 if none has such slots, of itself and of its host, that are not much
// larger than what the block takes in a chunk.
func alignedClass(n, align int) int {
	most := max((n+chunkUnit-1)&^(chunkUnit-1), n+n/4)
	for c := class(n); c < classes && int(slotSize[c]) <= most; c++ {
		if (slotSize[c]|slotSize[hostOf(c)])&uint32(align-1) == 0 {
			return c
		}
	}
	return -1
}

// mallocLarge places a block in a chunk.
func (h *Heap) mallocLarge(n, align int) ([]byte, error) {
	h.mu.Lock()
	b, err := h.placeBlock(n, align)
	if err != nil {
		err = h.fail(err)
	}
	return b, h.unlock(err)
}

// placeBlock takes n bytes from a chunk, growing if none has room. Under mu.
func (h *Heap) placeBlock(n, align int) ([]byte, error) {
	c, off, err := h.take(n, align)
	if err != nil {
		return nil, err
	}
	h.malloced += uint64(n)
	atomic.AddUint32(&h.placed, 1)
	if h.sampler != nil && n <= slotBytes {
		h.sampler.due.Add(-1)
	}
	return c.mem[off : off+n : off+n], nil
}

// fewBytes is the mapped size up to which one more chunk would be a large part of the
// heap: below it half spans fill the gaps between others, and blocks go to the first
// chunk that has room again instead of the last one used.
const fewBytes = 16 << 20

const (
	// maxGrown is the largest span that the heap grows for at once, in bytes: if there is
	// no room for a larger span, there often is for the block alone.
	maxGrown = 64 << 10
	// aloneWait is how many blocks are then placed one by one. After aloneTries times the
	// class has had so many blocks that its first span is worth it in any case.
	aloneWait, aloneTries = 8, 128
	// busyBytes is what the spans of a class have together before the next is twice as
	// large: then that is little more than the class has anyway, and half as many are
	// placed and looked up.
	busyBytes = 1 << 20
)

// placeSpan takes a span of the class. It takes a half span while the class
// has few bytes, and also if a heap below fewBytes has no room for a whole
// one; and one twice as large, if there is room, while the class has many. Under mu.
func (h *Heap) placeSpan(class int) *span {
	bytes, half := spanBytes[class], halfBytes[class]
	switch {
	case h.spanned[class] < bytes:
		bytes = half
	case h.spanned[class] >= busyBytes:
		bytes = doubleBytes[class]
	}
	c, off := h.takeMapped(bytes, spanUnit)
	if c == nil && bytes > spanBytes[class] {
		bytes = spanBytes[class]
		c, off = h.takeMapped(bytes, spanUnit)
	}
	if c == nil && bytes > half && h.mapped < fewBytes {
		if c, off = h.takeMapped(half, spanUnit); c != nil {
			bytes = half
		}
	}
	if c == nil && bytes > maxGrown {
		if h.spanned[class] == 0 {
			h.tries[class]++
		}
		if h.tries[class] <= aloneTries {
			h.wait[class] = aloneWait
			return nil
		}
		h.tries[class] = 0
	}
	if c == nil {
		if c, off, _ = h.take(bytes, spanUnit); c == nil {
			return nil
		}
	}
	sp := takeSpare(h.spares(class, bytes))
	if sp == nil {
		sp = newSpan(class, bytes)
	}
	h.enterSpan(sp, c, off)
	return sp
}

// spares is the list of the spans of a class and of this many bytes that are
// not placed anywhere. Under mu.
func (h *Heap) spares(class, bytes int) **span {
	switch {
	case class == stripClass:
		class += bits.TrailingZeros(uint(maxSpan / bytes))
	case bytes < spanBytes[class]:
		class += classes + stripSizes
	case bytes > spanBytes[class]:
		class += 2*classes + stripSizes
	}
	return &h.spare[class]
}

// takeSpare takes a span from the list; nil if that is empty.
func takeSpare(list **span) *span {
	sp := *list
	if sp != nil {
		*list, sp.next = sp.next, nil
	}
	return sp
}

// enterSpan makes the live block at off of c the span sp. Under mu.
func (h *Heap) enterSpan(sp *span, c *chunk, off int) {
	sp.place(c, off)
	shared := false
	for i := range sp.units() {
		at := uintptr(sp.base) + uintptr(i*spanUnit)
		m := h.spans.Load()
		if m.place(at) == nil {
			m = m.with(at)
			h.guess.fit(m)
			h.spans.Store(m)
			h.maps.spans = m
		}
		m.place(at).Store(sp)
		shared = h.guess.put(at, sp) || shared
	}
	if shared {
		h.guess.part(h.spans.Load(), h.mapped)
	}
	h.arm()
	c.nspans++
	h.nspans++
	c.spanned += sp.bytes()
	h.spanned[sp.class] += sp.bytes()
}

// removeSpan makes sure that nobody finds sp, which has no owner, any more. Under mu.
func (h *Heap) removeSpan(sp *span) {
	for i := range sp.units() {
		at := uintptr(sp.base) + uintptr(i*spanUnit)
		h.spans.Load().place(at).Store(nil)
		h.guess.remove(at, sp)
	}
	sp.chunk.nspans--
	h.nspans--
	sp.chunk.spanned -= sp.bytes()
	h.spanned[sp.class] -= sp.bytes()
}

// dropSpans gives back empty spans, linked through next. Under mu.
func (h *Heap) dropSpans(sp *span) {
	for sp != nil {
		next := sp.next
		h.removeSpan(sp)
		h.giveBack(sp.chunk, sp.off, sp.bytes())
		sp.chunk, sp.base = nil, nil
		list := h.spares(int(sp.class), sp.bytes())
		sp.next, *list = *list, sp
		sp = next
	}
}

// take finds room for n bytes at a multiple of align: first in mapped chunks,
// then in spans that the shards do not need, then by growing. Under mu, which it
// releases while it grows.
func (h *Heap) take(n, align int) (c *chunk, off int, err error) {
	if h.closed {
		return nil, 0, ErrClosed
	}
	if c, off = h.takeMapped(n, align); c != nil {
		return c, off, nil
	}
	if h.reclaimWorthwhile(n) {
		h.reclaim()
		if c, off = h.takeMapped(n, align); c != nil {
			return c, off, nil
		}
	}
	return h.takeGrown(n, align)
}

// takeMapped is take without growing; a nil chunk means no room.
func (h *Heap) takeMapped(n, align int) (*chunk, int) {
	// The chunk of the last block most likely has room for the next, and its
	// entry in the tourney need not follow each of them.
	if c := h.last; c != nil {
		if off := h.takeFrom(c, n, align); off >= 0 {
			return c, off
		}
		h.leaveLast()
	}
	// Room may not be aligned: then a few of the next chunks have a try.
	for i, tries := h.fits.first(n), 8; i >= 0 && tries > 0; i, tries = h.fits.after(i, n), tries-1 {
		if off := h.takeFrom(h.chunks[i], n, align); off >= 0 {
			return h.chunks[i], off
		}
	}
	// Where there is so much, the placement can always align, unless the chunk is not aligned.
	for i := h.fits.first(n + align); i >= 0 && align > 1; i = h.fits.after(i, n+align) {
		if off := h.takeFrom(h.chunks[i], n, align); off >= 0 {
			return h.chunks[i], off
		}
	}
	return nil, 0
}

// leaveLast has the next block search for a chunk: the first with room.
func (h *Heap) leaveLast() {
	h.fits.set(h.last.index, h.last.place.Fits())
	h.last = nil
}

// takeFrom places n bytes at a multiple of align in c; -1 if there is no room.
func (h *Heap) takeFrom(c *chunk, n, align int) (off int) {
	switch {
	case align <= 1:
		off = c.place.Allocate(n)
	case c.addr()&uintptr(align-1) != 0:
		return -1
	default:
		off = c.place.AllocateAligned(n, align)
	}
	if off >= 0 {
		h.lent = nil
		c.served, c.released = h.period, max(c.released-n, 0)
		if n < ownChunk {
			h.last = c
		} else if c != h.last {
			h.fits.set(c.index, c.place.Fits())
		}
		if c.idle {
			h.notEmpty(c)
		}
	}
	return off
}

// giveBack frees [off, off+n) of c, which the caller took as a whole. Under mu.
func (h *Heap) giveBack(c *chunk, off, n int) {
	c.mustFree(off, n)
	h.gaveBack(c)
}

// mustFree frees [off, off+n), all of it live. Under mu; gaveBack has to follow.
func (c *chunk) mustFree(off, n int) {
	if err := c.place.Free(off, n); err != nil {
		panic(fmt.Sprintf("gomem: internal error: freeing %d bytes at %d: %v", n, off, err))
	}
}

// gaveBack takes note that bytes of c were freed. Under mu.
func (h *Heap) gaveBack(c *chunk) {
	if c != h.last {
		fits := c.place.Fits()
		h.fits.set(c.index, fits)
		if h.last != nil && c.index < h.last.index && fits >= spanUnit && h.mapped < fewBytes {
			h.leaveLast() // so that it drains
		}
	}
	if c.empty() {
		h.nowEmpty(c)
		c.used = h.period
		h.arm()
	} else if !h.ticking.Load() && h.cools(c) {
		h.arm()
	}
}

// freeBlock frees b, which is not empty, in a chunk that it lies in, not in a span.
func (h *Heap) freeBlock(b []byte) error {
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	h.mu.Lock()
	e := h.table.find(addr)
	if e == nil && h.sampler != nil {
		return h.sampleFree(b, addr)
	}
	if e == nil {
		return h.unlock(h.misuse(h.notOwned(), b))
	}
	if e.c.nspans > 0 && h.spanAt(addr) != nil {
		// There was none when the caller looked. Only free bytes become a span, so b was
		// no live block.
		return h.unlock(h.misuse(ErrDoubleFree, b))
	}
	off := int(addr - e.base)
	if h.maps.release.has(e.c, off, len(b)) {
		return h.unlock(h.misuse(ErrDoubleFree, b))
	}
	if err := e.c.place.Free(off, len(b)); err != nil {
		return h.unlock(h.misuse(err, b))
	}
	h.freed += uint64(len(b))
	h.gaveBack(e.c)
	return h.unlock(nil)
}
