package gomem

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomem-go/gomem/internal/check"
	"github.com/gomem-go/gomem/offset"
)

// Block is the half-open range of offsets [Start, End).
type Block = offset.Block

// Allocator places blocks in the offsets [0, Size), exactly to the offset: no
// rounding, no alignment, and any part of what was allocated can be freed. It
// hands out numbers; what they index is the caller's.
//
//	0        300   500       900  1000
//	|########|     |#########|    |      GetBlocks: [300,500) [900,1000)
//
// The placement is offset.SingleTree, or offset.TwoTree when built with the tag
// twotree: it differs in which free block serves a request, and in speed. A
// program that wants a certain one uses package offset.
//
// The accounting equation: GetFreeSize() + offsets in use == Size.
//
// An Allocator is for one goroutine at a time. The zero value has no room until
// Init.
type Allocator struct {
	// Size is the number of offsets managed; to be read only.
	Size  int
	place offset.Allocator // nil before Init and after Recycle
}

// newPlacement returns the placement of an Allocator over size offsets.
func newPlacement(size int, two bool) offset.Allocator {
	if two {
		return offset.NewTwoTree(size)
	}
	return offset.NewSingleTree(size)
}

// NewAllocator returns an allocator of [0, size), all free. If size is not
// positive it has no room: every Allocate is -1.
func NewAllocator(size int) *Allocator {
	a := new(Allocator)
	a.Init(size)
	return a
}

// Init makes a an allocator of [0, size), all free, whatever it was before. If
// size is not positive it has no room. O(1); keeps the tables if size is the
// same as before.
func (a *Allocator) Init(size int) {
	size = max(size, 0)
	if a.place != nil && a.Size == size {
		a.place.Reset()
		return
	}
	a.Size = size
	a.place = newPlacement(size, defaultTwoTree)
}

// Recycle gives up all offsets and the tables. Until the next Init the
// allocator has no room, and Size is 0.
func (a *Allocator) Recycle() { *a = Allocator{} }

// Allocate takes size offsets and returns the first, or -1 if no free block is
// that large or size is not positive. O(log n) for n free blocks; allocates only
// when there are more free blocks than ever before.
func (a *Allocator) Allocate(size int) (offset int) {
	if a.place == nil {
		return -1
	}
	offset = a.place.Allocate(size)
	if check.Enabled {
		check.Must(a.Verify())
	}
	return offset
}

// Find returns what Allocate(size) would return and takes nothing. O(log n),
// never allocates.
func (a *Allocator) Find(size int) (offset int) {
	if a.place == nil {
		return -1
	}
	return a.place.Find(size)
}

// Free gives back the size offsets from the given one: a block, a part of one,
// or neighbours that are all in use. Otherwise nothing changes and the error
// wraps [ErrDoubleFree] if one of them is free already, [ErrNotOwned] if they
// leave [0, Size), or [ErrInvalidSize] if size is not positive. O(log n).
func (a *Allocator) Free(start, size int) error {
	if a.place == nil {
		return &offset.RangeError{Range: Block{Start: start, End: saturatingAdd(start, size)}, Err: ErrNotOwned}
	}
	err := a.place.Free(start, size)
	if check.Enabled {
		check.Must(a.Verify())
	}
	return err
}

// saturatingAdd is a+b, or the last int where that overflows.
func saturatingAdd(a, b int) int {
	if b > 0 && a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// GetFreeSize is the number of free offsets. O(1), never allocates.
func (a *Allocator) GetFreeSize() int {
	if a.place == nil {
		return 0
	}
	return a.place.FreeBytes()
}

// GetBlocks returns the free blocks by offset: a snapshot that the caller owns.
// O(n), two allocations.
func (a *Allocator) GetBlocks() []*Block {
	if a.place == nil {
		return nil
	}
	return blockPointers(slices.Collect(a.place.Blocks()))
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
	if a.place == nil {
		return nil
	}
	if a.Size != a.place.Size() {
		return fmt.Errorf("the field Size was changed to %d, the allocator manages %d", a.Size, a.place.Size())
	}
	return a.place.Verify()
}

// String draws the layout.
func (a *Allocator) String() string {
	if a.place == nil {
		return "no room: not initialized, or recycled"
	}
	return a.place.String()
}
