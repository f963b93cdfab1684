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

// How badly the free room is cut up.
func ExampleSingleTree_Blocks() {
	a := offset.NewSingleTree(1000)
	a.Allocate(1000)
	a.Free(100, 50)
	a.Free(400, 200)
	for b := range a.Blocks() {
		fmt.Println(b, b.Size())
	}
	fmt.Printf("%d of %d free, %d in one piece\n", a.FreeBytes(), a.Size(), a.Fits())
	// Output:
	// [100,150) 50
	// [400,600) 200
	// 250 of 1000 free, 200 in one piece
}

// A file with records on pages: the gap behind its header is for smaller ones.
func ExampleSingleTree_AllocateAligned() {
	a := offset.NewSingleTree(1 << 20)
	header := a.Allocate(100)
	page := a.AllocateAligned(8192, 4096)
	fmt.Println(header, page, a.Allocate(500))
	fmt.Println(a.AllocateAligned(8192, 1000)) // no power of two
	// Output:
	// 0 4096 100
	// -1
}

// A test looks at all invariants after each step, so that it finds the step that breaks
// one.
func ExampleSingleTree_Verify() {
	a := offset.NewSingleTree(1000)
	for step := range 10 {
		at := a.Allocate(50)
		a.Free(at+10*step%50, 10)
		if err := a.Verify(); err != nil {
			fmt.Println("step", step, err)
			return
		}
	}
	fmt.Println(a.FreeBytes())
	// Output: 600
}

// The free room of a file was saved as a list, which Blocks yields, and is loaded again.
func ExampleTwoTree_Verify() {
	saved := []offset.Block{{Start: 100, End: 150}, {Start: 400, End: 1000}}
	a := offset.NewTwoTree(1000)
	a.Allocate(a.Size()) // nothing is free but what the list says
	for _, b := range saved {
		if err := a.Free(b.Start, b.Size()); err != nil {
			fmt.Println("the list is damaged:", err)
			return
		}
	}
	fmt.Println(a.FreeBytes(), a.Fits(), a.Verify())
	// Output: 650 600 <nil>
}

// Where a block would go is known before it is taken: here, whether the file would grow.
func ExampleTwoTree_Find() {
	a := offset.NewTwoTree(1 << 30) // as far as the file may grow
	end := 1000                     // as long as it is
	a.Allocate(end)
	a.Free(200, 100)
	for _, size := range []int{100, 101} {
		at := a.Find(size)
		fmt.Println(size, at, at+size <= end)
	}
	fmt.Println(a.Find(a.Size())) // not in one piece
	// Output:
	// 100 200 true
	// 101 1000 false
	// -1
}
