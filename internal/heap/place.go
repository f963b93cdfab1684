package heap

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/gomem-go/gomem/offset"
)

const (
	chunkUnit = 64        // bytes: chunks are a multiple, so that granules fill them
	minChunk  = 512 << 10 // unless there is less in all
	maxChunk  = 4 << 20   // a larger block gets a chunk of its own size
)

// MallocAligned is Malloc with the address a multiple of align, a power of two
// up to the page size.
func (h *Heap) MallocAligned(n, align int) ([]byte, error) {
	if align <= 0 || align&(align-1) != 0 || align > pageSize {
		return nil, fmt.Errorf("%w: alignment %d", offset.ErrInvalidSize, align)
	}
	if align <= slotAlign && h.cfg.Spans {
		return h.TryMalloc(n)
	}
	return h.mallocLarge(n, align)
}

// mallocLarge places a block in a chunk.
func (h *Heap) mallocLarge(n, align int) ([]byte, error) {
	h.mu.Lock()
	b, err := h.placeBlock(n, align)
	return b, h.unlock(err)
}

// placeBlock takes n bytes from a chunk, growing if none has room. Under mu.
func (h *Heap) placeBlock(n, align int) ([]byte, error) {
	c, off, err := h.take(n, align)
	if err != nil {
		return nil, err
	}
	h.malloced += uint64(n)
	return c.mem[off : off+n : off+n], nil
}

// placeSpan takes a span of class c. Under mu.
func (h *Heap) placeSpan(class int) (*span, error) {
	c, off, err := h.take(spanSize, spanSize)
	if err != nil {
		return nil, err
	}
	sp := h.spare[class]
	if sp != nil {
		h.spare[class], sp.next = sp.next, nil
	} else {
		sp = newSpan(class)
	}
	sp.place(c, off)
	c.spans[off>>spanShift].Store(sp)
	c.nspans++
	return sp, nil
}

// dropSpans gives back empty spans, linked through next. Under mu.
func (h *Heap) dropSpans(sp *span) {
	for sp != nil {
		next := sp.next
		c := sp.chunk
		c.spans[sp.off>>spanShift].Store(nil)
		c.nspans--
		sp.owner.Store(nil)
		h.giveBack(c, sp.off, spanSize)
		sp.chunk, sp.base = nil, nil
		sp.next, h.spare[sp.class] = h.spare[sp.class], sp
		sp = next
	}
}

// take finds room for n bytes at a multiple of align, first in what is mapped,
// then in what the shards hold without need, then by growing. Under mu.
func (h *Heap) take(n, align int) (c *chunk, off int, err error) {
	if h.closed {
		return nil, 0, ErrClosed
	}
	if c, off = h.takeMapped(n, align); c != nil {
		return c, off, nil
	}
	if h.reclaimWorthwhile() {
		h.reclaim()
		if c, off = h.takeMapped(n, align); c != nil {
			return c, off, nil
		}
	}
	if err = h.grow(n); err != nil {
		// Whatever the shards hold may be what is missing.
		h.reclaim()
		if c, off = h.takeMapped(n, align); c != nil {
			return c, off, nil
		}
		h.dropEmpty(0)
		if err = h.grow(n); err != nil {
			return nil, 0, err
		}
	}
	if c, off = h.takeMapped(n, align); c == nil {
		return nil, 0, fmt.Errorf("%w: a chunk of %d bytes does not fit %d bytes aligned to %d",
			ErrOutOfMemory, h.mapped, n, align)
	}
	return c, off, nil
}

// takeMapped is take without growing; a nil chunk means no room.
func (h *Heap) takeMapped(n, align int) (*chunk, int) {
	need := n
	if align > 1 {
		// A hint only: with so much room the placement can always align.
		need = n + align
	}
	i := h.fits.first(need)
	if i < 0 && need != n {
		i = h.fits.first(n)
	}
	if i < 0 {
		return nil, 0
	}
	c := h.chunks[i]
	off := -1
	if align > 1 {
		off = c.place.AllocateAligned(n, align)
	} else {
		off = c.place.Allocate(n)
	}
	if off < 0 {
		return nil, 0
	}
	h.fits.set(i, c.place.Fits())
	if c.idle {
		c.idle = false
		h.nempty--
		h.low = min(h.low, h.nempty)
	}
	return c, off
}

// giveBack returns [off, off+n) of c, which the caller took whole. Under mu.
func (h *Heap) giveBack(c *chunk, off, n int) {
	if err := c.place.Free(off, n); err != nil {
		panic(fmt.Sprintf("gomem: internal error: freeing %d bytes at %d: %v", n, off, err))
	}
	h.gaveBack(c)
}

func (h *Heap) gaveBack(c *chunk) {
	h.fits.set(c.index, c.place.Fits())
	if c.empty() {
		c.idle = true
		h.nempty++
		h.arm()
	}
}

// freeBlock frees b in a chunk that it lies in, not in a span.
func (h *Heap) freeBlock(b []byte) error {
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	h.mu.Lock()
	t := h.table.Load()
	e := t.find(addr)
	if e == nil || int(addr-e.base) > len(e.c.mem)-len(b) {
		return h.unlock(h.misuse(ErrNotOwned, b, nil))
	}
	off := int(addr - e.base)
	if err := e.c.place.Free(off, len(b)); err != nil {
		return h.unlock(h.misuse(nil, b, err))
	}
	h.freed += uint64(len(b))
	h.gaveBack(e.c)
	return h.unlock(nil)
}

// grow maps one more chunk with room for a block of n bytes. Under mu.
func (h *Heap) grow(n int) error {
	if n > math.MaxInt-math.MaxInt/16-pageSize {
		return fmt.Errorf("%w: %d bytes", ErrOutOfMemory, n)
	}
	least := (n + chunkUnit - 1) &^ (chunkUnit - 1)
	size := max(least, h.nextChunk())
	if limit := h.cfg.MaxBytes; limit > 0 && size > limit-h.mapped {
		if size = (limit - h.mapped) &^ (chunkUnit - 1); size < least {
			return fmt.Errorf("%w: %d bytes mapped, %d more needed, limit %d", ErrLimit, h.mapped, least, limit)
		}
	}
	mem, err := h.cfg.Source.Map(size)
	if err != nil && size > least && errors.Is(err, ErrOutOfMemory) {
		mem, err = h.cfg.Source.Map(least)
	}
	if err != nil {
		return fmt.Errorf("gomem: growing by %d bytes: %w", size, err)
	}
	h.addChunk(mem)
	return nil
}

// nextChunk is the size of the next chunk: the configured one first, then
// three times what there is until 512 KiB, then an eighth of what there is.
func (h *Heap) nextChunk() int {
	if h.mapped == 0 {
		return (max(h.cfg.Size, 1) + chunkUnit - 1) &^ (chunkUnit - 1)
	}
	if h.mapped < minChunk {
		return min(max(h.cfg.Size, 3*h.mapped, pageSize), minChunk)
	}
	return min(max(h.mapped/8&^(pageSize-1), minChunk), maxChunk)
}

func (h *Heap) addChunk(mem []byte) {
	c := &chunk{mem: mem, place: h.cfg.Placement(len(mem)), idle: true}
	if h.cfg.Spans {
		c.spans = make([]atomic.Pointer[span], len(mem)>>spanShift)
	}
	c.index = len(h.chunks)
	for i, at := range h.chunks {
		if at == nil {
			c.index = i
			break
		}
	}
	if c.index == len(h.chunks) {
		h.chunks = append(h.chunks, c)
	} else {
		h.chunks[c.index] = c
	}
	h.fits.set(c.index, c.place.Fits())
	h.mapped += len(mem)
	h.peak = max(h.peak, h.mapped)
	h.nempty++
	h.table.Store(newTable(h.chunks))
	h.watch(mem)
}
