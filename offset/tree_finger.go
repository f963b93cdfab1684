package offset

import (
	"fmt"
	"math"
)

// A finger is the free block that a tree touched last, held outside of it, so
// that to allocate from it and to give back next to it takes no search and
// changes no node: two compares and an addition each way.
//
//	       low      start          end      high
//	…free]  |  live  |     free     |  live  |  [free…
//
// The block's node stays in the tree as it was when the finger was put there;
// whoever needs the tree exact calls its settle first. The finger knows enough
// about the surroundings to tell when it is not the one to answer:
//
//   - nothing in [low, start) and [end, high) is free, and no free block ends at
//     low or begins at high
//   - a request for more than below offsets that fits is to be served from here
//   - rest and the block are what is free
//
// All of this holds because every call that changes another block settles the
// finger first.
type finger struct {
	start, end int
	low, high  int
	below      int    // not negative
	rest       int    // free offsets in the other blocks
	node       uint32 // 0: no finger, and nothing above applies
}

// noFinger answers nothing, nor does the zero finger: no request fits, and no
// range of positive size lies between the bounds. Its start is that of no block.
var noFinger = finger{start: -1, end: -1, low: -1, high: -1}

// serves reports whether a request of size offsets is to be served from here.
func (f *finger) serves(size int) bool {
	return size > f.below && size <= f.end-f.start
}

// total is the number of free offsets in all blocks. It does not start from the
// number before the call, so that a chain of calls does not wait for it.
func (f *finger) total() int { return f.rest + (f.end - f.start) }

// takesBelow reports whether [start, start+size) may be freed by moving the start
// of the block down to it.
func (f *finger) takesBelow(start, size int) bool {
	return start+size == f.start && start >= f.low && size > 0
}

// takesAbove reports whether [start, start+size) may be freed by moving the end of
// the block up to its end.
func (f *finger) takesAbove(start, size int) bool {
	return start == f.end && size <= f.high-start && size > 0
}

// clear reports whether another free block, [start, end), is where the finger
// may not reach.
func (f *finger) clear(start, end int) bool { return end < f.low || f.high < start }

// verify checks what a finger says of itself: where it is, in a range of size
// offsets of which so many are free, and that its node is one of those in the
// tree.
func (f *finger) verify(size, free int, inTree []bool) error {
	switch {
	case *f == noFinger || *f == (finger{}):
		return nil
	case f.node == 0 || uint(f.node) >= uint(len(inTree)) || !inTree[f.node]:
		return fmt.Errorf("finger %+v has no node", *f)
	case f.low < 0 || f.start < f.low || f.end < f.start || f.high < f.end || size < f.high || f.below < 0:
		return fmt.Errorf("finger %+v is out of order", *f)
	case f.total() != free:
		return fmt.Errorf("finger %+v, but %d are free", *f, free)
	}
	return nil
}

// holds reports whether [start, end) has size offsets from a multiple of align.
func holds(start, end, size, align int) bool {
	return -start&(align-1) <= end-start-size
}

// outOfRange is the refusal of a range that is not in [0, Size()).
func outOfRange(start, size int) error {
	if size <= 0 {
		return invalidSize(start, size)
	}
	end := math.MaxInt
	if start <= math.MaxInt-size {
		end = start + size
	}
	return &RangeError{Range: Block{start, end}, Err: ErrNotOwned}
}

// doubleFree is the refusal of a range that touches a free block.
func doubleFree(start, end, freeStart, freeEnd int) error {
	return &RangeError{Block{start, end}, Block{freeStart, freeEnd}, ErrDoubleFree}
}
