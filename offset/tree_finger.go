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
//   - a request for min offsets or more that fits is to be served from here
//
// All of this holds because every call that changes another block settles the
// finger first.
type finger struct {
	start, end int
	low, high  int
	min        int
	node       uint32 // 0: no finger, and nothing below applies
}

// noFinger answers nothing: no request is as large as min, and no range of
// positive size lies between its bounds.
var noFinger = finger{start: -1, end: -1, low: -1, high: -1, min: math.MaxInt}

// serves reports whether a request of size offsets is to be served from here.
func (f *finger) serves(size int) bool {
	return size >= f.min && size <= f.end-f.start
}

// give adds [start, start+size) to the block if it adjoins it.
func (f *finger) give(start, size int) bool {
	if start+size == f.start && start >= f.low && size > 0 {
		f.start = start
		return true
	}
	if start == f.end && size <= f.high-start && size > 0 {
		f.end += size
		return true
	}
	return false
}

// clear reports whether another free block, [start, end), is where the finger
// may not reach.
func (f *finger) clear(start, end int) bool { return end < f.low || f.high < start }

// verify checks what a finger says of itself: where it is, in a range of size
// offsets, and that its node is one of those in the tree.
func (f *finger) verify(size int, inTree []bool) error {
	switch {
	case f.node == 0 && *f == noFinger:
		return nil
	case f.node == 0 || uint(f.node) >= uint(len(inTree)) || !inTree[f.node]:
		return fmt.Errorf("finger %+v has no node", *f)
	case f.low < 0 || f.start < f.low || f.end < f.start || f.high < f.end || size < f.high || f.min <= 0:
		return fmt.Errorf("finger %+v is out of order", *f)
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
		return &RangeError{Range: Block{start, start}, Err: ErrInvalidSize}
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
