package heap

import (
	"iter"
	"sync/atomic"
	"unsafe"

	"github.com/gomem-go/gomem/offset"
)

// Stats are the figures of a heap, in bytes unless stated otherwise. While the heap
// is in use they are read one after the other.
type Stats struct {
	Malloced    uint64 // requested since the start
	Freed       uint64 // given back since the start
	Live        int    // requested and not given back
	Backing     int    // mapped
	PeakBacking int    // most of Backing so far
	Chunks      int    // number of mappings
	EmptyChunks int    // of them, without a block
	Spans       int    // number of spans, runs of slots for small blocks
	Failed      uint64 // number of requests for which there was no memory: the limit was reached, the system had no more, or the allocator was closed
	Refused     uint64 // number of frees that were refused
	Raced       uint64 // number of frees that lost to another of the same block at the same moment and were not refused; Freed has their bytes twice. If the one that lost was of a part, Freed has its bytes twice, but Raced does not count it
	Sampled     uint64 // number of blocks that went to the sampled guard
	Unguarded   uint64 // number of times that there was no mapping for guard pages
	Damaged     uint64 // number of times that a guard found bytes written that nobody owned
}

// guardFigures are those of guards, which a heap has one kind of, if any.
type guardFigures struct {
	unguarded atomic.Uint64 // times that there was no mapping for guard pages
	damaged   atomic.Uint64 // damage that was found
}

// Stats returns the figures, all zero if h is nil. The last few operations of
// other goroutines may be missing. O(Ps).
func (h *Heap) Stats() (s Stats) {
	if h == nil {
		return s
	}
	s.Malloced, s.Freed, s.Raced = h.add(h.slowCounts())
	s.Live = int(int64(s.Malloced - s.Freed))
	h.lockFigures()
	s.Backing = figure(&h.mapped) + figure(&h.guards)
	s.PeakBacking = max(figure(&h.peak), s.Backing)
	s.Chunks, s.EmptyChunks, s.Spans = figure(&h.nchunks), figure(&h.nempty), figure(&h.nspans)
	s.Failed = uint64(uint(figure(&h.failed)))
	h.unlockFigures()
	s.Refused = h.refused.Load()
	switch {
	case h.debug != nil:
		s.Unguarded, s.Damaged = h.debug.unguarded.Load(), h.debug.damaged.Load()
	case h.sampler != nil:
		s.Sampled, s.Unguarded, s.Damaged = h.sampler.sampled.Load(), h.sampler.unguarded.Load(), h.sampler.damaged.Load()
	}
	return s
}

// figure reads a word that is stored plainly under mu, for others than its holder
// (runtime assumption 3).
func figure(p *int) int {
	// Safety: an int and a uintptr are one word each.
	return int(atomic.LoadUintptr((*uintptr)(unsafe.Pointer(p))))
}

// Totals are the bytes requested and given back so far. O(Ps).
func (h *Heap) Totals() (malloced, freed uint64) {
	malloced, freed, _ = h.add(h.slowCounts())
	return malloced, freed
}

// Chunk is a chunk's bytes and the free ranges among them.
type Chunk struct {
	Mem  []byte
	Free []offset.Block
}

// Chunks yields a snapshot of each chunk. Spans count as taken.
func (h *Heap) Chunks() iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		h.mu.Lock()
		h.awaitRelease()
		var all []Chunk
		for _, c := range h.chunks {
			if c == nil {
				continue
			}
			snap := Chunk{Mem: c.mem}
			for b := range c.place.Blocks() {
				snap.Free = append(snap.Free, b)
			}
			all = append(all, snap)
		}
		h.mu.Unlock()
		for _, c := range all {
			if !yield(c) {
				return
			}
		}
	}
}

// Owns says whether b begins in a chunk of the heap.
func (h *Heap) Owns(b []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(b) > 0 && h.table.find(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) != nil
}
