package gomem

import (
	"fmt"
	"slices"

	"github.com/gomem-go/gomem/internal/check"
	"github.com/gomem-go/gomem/offset"
)

// Block is the half-open range of offsets [Start, End).
type Block = offset.Block

// Allocator places blocks in the offsets [0, Size), exact to the offset: no
// rounding, no alignment, and any part of a block can be freed. It hands out
// numbers; what they index is up to the caller.
//
//	0        300   500       900  1000
//	|########|     |#########|    |      GetBlocks: [300,500) [900,1000)
//
// The placement is offset.SingleTree, or offset.TwoTree when built with the tag
// twotree. They differ in which free block serves a request, and in speed. A
// program that needs a particular one uses package offset.
//
// The accounting equation: GetFreeSize() + offsets in use == Size.
//
// An Allocator is for one goroutine at a time. The zero value has no room until
// Init.
type Allocator struct {
	// Size is the number of offsets managed. Do not change it.
	Size int

	// The placement is one of them, the other has no room. They are values and
	// which it is a constant, so that calls are direct and can be inlined.
	one offset.SingleTree
	two offset.TwoTree
}

// place is the placement.
func (a *Allocator) place() offset.Allocator {
	if defaultTwoTree {
		return &a.two
	}
	return &a.one
}

// NewAllocator returns an allocator of [0, size), all free. If size is not
// positive it has no room: every Allocate returns -1.
func NewAllocator(size int) *Allocator {
	a := new(Allocator)
	a.Init(size)
	return a
}

// Init makes all of [0, size) free, whatever a was before. If size is not positive, a has
// no room. O(1); keeps the tables if size is the same as before.
func (a *Allocator) Init(size int) {
	size = max(size, 0)
	if a.place().Size() == size {
		a.place().Reset()
		a.Size = size
		return
	}
	*a = Allocator{Size: size}
	if defaultTwoTree {
		a.two = *offset.NewTwoTree(size)
	} else {
		a.one = *offset.NewSingleTree(size)
	}
}

// Recycle gives up all offsets and the tables. Until the next Init the
// allocator has no room, and Size is 0.
func (a *Allocator) Recycle() { *a = Allocator{} }

// Allocate takes size offsets and returns the first, or -1 if no free block is
// that large or size is not positive. O(log n) for n free blocks, never allocates.
func (a *Allocator) Allocate(size int) (offset int) {
	offset = a.place().Allocate(size)
	if check.Enabled {
		check.Must(a.Verify())
	}
	return offset
}

// Find returns what Allocate(size) would return and takes nothing. O(log n),
// O(1) when asked again; never allocates.
func (a *Allocator) Find(size int) (offset int) { return a.place().Find(size) }

// Free gives back [offset, offset+size): a block, a part of one, or several
// neighbours. If not all of these offsets are in use, nothing changes;
// [Allocator.TryFree] says why. O(log n); allocates only when there are more free
// blocks than ever before.
func (a *Allocator) Free(offset, size int) {
	_ = a.place().Free(offset, size) // TryFree would be too much for the inliner
	if check.Enabled {
		check.Must(a.Verify())
	}
}

// TryFree is [Allocator.Free] with the reason when nothing changes: the error wraps
// [ErrDoubleFree] if one of the offsets is free already, [ErrNotOwned] if they are
// not within [0, Size), or [ErrInvalidSize] if size is not positive. The cost is that of
// Free, and an allocation for the error.
func (a *Allocator) TryFree(offset, size int) error {
	err := a.place().Free(offset, size)
	if check.Enabled {
		check.Must(a.Verify())
	}
	return err
}

// GetFreeSize is the number of free offsets. O(1), never allocates.
func (a *Allocator) GetFreeSize() int { return a.place().FreeBytes() }

// GetBlocks returns the free blocks by offset: a snapshot that the caller owns.
// O(n), two allocations.
func (a *Allocator) GetBlocks() []*Block {
	n, free := 0, a.place().Blocks()
	for range free {
		n++
	}
	return blockPointers(slices.AppendSeq(make([]Block, 0, n), free))
}

func blockPointers(blocks []Block) []*Block {
	list := make([]*Block, len(blocks))
	for i := range blocks {
		list[i] = &blocks[i]
	}
	return list
}

// Verify checks every invariant of the tables; nil if all hold. O(n).
func (a *Allocator) Verify() error {
	if size := a.place().Size(); a.Size != size {
		return fmt.Errorf("the field Size was changed to %d, the allocator manages %d", a.Size, size)
	}
	return a.place().Verify()
}

// String draws the layout.
func (a *Allocator) String() string { return a.place().String() }
