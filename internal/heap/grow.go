package heap

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/gomem-go/gomem/backing"
)

const (
	chunkUnit = 64        // bytes: chunks are a multiple, so that granules fill them
	minChunk  = 512 << 10 // unless there is less in all
	maxChunk  = 4 << 20
	// smallBytes is the mapped size up to which a quarter of it is less than minChunk.
	smallBytes = 4 * minChunk
	ownChunk   = maxSpan + 1 // a block of this size gets a chunk of its own if none has room; a span never does
)

// takeGrown is take if there is no room: it makes room. Only one goroutine grows
// the heap at a time, so that others that find no room meanwhile do not all map a
// chunk. Under mu.
func (h *Heap) takeGrown(n, align int) (c *chunk, off int, err error) {
	if err := h.tooLarge(n, align); err != nil {
		return nil, 0, err
	}
	if r := h.releasing(); r != nil && r.fits >= n {
		h.awaitRelease()
		if c, off, err = h.takeAgain(n, align); c != nil || err != nil {
			return c, off, err
		}
	}
	if !h.growing.TryLock() {
		h.mu.Unlock()
		h.growing.Lock()
		h.mu.Lock()
		if c, off, err = h.takeAgain(n, align); c != nil || err != nil {
			h.growing.Unlock()
			return c, off, err
		}
	}
	defer h.growing.Unlock()
	if h.alone(n) && h.crowded(n) && h.dropFor(n) {
		_, _ = h.flush()
		if c, off, err = h.takeAgain(n, align); c != nil || err != nil {
			return c, off, err
		}
	}
	for ended := false; ; {
		if err = h.grow(n, align); err == nil {
			break
		}
		if c, off, again := h.regain(n, align); c != nil || again != nil {
			return c, off, again
		}
		h.dropEmpty(len(h.chunks), false)
		released := h.awaitRelease()
		went := h.awaitFlushes() || released
		if len(h.dead) > 0 {
			gone, _ := h.flush()
			went = went || gone > 0
		}
		if !went {
			if ended || !h.endBorrows() {
				return nil, 0, err
			}
			ended = true
			h.hope()
			continue
		}
		if c, off, again := h.takeAgain(n, align); c != nil || again != nil {
			return c, off, again
		}
	}
	if c, off = h.takeMapped(n, align); c == nil {
		return nil, 0, growError(n, fmt.Errorf("%w: no room in the new chunk for the alignment %d", ErrOutOfMemory, align))
	}
	return c, off, nil
}

// tooLarge is why no chunk can ever hold n bytes, however aligned; nil if one may. For such
// a request nothing is to be given back. Under mu.
func (h *Heap) tooLarge(n, align int) error {
	most := h.mostChunk()
	switch {
	case n > math.MaxInt-math.MaxInt/16-pageSize: // so that sums with it are numbers
		return growError(n, ErrOutOfMemory)
	case most > 0 && n > most:
		return growError(n, errChunk)
	case n > h.limit()&^(chunkUnit-1):
		return growError(h.least(n, align), h.full())
	}
	return nil
}

// errChunk is the reason where the placement is what sets the limit.
var errChunk = fmt.Errorf("%w: more than a chunk can have", ErrOutOfMemory)

// mostChunk is the most bytes that a chunk can have; 0: any number.
func (h *Heap) mostChunk() int { return h.cfg.MaxChunk &^ (chunkUnit - 1) }

// least is how many bytes a chunk for a block of n bytes at a multiple of align needs.
func (h *Heap) least(n, align int) int {
	least := (n + chunkUnit - 1) &^ (chunkUnit - 1)
	if align > 1<<h.pageShift {
		least += align // so that addChunk can align it
	}
	return least
}

// alone says whether a block of n bytes gets a chunk that has little room for others.
func (h *Heap) alone(n int) bool {
	return n >= ownChunk || h.mapped < smallBytes && n > h.nextChunk()/2
}

// takeAgain is takeMapped after mu was released: others may have freed memory, or
// grown or closed the heap.
func (h *Heap) takeAgain(n, align int) (c *chunk, off int, err error) {
	if h.closed {
		return nil, 0, ErrClosed
	}
	c, off = h.takeMapped(n, align)
	return c, off, nil
}

// grow maps one more chunk with room for a block of n bytes at a multiple of
// align. Under growing and mu; it releases mu while the source maps.
func (h *Heap) grow(n, align int) error {
	least := h.least(n, align)
	size := least
	if align <= 1<<h.pageShift && h.cfg.Spans && least >= spanUnit && !h.cfg.Buddies {
		size += spanUnit // so that addChunk can align it
	}
	switch {
	case n < ownChunk:
		size = max(size, h.nextChunk())
	case h.mapped/2-h.high > n && n < math.MaxInt/4:
		// Blocks of this size are cut short: each would leave a chunk of its own that
		// has no room for the next one.
		size += n
	}
	if most := h.mostChunk(); most > 0 && size > most {
		if size = most; size < least {
			return growError(n, errChunk)
		}
	}
	if room := h.room(); size > room {
		if size = room &^ (chunkUnit - 1); size < least {
			return growError(least, h.full())
		}
	}
	mem, err := h.mapFor(size)
	if err != nil && size > least && errors.Is(err, ErrOutOfMemory) {
		mem, err = h.mapFor(least)
	}
	switch {
	case err != nil:
		return growError(size, err)
	case h.closed:
		h.mu.Unlock()
		err = h.cfg.Source.Unmap(mem)
		h.mu.Lock()
		return errors.Join(ErrClosed, err)
	}
	h.addChunk(mem, n, align)
	return nil
}

// growError says by how much the heap was to grow.
func growError(bytes int, why error) error { return &growthError{bytes, why} }

// notePeak updates peak after a change of mapped or guards. Under mu.
func (h *Heap) notePeak() { h.peak = max(h.peak, h.mapped+h.guards) }

// room is how many more bytes may be mapped; without a bound, as many as an int can
// count, which on a 32-bit system are fewer than there are. Under mu.
func (h *Heap) room() int { return h.limit() - h.mapped - h.guards - h.leave - h.coming }

func (h *Heap) limit() int {
	if h.cfg.MaxBytes > 0 {
		return h.cfg.MaxBytes
	}
	return math.MaxInt
}

// full is why the heap may not grow, with what counts towards the limit. Under mu.
func (h *Heap) full() error {
	why := ErrLimit
	if h.cfg.MaxBytes <= 0 {
		why = ErrOutOfMemory
	}
	return &fullError{why, h.mapped, h.guards, h.leave, h.coming, h.limit()}
}

// mapFor makes the source map size bytes. It releases mu meanwhile, since the
// system may take any amount of time. The bytes count towards the limit from the
// start.
func (h *Heap) mapFor(size int) (mem []byte, err error) {
	returned := false
	h.coming = size
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.coming = 0
		if !returned { // the source panics
			h.mu.Unlock()
		}
	}()
	mem, err = backing.MapUnzeroed(h.cfg.Source, size)
	returned = true
	return mem, err
}

// nextChunk is the size of the next chunk: first the configured one, then as much again
// or a quarter of the mapped bytes, at most 512 KiB and in whole pages, until those are
// 2 MiB; then a sixteenth of them, at least 512 KiB, in whole spans. From 512 KiB on half a
// unit is added: the Go heap maps at multiples of that, and the first span is aligned.
// From buddies it is a power of two and no byte more, which would cost as much again; but
// the first one is as configured, and a limit may cut any.
func (h *Heap) nextChunk() int {
	if h.mapped == 0 {
		return (h.cfg.Size + chunkUnit - 1) &^ (chunkUnit - 1)
	}
	size := min(max(h.mapped/16&^(maxGrown-1), minChunk), maxChunk)
	if h.mapped < smallBytes {
		size = min(max(h.cfg.Size, h.mapped/4, pageSize), minChunk)
		size = (size + pageSize - 1) &^ (pageSize - 1)
	}
	switch {
	case h.cfg.Buddies:
		size = 1 << (bits.Len(uint(size)) - 1)
	case h.cfg.Spans && size >= minChunk:
		size += spanUnit / 2
	}
	return size
}

// freeIndex is where in chunks the next one goes: the first free place, but the
// last one if the chunk is mapped for a single large block. The first chunk
// with room serves, so small blocks stay out of those chunks until there is no
// other.
func (h *Heap) freeIndex(own bool) int {
	if h.nchunks == len(h.chunks) {
		return h.nchunks // not found by a walk: there may be many
	}
	if own {
		for i, c := range slices.Backward(h.chunks) {
			if c == nil {
				return i
			}
		}
	} else if i := slices.Index(h.chunks, nil); i >= 0 {
		return i
	}
	return len(h.chunks)
}

// addChunk makes mem, which was mapped for a block of n bytes at a multiple of align, a
// chunk. That begins at a place where spans can begin, if this leaves enough, or else where
// the block can: the pages of a source may be smaller. Under mu.
func (h *Heap) addChunk(mem []byte, n, align int) {
	c := &chunk{raw: mem, mem: mem}
	spare := len(mem) - (n+chunkUnit-1)&^(chunkUnit-1)
	if skip := int(-c.addr() & (spanUnit - 1)); h.cfg.Spans && len(mem) >= 2*spanUnit && skip <= spare {
		c.mem = mem[skip:]
	} else if skip := int(-c.addr() & uintptr(align-1)); skip <= spare {
		c.mem = mem[skip:]
	}
	place := h.cfg.Placement
	if n >= ownChunk && h.cfg.Few != nil {
		place = h.cfg.Few
	}
	c.place = place(len(c.mem))
	c.size = c.place.Size()
	c.split, _ = c.place.(splitter)
	c.index = h.freeIndex(n >= ownChunk)
	if c.index == len(h.chunks) {
		h.chunks = append(h.chunks, nil)
	}
	h.chunks[c.index] = c
	h.fits.set(c.index, c.place.Fits())
	h.mapped += len(mem)
	h.notePeak()
	h.nchunks++
	h.watch(c)
	h.nowEmpty(c)
	if h.table.room(c) {
		h.table.enter(c)
	} else {
		h.table = newTable(h.chunks)
	}
}
