package offset_test

import (
	"fmt"

	"github.com/gomem-go/gomem/offset"
)

// What a region has left, before and after the first frame goes.
func ExampleFew_Blocks() {
	f := offset.NewFew(8<<20, 64)
	frame, preview := f.Allocate(3_110_400), f.Allocate(14_400)
	fmt.Println(frame, preview, f.Find(1_000_000)) // where the next one would go
	fmt.Println(f.Free(frame, 3_110_400), f.Find(1_000_000))
	for b := range f.Blocks() {
		fmt.Println(b, b.Size())
	}
	fmt.Println(f.FreeBytes(), f.Verify())
	// Output:
	// 0 3110400 3124800
	// <nil> 0
	// [0,3110400) 3110400
	// [3124800,8388608) 5263808
	// 8374208 <nil>
}

// A device that wants its buffers on pages gets them there, and the gap in front of one
// serves what needs no page.
func ExampleFew_AllocateAligned() {
	f := offset.NewFew(1<<20, 64)
	descriptor := f.Allocate(100)
	buffer := f.AllocateAligned(64<<10, 4096)
	fmt.Println(descriptor, buffer, f.Allocate(100))
	fmt.Println(f.AllocateAligned(64<<10, 1000)) // no power of two
	// Output:
	// 0 4096 128
	// -1
}

// All frames of a scene go at once.
func ExampleFew_Reset() {
	f := offset.NewFew(1<<20, 64)
	for f.Allocate(100_000) >= 0 {
	}
	fmt.Println(f.FreeBytes())
	f.Reset()
	fmt.Println(f.FreeBytes(), f.Find(1<<20))
	// Output:
	// 48576
	// 1048576 0
}

func ExampleFew_Room() {
	f := offset.NewFew(1<<20, 64)
	for f.Room() > 0 {
		f.Allocate(1024) // no tables are made
	}
	fmt.Println(f.FreeBytes() >> 10)
	// Output: 994
}
