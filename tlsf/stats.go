package tlsf

import (
	"fmt"
	"iter"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/offset"
)

// Stats is the state of a pool at one moment, in bytes unless stated otherwise.
type Stats struct {
	Size    int // the whole pool; 0 once closed
	Used    int // asked for by the live blocks, to the byte
	Peak    int // the largest Used so far
	Free    int // Size - Used, with the slack of less than a granule per block
	Largest int // what Alloc would serve now
	Blocks  int // live blocks

	Allocs  uint64 // blocks handed out
	Frees   uint64 // blocks given back
	Failed  uint64 // requests that found no free block
	Misuses uint64 // frees that were refused
}

// Stats returns the current state of the pool. O(1), never allocates.
func (p *Pool) Stats() Stats {
	if p.shared {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	return Stats{
		Size:    len(p.mem),
		Used:    p.used(),
		Peak:    p.peak,
		Free:    p.place.FreeBytes(),
		Largest: p.place.Fits(),
		Blocks:  int(p.allocs - p.frees),
		Allocs:  p.allocs,
		Frees:   p.frees,
		Failed:  p.failed,
		Misuses: p.misuses,
	}
}

// Blocks yields every block by ascending offset, live ones with true, free
// ones with false, and the slack behind a block as a free block. The pool must not be
// used meanwhile; with [WithLock] it stays locked until the end. O(blocks).
func (p *Pool) Blocks() iter.Seq2[Block, bool] {
	return func(yield func(Block, bool) bool) {
		if p.shared {
			p.mu.Lock()
			defer p.mu.Unlock()
		}
		p.place.All()(yield)
	}
}

// Verify checks every invariant of the pool and of its placement, and returns
// nil if all hold. O(blocks).
func (p *Pool) Verify() error {
	if p.shared {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	return p.verify()
}

func (p *Pool) verify() error {
	if p.closed() && p.mem == nil && p.place.Size() == 0 {
		return nil
	}
	if err := p.place.Verify(); err != nil {
		return err
	}
	if p.place.Size() != len(p.mem) || p.closed() != (p.mem == nil) {
		return fmt.Errorf("tlsf: placement of %d bytes over a mapping of %d, closed %v", p.place.Size(), len(p.mem), p.closed())
	}
	blocks, used := 0, 0
	for b, live := range p.place.All() {
		if live {
			blocks++
			used += b.Size()
		}
	}
	if uint64(blocks) != p.allocs-p.frees {
		return fmt.Errorf("tlsf: %d blocks live, %d handed out, %d given back", blocks, p.allocs, p.frees)
	}
	if used != p.used() || used > p.peak {
		return fmt.Errorf("tlsf: %d bytes in blocks, %d in use, at most %d so far", used, p.used(), p.peak)
	}
	return nil
}

// String draws the pool: a line of summary, then every block by offset.
func (p *Pool) String() string {
	if p.shared {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	if p.closed() {
		return "tlsf closed"
	}
	return p.place.String()
}

// Reset frees all blocks at once and keeps the memory: no slice that Alloc
// returned before may be used any more. It returns ErrClosed if the pool is
// closed. O(blocks).
func (p *Pool) Reset() error {
	if p.shared {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	if p.closed() {
		return ErrClosed
	}
	p.place.Reset()
	p.frees = p.allocs
	backing.Poison(p.mem)
	return nil
}

// Close gives the memory back, live blocks included. No slice that Alloc
// returned may be used any more, and every method that would hand out or take
// memory returns ErrClosed, as does a second Close. If the system refuses to
// take the memory back, Close returns its error and the pool is unchanged.
func (p *Pool) Close() error {
	if p.shared {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	if p.closed() {
		return ErrClosed
	}
	backing.Unpoison(p.mem) // it is the source's again
	if err := p.src.Unmap(p.mem); err != nil {
		return fmt.Errorf("tlsf: close: %w", err)
	}
	p.place, p.mem, p.base, p.src = *offset.NewTLSF(0, granule), nil, 0, nil
	p.frees = p.allocs
	return nil
}
