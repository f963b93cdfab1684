package heap

import (
	"fmt"
	"iter"
	"math/bits"
	"sync/atomic"
)

// A slot of up to maxSmall bytes and a block of a strip may be freed in parts, in
// any order and by different goroutines at once: the frames of a read. What is
// freed is free for nobody else until the last byte is, or the strip melts.
//
//	live or cut  ---->  busy  ---->  in parts  ---->  busy  ---->  ...  ---->  free or queued
//	            by CAS       by CAS           by CAS              the last part
//
// Who frees a part makes the record busy and looks at nothing else meanwhile. The
// bytes that are gone are known exactly. Busy lasts for a few instructions of one that
// is pinned, so whoever meets it looks again.

// parts says which bytes of a span's blocks are gone while others are in use.
type parts struct {
	gone   []uint64 // a bit for each byte, in stride words for each slot or granule
	left   []uint16 // bytes in use of the block that begins there, if it is in parts
	stride uint32
	holes  uint32 // bytes that are gone of blocks that are in parts
}

// wantParts prepares for frees of parts in sp.
func (h *Heap) wantParts(sp *span) {
	stride := (sp.size + 63) / 64
	p := &parts{
		gone:   make([]uint64, uint32(len(sp.recs))*stride),
		left:   make([]uint16, len(sp.recs)),
		stride: stride,
	}
	h.mu.Lock()
	if sp.parts.Load() == nil {
		sp.parts.Store(p)
	}
	h.mu.Unlock()
}

// freePart frees n bytes, within bytes into block i, of which the record is r. If
// nothing is left it returns freedOwn, and the record stays busy until the caller
// frees the block.
func (sp *span) freePart(i, r, within, n uint32) freeEnd {
	p, size := sp.parts.Load(), r&^stateMask
	if p == nil {
		return freeParts
	}
	if !atomic.CompareAndSwapUint32(&sp.recs[i], r, stateBusy|size) {
		return freeAgain
	}
	gone := p.gone[i*p.stride:]
	if r&stateMask != stateParts {
		p.left[i] = uint16(size)
		for w := range (size + 63) / 64 {
			gone[w] = 0
		}
	}
	end := freedPart
	switch {
	case !mark(gone, within, within+n):
		end = freeRefused
	case uint32(p.left[i]) == n:
		atomic.AddUint32(&p.holes, n-size)
		return freedOwn
	default:
		p.left[i] -= uint16(n)
		atomic.AddUint32(&p.holes, n)
	}
	if !atomic.CompareAndSwapUint32(&sp.recs[i], stateBusy|size, stateParts|size) {
		// The owner freed the whole block at this moment.
		atomic.AddUint32(&p.holes, uint32(p.left[i])-size)
		return freeRefused
	}
	return end
}

// mark sets the bits of [from, to) if none of them is set.
func mark(words []uint64, from, to uint32) bool {
	first, last := from/64, (to-1)/64
	head, tail := ^uint64(0)<<(from%64), ^uint64(0)>>(-to%64)
	if first == last {
		free := words[first]&head&tail == 0
		if free {
			words[first] |= head & tail
		}
		return free
	}
	set := words[first]&head | words[last]&tail
	for w := first + 1; w < last; w++ {
		set |= words[w]
	}
	if set != 0 {
		return false
	}
	words[first] |= head
	for w := first + 1; w < last; w++ {
		words[w] = ^uint64(0)
	}
	words[last] |= tail
	return true
}

// runs yields where bytes of block i, of size bytes, are gone.
func (p *parts) runs(i uint32, size int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		words := p.gone[i*p.stride:]
		for from := nextBit(words, 0, size, 0); from < size; {
			to := nextBit(words, from, size, ^uint64(0))
			if !yield(from, to) {
				return
			}
			from = nextBit(words, to, size, 0)
		}
	}
}

// nextBit returns where the first bit from at on is set, or clear if flip has all
// bits; size if none is before that.
func nextBit(words []uint64, at, size int, flip uint64) int {
	for at < size {
		if w := (words[at/64] ^ flip) >> (at % 64); w != 0 {
			return min(at+bits.TrailingZeros64(w), size)
		}
		at = at&^63 + 64
	}
	return size
}

// verifyParts checks what is known of block i if that is in parts.
func (sp *span) verifyParts(i uint32) error {
	r := sp.recs[i]
	switch r & stateMask {
	case stateBusy:
		return fmt.Errorf("block %d is busy", i)
	case stateParts:
		size, left := int(r&^stateMask), int(sp.parts.Load().left[i])
		for from, to := range sp.parts.Load().runs(i, size) {
			size -= to - from
		}
		if size != left || left == 0 {
			return fmt.Errorf("block %d has %d bytes left, counted %d", i, size, left)
		}
	}
	return nil
}
