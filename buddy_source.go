package gomem

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/offset"
)

// chunkPool is a [backing.Source] that cuts its mappings by buddies from
// segments of another source.
//
//	segment  |####|##  |........|################|   ...   two or more
//	used     ----------------------------------->          never used since mapped
//
// Invariants, all under mu, which it releases while the inner source maps or unmaps:
//
//   - a mapping in live lies in a block that its segment's placement holds, or is
//     one of the inner source by itself (no segment)
//   - at most one segment holds no mapping, and none if the pool keeps none, but for those
//     that the inner source did not take back; one that it is asked to take is not among
//     the segments meanwhile
//   - the bytes of a segment behind used are as the inner source mapped them: zero
//
// The accounting equation of each segment: free bytes + the blocks of its
// mappings == segmentSize.
type chunkPool struct {
	inner backing.Source
	unit  int  // bytes: the least block, a page
	keeps bool // an empty segment, for the next load

	// Who has a segment mapped holds growing, so that others that find no room meanwhile do
	// not map one each. Nobody waits for it while holding mu.
	growing sync.Mutex

	mu       sync.Mutex
	segments []*poolSegment
	live     map[*byte]pooledChunk
}

// poolSegment is a mapping of the inner source and what is placed in it.
type poolSegment struct {
	mem   []byte
	place *offset.Buddy
	used  int
	live  int // mappings in it
}

// pooledChunk is where a live mapping of n bytes came from.
type pooledChunk struct {
	seg *poolSegment // nil: from the inner source by itself
	at  int          // in the segment
	n   int
}

// segmentSize is the bytes of a segment: two of the largest blocks.
const segmentSize = 2 * MaxBlockSize

// The pools of the process, for the sources that are values.
var (
	heapPool = NewChunkPool(backing.Heap())
	mmapPool = NewChunkPool(backing.Mmap())
)

// poolOver is the pool for WithPooledChunks. One that belongs to a single allocator
// keeps no segment, because nobody could ever give that back.
func poolOver(src backing.Source) backing.Source {
	switch src {
	case backing.Heap():
		return heapPool
	case backing.Mmap():
		return mmapPool
	}
	return newChunkPool(src, false)
}

// NewChunkPool returns a source that takes segments of 8 MiB from src and cuts
// mappings of up to MaxBlockSize out of them, in powers of two from a page up;
// larger mappings come directly from src. It keeps one empty segment for the
// next load, and gives every other one back to src as soon as nothing in it is
// mapped.
//
// Map clears memory that was in use before, which takes time proportional to
// its size. Unmap refuses anything that is not exactly a live mapping of the
// pool, with backing.ErrNotMapped. Any goroutine may call any method. Use the
// source with [WithBacking], for any number of allocators.
func NewChunkPool(src backing.Source) backing.Source { return newChunkPool(src, true) }

func newChunkPool(src backing.Source, keeps bool) *chunkPool {
	return &chunkPool{inner: src, unit: max(src.PageSize(), 4096), keeps: keeps, live: make(map[*byte]pooledChunk)}
}

// Name implements [backing.Source].
func (p *chunkPool) Name() string { return "buddy+" + p.inner.Name() }

// PageSize implements [backing.Source].
func (p *chunkPool) PageSize() int { return p.inner.PageSize() }

// Release implements [backing.Source].
func (p *chunkPool) Release(mem []byte) error { return p.inner.Release(mem) }

// ReleaseUnit is for [backing.ReleaseUnit].
func (p *chunkPool) ReleaseUnit() int { return backing.ReleaseUnit(p.inner) }

// Map implements [backing.Source]: O(log segmentSize) for each segment and
// O(size) to clear.
func (p *chunkPool) Map(size int) ([]byte, error) {
	if size <= 0 || size > MaxBlockSize || p.unit > MaxBlockSize {
		mem, err := backing.Map(p.inner, size)
		if err == nil {
			p.mu.Lock()
			p.live[&mem[0]] = pooledChunk{n: size}
			p.mu.Unlock()
		}
		return mem, err
	}
	mem, dirty, err := p.cut(size)
	clear(mem[:dirty])
	return mem, err
}

// cut places a mapping of size bytes and says how many of its first ones were
// in use before.
func (p *chunkPool) cut(size int) (mem []byte, dirty int, err error) {
	if mem, dirty = p.cutMapped(size); mem != nil {
		return mem, dirty, nil
	}
	p.growing.Lock()
	defer p.growing.Unlock()
	if mem, dirty = p.cutMapped(size); mem != nil {
		return mem, dirty, nil
	}
	whole, err := backing.Map(p.inner, segmentSize)
	if err != nil {
		return nil, 0, fmt.Errorf("pool: a segment for %d bytes: %w", size, err)
	}
	s := &poolSegment{mem: whole, place: offset.NewBuddy(segmentSize, p.unit)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.segments = append(p.segments, s)
	mem, dirty = p.cutFrom(s, size)
	return mem, dirty, nil
}

// cutMapped is cut without another segment; nil if none has room.
func (p *chunkPool) cutMapped(size int) (mem []byte, dirty int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.segments {
		if mem, dirty = p.cutFrom(s, size); mem != nil {
			return mem, dirty
		}
	}
	return nil, 0
}

// cutFrom is cut from one segment; nil if it has no room. Under mu.
func (p *chunkPool) cutFrom(s *poolSegment, size int) (mem []byte, dirty int) {
	at := s.place.Allocate(size)
	if at < 0 {
		return nil, 0
	}
	mem = s.mem[at : at+size : at+size]
	dirty = min(max(s.used-at, 0), size)
	s.used = max(s.used, at+size)
	s.live++
	p.live[&mem[0]] = pooledChunk{s, at, size}
	return mem, dirty
}

// Unmap implements [backing.Source].
func (p *chunkPool) Unmap(mem []byte) error {
	c, whole, err := p.take(mem)
	if err != nil {
		return err
	}
	if whole != nil {
		return p.unmapInner(whole, &mem[0], c)
	}
	gone := false
	defer func() {
		if !gone { // the source panics
			p.mu.Lock()
			p.live[&mem[0]] = c
			p.mu.Unlock()
		}
	}()
	// Its pages may go while it waits for its next use, which clears it anyway.
	_ = p.inner.Release(mem)
	backing.Unpoison(mem)
	err = p.putBack(c)
	gone = err == nil
	return err
}

// unmapInner gives what take removed, with the mapping c at first, back to the inner
// source. All is as before if the source fails or panics.
func (p *chunkPool) unmapInner(whole []byte, first *byte, c pooledChunk) (err error) {
	gone := false
	defer func() {
		if !gone {
			p.mu.Lock()
			p.live[first] = c
			if c.seg != nil {
				p.segments = append(p.segments, c.seg)
			}
			p.mu.Unlock()
		}
	}()
	err = p.inner.Unmap(whole)
	gone = err == nil
	return err
}

// take removes mem from the live mappings. Nobody can be given it before it is
// put back. If a mapping of the inner source is to go with it, whole is that, and no
// longer a segment of the pool.
func (p *chunkPool) take(mem []byte) (c pooledChunk, whole []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ok := false
	if len(mem) > 0 {
		c, ok = p.live[&mem[0]]
	}
	if !ok || c.n != len(mem) {
		return c, nil, fmt.Errorf("pool: unmap %d bytes: %w", len(mem), backing.ErrNotMapped)
	}
	delete(p.live, &mem[0])
	switch {
	case c.seg == nil:
		whole = mem
	case c.seg.live == 1 && !p.keeps:
		whole = c.seg.mem
		p.drop(c.seg)
	}
	return c, whole, nil
}

// drop removes s from the segments.
func (p *chunkPool) drop(s *poolSegment) {
	p.segments = slices.DeleteFunc(p.segments, func(o *poolSegment) bool { return o == s })
}

// putBack frees the block of c, which take removed. If that leaves its segment empty, all
// others that are go back to the inner source before, and the segment itself unless the
// pool keeps one. One that is not taken stays for the next load, or goes with the next one;
// what was to be unmapped is. That of c goes last: if the source panics, all of c is there.
func (p *chunkPool) putBack(c pooledChunk) error {
	var stays []*poolSegment
	defer func() {
		p.mu.Lock()
		p.segments = append(p.segments, stays...)
		p.mu.Unlock()
	}()
	for {
		s, err := p.freeOrDrop(c, slices.Contains(stays, c.seg))
		if s == nil {
			return err
		}
		stays = append(stays, s)
		if p.inner.Unmap(s.mem) == nil {
			stays = stays[:len(stays)-1]
			if s == c.seg {
				return nil
			}
		}
	}
}

// freeOrDrop frees the block of c, unless a segment has to go before, which it removes and
// returns: an empty one or, if there is none and its own was not tried, that of c.
func (p *chunkPool) freeOrDrop(c pooledChunk, tried bool) (s *poolSegment, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.seg.live == 1 {
		if i := slices.IndexFunc(p.segments, (*poolSegment).empty); i >= 0 {
			s = p.segments[i]
		} else if !p.keeps && !tried {
			s = c.seg
		}
		if s != nil {
			p.drop(s)
			return s, nil
		}
	}
	if err := c.seg.place.Free(c.at, c.n); err != nil {
		return nil, fmt.Errorf("pool: internal error: %w", err)
	}
	c.seg.live--
	return nil, nil
}

func (s *poolSegment) empty() bool { return s.live == 0 }
