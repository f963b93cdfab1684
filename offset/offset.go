// Package offset decides where in a range of integers a block goes.
//
// A placement manages the offsets [0, Size). It knows nothing about memory: it
// never touches a byte, takes no lock, does not use package unsafe, and does
// not allocate per operation once its tables have grown to the load. Its
// callers (packages gomem and tlsf) add bytes, growth and sharing.
//
// Five placements share the contract of [Allocator]:
//
//	SingleTree  a treap by offset, augmented with the largest free block below
//	            each node: byte-exact, O(log n) expected
//	TwoTree     two AVL trees, by size and by offset: byte-exact best fit,
//	            O(log n) worst case
//	TLSF        two-level segregated fit: O(1), blocks start on granules
//	Few         first fit over an array of the blocks, a TLSF once there are 31
//	Buddy       powers of two: O(log size), internal fragmentation up to half
//
// None of them is safe for use by several goroutines at once.
package offset

import (
	"errors"
	"fmt"
	"iter"
	"math"
)

// The errors a placement reports. Compare with errors.Is: Free returns a
// [*RangeError] that wraps one of them and names the range.
var (
	// ErrDoubleFree: some offset of the range is free already.
	ErrDoubleFree = errors.New("double free")
	// ErrNotOwned: the range is not (part of) a block of this allocator.
	ErrNotOwned = errors.New("not owned")
	// ErrInvalidSize: the size or the alignment is one that no request may have.
	ErrInvalidSize = errors.New("invalid size")
)

// Block is the half-open range of offsets [Start, End).
type Block struct{ Start, End int }

// Size is the number of offsets in the block.
func (b Block) Size() int { return b.End - b.Start }

// String prints the block as a half-open range.
func (b Block) String() string { return fmt.Sprintf("[%d,%d)", b.Start, b.End) }

// RangeError is a refused Free: the range that was to be freed, the free block
// it overlaps if that is the reason, and which of the package's errors it is.
// The allocator's state is as it was before the call.
type RangeError struct {
	Range    Block
	Conflict Block // the zero Block when there is none to name
	Err      error
}

// Error names the range, unless it is the zero Block, and, for a double free, the
// free block it overlaps.
func (e *RangeError) Error() string {
	switch {
	case e.Conflict != (Block{}):
		return fmt.Sprintf("%v: %v overlaps free block %v", e.Err, e.Range, e.Conflict)
	case e.Range == (Block{}):
		return fmt.Sprint(e.Err)
	}
	return fmt.Sprintf("%v: %v", e.Err, e.Range)
}

// invalidSize refuses a size below 1. The range tells it, as far as an int can.
func invalidSize(start, size int) error {
	return &RangeError{Range: Block{start, max(start, math.MinInt-size) + size}, Err: ErrInvalidSize}
}

// Unwrap makes errors.Is find the package's error.
func (e *RangeError) Unwrap() error { return e.Err }

// Allocator is one placement over the offsets [0, Size()).
//
// Every offset is free or in use. The accounting equation, checked by Verify:
//
//	FreeBytes() + bytes in use == Size()
//
// "No room" is a value (-1), misuse is an error, and neither changes any state. The
// zero values of the placements in this package never have room.
type Allocator interface {
	// Size is the number of offsets managed; fixed for life.
	Size() int

	// Allocate takes size offsets and returns the first, or -1 if there is no
	// room or size is not positive.
	Allocate(size int) int

	// AllocateAligned is Allocate with the first offset a multiple of align, a
	// power of two. For any other align it returns -1.
	AllocateAligned(size, align int) int

	// Find returns what Allocate(size) would return and takes nothing.
	Find(size int) int

	// Free gives back [start, start+size): a whole block or any part of one,
	// in any order. It refuses, with a *RangeError and no change of state, a
	// range that touches a free offset (ErrDoubleFree), leaves [0, Size()) or
	// is known to cross the end of its block (ErrNotOwned), or has size <= 0
	// (ErrInvalidSize).
	Free(start, size int) error

	// FreeBytes is the number of free offsets. O(1).
	FreeBytes() int

	// Fits is the largest size that Allocate would serve now, 0 if none: for
	// every n > 0, Allocate(n) succeeds exactly when n <= Fits(). O(1) for
	// TLSF and Buddy, O(log n) or better for the trees.
	Fits() int

	// Reset makes all offsets free again and keeps the tables.
	Reset()

	// Blocks yields the free blocks by ascending offset, merged as far as they
	// touch. The allocator must not change meanwhile.
	Blocks() iter.Seq[Block]

	// Verify checks every invariant of the structure and returns nil if all hold.
	// O(n).
	Verify() error

	// String draws the layout: one line of summary, then the blocks in order.
	String() string
}
