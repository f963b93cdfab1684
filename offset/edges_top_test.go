package offset_test

import (
	"math"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// The last block of the largest range there is ends where no number is left for a
// block behind it.
func TestTreesUpToTheLargestInt(t *testing.T) {
	const size = math.MaxInt
	for _, build := range []func() offset.Allocator{
		func() offset.Allocator { return offset.NewSingleTree(size) },
		func() offset.Allocator { return offset.NewTwoTree(size) },
	} {
		for _, parts := range [][]offset.Block{
			{{Start: size - 100, End: size}},                                                         // behind live bytes
			{{Start: 0, End: 8}, {Start: size - 100, End: size}},                                     // and a block
			{{Start: size - 100, End: size - 50}, {Start: size - 50, End: size}},                     // next to the block used last
			{{Start: size - 100, End: size - 50}, {Start: 0, End: 8}, {Start: size - 50, End: size}}, // and to another
			{{Start: size - 100, End: size}, {Start: 0, End: size - 100}},                            // all of it
		} {
			a := build()
			a.Allocate(size)
			free := 0
			for _, b := range parts {
				if err := a.Free(b.Start, b.Size()); err != nil {
					t.Fatalf("%T: %v: %v", a, b, err)
				}
				free += b.Size()
				if err := a.Verify(); err != nil || a.FreeBytes() != free {
					t.Fatalf("%T: %d offsets are free behind %v of %v, want %d; %v", a, a.FreeBytes(), b, parts, free, err)
				}
			}
			listed := 0
			for b := range a.Blocks() {
				listed += b.Size()
			}
			if listed != free {
				t.Errorf("%T: the blocks hold %d offsets, want %d", a, listed, free)
			}
			for a.Fits() > 0 {
				free -= a.Fits()
				if a.Allocate(a.Fits()) < 0 {
					t.Fatalf("%T: no room for %d", a, a.Fits())
				}
			}
			if free != 0 || a.FreeBytes() != 0 {
				t.Errorf("%T: %d offsets are left, %d by its own count", a, free, a.FreeBytes())
			}
		}
	}
}

// A size and an alignment whose sum is no int any more fit nowhere, unless by chance.
func TestAlignedUpToTheLargestInt(t *testing.T) {
	const align = math.MaxInt/2 + 1
	for _, a := range []offset.Allocator{offset.NewSingleTree(math.MaxInt), offset.NewTwoTree(math.MaxInt)} {
		if at := a.AllocateAligned(align, align); at != 0 {
			t.Errorf("%T: half of all is at %d", a, at)
		}
		a.Reset()
		a.Allocate(1)
		if at := a.AllocateAligned(align+1, align); at != -1 || a.FreeBytes() != math.MaxInt-1 || a.Verify() != nil {
			t.Errorf("%T: more than half of all is at %d, %d are free; %v", a, at, a.FreeBytes(), a.Verify())
		}
	}
}
