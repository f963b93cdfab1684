package offset_test

import (
	"errors"
	"fmt"

	"github.com/gomem-go/gomem/offset"
)

func ExampleNewSingleTree() {
	a := offset.NewSingleTree(1000)
	x := a.Allocate(100)
	y := a.Allocate(100)
	a.Free(x, 100)
	fmt.Println(x, y, a.Find(50)) // the lowest free block
	fmt.Println(a.FreeBytes(), a.Fits())
	// Output:
	// 0 100 0
	// 900 800
}

func ExampleSingleTree() {
	// A read buffer of 64 bytes, of which 20 were filled: the rest goes back
	// and serves the next read, though the buffer is still in use.
	a := offset.NewSingleTree(100)
	buffer := a.Allocate(64)
	a.Free(buffer+20, 44)
	fmt.Println(a.Allocate(60))
	fmt.Println(a)
	// Output:
	// 20
	// single tree size=100 free=20 fits=20 blocks=1
	// |###################################################+............|
	// [80,100) free 20
}

func ExampleNewTwoTree() {
	a := offset.NewTwoTree(1000)
	a.Allocate(1000)
	a.Free(0, 300)
	a.Free(500, 120)
	fmt.Println(a.Allocate(100)) // the smallest block that fits
	// Output: 500
}

func ExampleTwoTree() {
	a := offset.NewTwoTree(64)
	x := a.AllocateAligned(10, 16)
	y := a.AllocateAligned(10, 16)
	fmt.Println(x, y)
	for b := range a.Blocks() {
		fmt.Println(b, b.Size())
	}
	// Output:
	// 0 16
	// [10,16) 6
	// [26,64) 38
}

func ExampleRangeError() {
	a := offset.NewTwoTree(1000)
	x := a.Allocate(100)
	a.Free(x+40, 10)
	err := a.Free(x, 100)
	fmt.Println(err)
	if re, ok := errors.AsType[*offset.RangeError](err); ok {
		fmt.Println(re.Range, re.Conflict, errors.Is(err, offset.ErrDoubleFree))
	}
	// Output:
	// double free: [0,100) overlaps free block [40,50)
	// [0,100) [40,50) true
}

func ExampleBlock() {
	b := offset.Block{Start: 10, End: 14}
	fmt.Println(b, b.Size())
	// Output: [10,14) 4
}

func ExampleAllocator() {
	// The trees answer alike wherever the order of search does not matter.
	for _, a := range []offset.Allocator{offset.NewSingleTree(100), offset.NewTwoTree(100)} {
		fmt.Println(a.Allocate(60), a.Allocate(60), a.Free(0, 60), a.Verify())
	}
	// Output:
	// 0 -1 <nil> <nil>
	// 0 -1 <nil> <nil>
}

func ExampleSingleTree_Reset() {
	a := offset.NewSingleTree(100)
	a.Allocate(60)
	a.Reset()
	fmt.Println(a.FreeBytes(), a.Allocate(100))
	// Output: 100 0
}

func ExampleTwoTree_Reset() {
	a := offset.NewTwoTree(100)
	a.Allocate(60)
	a.Reset()
	fmt.Println(a.FreeBytes(), a.Allocate(100))
	// Output: 100 0
}
