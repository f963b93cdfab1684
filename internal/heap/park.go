package heap

import (
	"math/bits"

	"github.com/gomem-go/gomem/offset"
)

// A parked block is free to the user and still taken in its chunk, kept for
// the next request of the same size. Reading into a fresh buffer of the same
// size again and again costs no cut and no merge then. There is one place for
// each power of two above maxSmall, so a free knows where its double would be.
type parking [4]parkedBlock

type parkedBlock struct {
	c   *chunk // nil: nothing parked
	off int
	n   int // requested bytes; the next request must be for as many
}

const maxParked = 64 << 10 // bytes

// of returns the place for blocks of n bytes, nil if there is none.
func (p *parking) of(n int) *parkedBlock {
	if n <= maxSmall || n > maxParked {
		return nil
	}
	return &p[bits.Len(uint(n-1)/maxSmall)-1]
}

// unpark returns a parked block of n bytes, or nil. Under mu.
func (h *Heap) unpark(n int) []byte {
	p := h.parked.of(n)
	if p == nil || p.n != n || p.c == nil {
		return nil
	}
	b := p.c.mem[p.off : p.off+n : p.off+n]
	p.c = nil
	h.malloced += uint64(n)
	return b
}

// park takes in the n bytes at off of c if they are a whole live block that
// can be parked, and frees what was there before. It reports a block that is
// parked already, and false for everything else. Under mu.
func (h *Heap) park(c *chunk, off, n int) (done bool, err error) {
	p := h.parked.of(n)
	if p == nil || c.tlsf == nil {
		return false, nil
	}
	// What is left of a block whose head was freed starts anywhere; the next
	// request wants alignment.
	if size, ok := c.tlsf.BlockSize(off); !ok || size != n || off&(c.tlsf.Granule()-1) != 0 {
		return false, nil
	}
	was := *p
	if was.c == c && was.off == off {
		free := offset.Block{Start: off, End: off + n}
		return true, &offset.RangeError{Range: free, Conflict: free, Err: ErrDoubleFree}
	}
	*p = parkedBlock{c, off, n}
	h.freed += uint64(n)
	h.arm()
	if was.c != nil {
		h.giveBack(was.c, was.off, was.n)
	}
	return true, nil
}

// unparkAll frees every parked block in its chunk: before anything that looks
// at what is free there. Under mu.
func (h *Heap) unparkAll() {
	for i := range h.parked {
		if p := &h.parked[i]; p.c != nil {
			h.giveBack(p.c, p.off, p.n)
			p.c = nil
		}
	}
}
