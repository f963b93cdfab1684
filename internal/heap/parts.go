package heap

import (
	"fmt"
	"iter"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// A slot of up to maxSmall bytes and a block of a strip may be freed in parts, in
// any order and by different goroutines at once: the parts are the frames of a
// read. Freed parts cannot be used by others until the last byte is freed, or the
// strip melts.
//
//	live or cut  ---->  busy  ---->  in parts  ---->  busy  ---->  ...  ---->  free or queued
//	            by CAS       by CAS           by CAS              the last part
//
// A goroutine that frees a part makes the record busy and does nothing else meanwhile.
// The bytes that are gone are known exactly. Busy lasts for only a few instructions of
// a goroutine that is pinned or in a section, so others that meet it just look again.
//
// If the program frees a whole block at the moment at which another goroutine frees a
// part of it, the owner's plain store may override busy, while the other one still writes
// bits; and there may be another block in their place by then. So whoever opens a block,
// and whoever is not the owner, claims the bits of the span before: a block is opened after
// the last bit that was meant for another one.

// parts says which bytes of a span's blocks are gone while others are in use. A word
// has a bit for each of 64 bytes. Bytes behind the end of a block in its last word
// count as gone, too, so that the record need not hold the length:
//
//	bit 27  24                    16 15                                        0
//	       | words of the block less 1 | bytes in use                            |
type parts struct {
	gone   []uint64 // stride words for each slot or granule
	stride uint32
	writer uint32 // 1 while somebody who claimed them may write bits
}

const (
	wordsShift = 16
	leftMask   = 1<<wordsShift - 1
)

// lengthOf is the length of the live block whose record is r; if it is in parts,
// up to the end of its last word.
func lengthOf(r uint32) uint32 {
	if state := r & stateMask; state == stateParts || state == stateGoneParts {
		return (r&^stateMask>>wordsShift + 1) * 64
	}
	return r &^ stateMask
}

// wantParts prepares for frees of parts in sp.
func (h *Heap) wantParts(sp *span) {
	stride := (sp.size + 63) / 64
	p := &parts{gone: make([]uint64, uint32(len(sp.recs))*stride), stride: stride}
	h.mu.Lock()
	if sp.parts.Load() == nil {
		sp.parts.Store(p)
	}
	h.mu.Unlock()
}

// freePart frees n bytes, within bytes into block i, whose record is r, and counts
// them. If nothing is left of the block it returns freedOwn, and the record stays
// busy until the caller frees the block.
func (s *shard) freePart(sp *span, base unsafe.Pointer, i, r, within, n uint32, local bool) freeEnd {
	p := sp.parts.Load()
	switch {
	case p == nil:
		return freeParts
	case local && r&stateMask == stateParts:
		return s.freeBits(sp, p, base, i, r, within, n)
	case !p.claim():
		return freeAgain
	}
	end := s.freeBits(sp, p, base, i, r, within, n)
	atomic.StoreUint32(&p.writer, 0)
	return end
}

// claim waits for who writes bits, but not for long: the system may have stopped the
// thread. It says whether nobody does.
func (p *parts) claim() bool {
	for range claimTries {
		if atomic.LoadUint32(&p.writer) == 0 && atomic.CompareAndSwapUint32(&p.writer, 0, 1) {
			return true
		}
	}
	return false
}

const claimTries = 100

// freeBits is freePart, with p of sp claimed if it has to be.
func (s *shard) freeBits(sp *span, p *parts, base unsafe.Pointer, i, r, within, n uint32) freeEnd {
	busy := s.busy
	if !sp.mark(i, r, busy, base) {
		return freeAgain
	}
	if r&stateMask != stateParts {
		s.noteParts(r &^ stateMask)
		r = p.open(i, r&^stateMask)
	}
	end := freedPart
	switch from := p.bit(i, within); {
	case anySet(p.gone, from, from+n) != 0:
		end, n = freeRefused, 0
	case r&leftMask == n:
		return freedOwn
	default:
		setAll(p.gone, from, from+n)
	}
	if !atomic.CompareAndSwapUint32(&sp.recs[i], busy, r-n) {
		return freeRefused // the owner freed the whole block at this moment
	}
	s.freed += uint64(n)
	return end
}

// open prepares block i, of size bytes, for frees of parts, and returns its record.
func (p *parts) open(i, size uint32) uint32 {
	words := granules(size)
	gone := p.gone[i*p.stride:][:words]
	clear(gone)
	gone[words-1] = ^(^uint64(0) >> (-size % 64))
	return stateParts | (words-1)<<wordsShift | size
}

// bit is the number of the bit of a byte of block i.
func (p *parts) bit(i, within uint32) uint32 { return i*p.stride*64 + within }

// anySet returns 0 if none of the bits [from, to) is set.
func anySet(words []uint64, from, to uint32) uint64 {
	w, last := from/64, (to-1)/64
	head, tail := ^uint64(0)<<(from%64), ^uint64(0)>>(-to%64)
	if w == last {
		return words[w] & head & tail
	}
	all := words[w]&head | words[last]&tail
	for w++; w < last; w++ {
		all |= words[w]
	}
	return all
}

// setAll sets the bits [from, to).
func setAll(words []uint64, from, to uint32) {
	w, last := from/64, (to-1)/64
	head, tail := ^uint64(0)<<(from%64), ^uint64(0)>>(-to%64)
	if w == last {
		words[w] |= head & tail
		return
	}
	words[w] |= head
	words[last] |= tail
	for w++; w < last; w++ {
		words[w] = ^uint64(0)
	}
}

// runs yields the runs of bytes of block i, of size bytes, that are gone.
func (p *parts) runs(i uint32, size int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for from := p.next(i, 0, size, 0); from < size; {
			to := p.next(i, from, size, ^uint64(0))
			if !yield(from, to) {
				return
			}
			from = p.next(i, to, size, 0)
		}
	}
}

// next returns the place of the first byte of block i, from at on, that is gone
// (that is in use, if flip has all bits set), or size if there is none before
// that.
func (p *parts) next(i uint32, at, size int, flip uint64) int {
	words := p.gone[i*p.stride:]
	for at < size {
		if w := (words[at/64] ^ flip) >> (at % 64); w != 0 {
			return min(at+bits.TrailingZeros64(w), size)
		}
		at = at&^63 + 64
	}
	return size
}

// verifyParts checks the record and the bits of block i if it is in parts.
func (sp *span) verifyParts(i uint32) error {
	r := sp.recs[i]
	switch r & stateMask {
	case stateBusy:
		return fmt.Errorf("block %d is busy", i)
	case stateParts:
		size, left := int(lengthOf(r)), int(r&leftMask)
		for from, to := range sp.parts.Load().runs(i, size) {
			size -= to - from
		}
		if size != left || left == 0 {
			return fmt.Errorf("block %d has %d bytes left, counted %d", i, size, left)
		}
	}
	return nil
}
