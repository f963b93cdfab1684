package gomem_test

import (
	"errors"
	"fmt"

	"github.com/gomem-go/gomem"
)

func ExampleNewAllocator() {
	a := gomem.NewAllocator(1000)
	first, second := a.Allocate(300), a.Allocate(200)
	fmt.Println(first, second, a.Find(600), a.GetFreeSize())
	a.Free(first+100, 50) // any part of it
	for _, b := range a.GetBlocks() {
		fmt.Println(b)
	}
	// Output:
	// 0 300 -1 500
	// [100,150)
	// [500,1000)
}

func ExampleAllocator() {
	var a gomem.Allocator
	fmt.Println(a.Allocate(1))
	a.Init(100)
	fmt.Println(a.Allocate(60), a.Allocate(60), a.Size)
	a.Recycle()
	fmt.Println(a.Allocate(1))
	// Output:
	// -1
	// 0 -1 100
	// -1
}

func ExampleAllocator_Free() {
	a := gomem.NewAllocator(100)
	at := a.Allocate(100)
	a.Free(at+20, 30)
	fmt.Println(a.GetFreeSize())
	a.Free(at, 100) // a part of it is free: nothing changes
	fmt.Println(a.GetFreeSize())
	// Output:
	// 30
	// 30
}

func ExampleAllocator_TryFree() {
	a := gomem.NewAllocator(100)
	at := a.Allocate(100)
	fmt.Println(a.TryFree(at, 100))
	fmt.Println(errors.Is(a.TryFree(at, 100), gomem.ErrDoubleFree))
	fmt.Println(errors.Is(a.TryFree(90, 20), gomem.ErrNotOwned))
	// Output:
	// <nil>
	// true
	// true
}

func ExampleBlock() {
	b := gomem.Block{Start: 16, End: 48}
	fmt.Println(b, b.Size())
	// Output: [16,48) 32
}

func ExampleGetMemoryAllocator() {
	m := gomem.GetMemoryAllocator(64)
	a, b := m.Malloc(16), m.Malloc(48)
	fmt.Println(len(a), cap(a), len(b), m.Malloc(1) == nil)
	fmt.Println(m.Free(a), m.Free(a), m.GetFreeSize())
	m.Recycle()
	// Output:
	// 16 16 48 true
	// true false 16
}

func ExampleMemoryAllocator() {
	m := gomem.GetMemoryAllocator(64)
	b := m.Malloc(40)
	m.Free(b[8:24])
	for _, free := range m.GetBlocks() {
		fmt.Println(free)
	}
	// Output:
	// [8,24)
	// [40,64)
}

func ExampleMemoryAllocator_Find() {
	m := gomem.GetMemoryAllocator(64)
	scratch := m.Find(20) // valid until the next Malloc
	fmt.Println(len(scratch), m.GetFreeSize())
	// Output: 20 64
}

// The field Size is there to be read. Verify notices a program that sets it.
func ExampleAllocator_Verify() {
	a := gomem.NewAllocator(100)
	a.Allocate(60)
	fmt.Println(a.Verify())
	a.Size = 200 // gives it no more room
	fmt.Println(a.Verify())
	a.Init(200) // does, and forgets what was allocated
	fmt.Println(a.Verify(), a.GetFreeSize())
	// Output:
	// <nil>
	// the field Size was changed to 200, the allocator manages 100
	// <nil> 200
}
