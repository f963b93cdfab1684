package arrowmem_test

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/adapter/arrowmem"
)

// A column lives in the allocator until its Release.
func Example() {
	a := gomem.NewScalableMemoryAllocator(16<<20, gomem.WithMaxBytes(1<<30))
	b := array.NewInt64Builder(arrowmem.New(a))
	b.AppendValues([]int64{1, 2, 3}, nil)
	column := b.NewInt64Array()
	b.Release()
	fmt.Println(column, a.Stats().Live > 0)
	column.Release()
	fmt.Println(a.Stats().Live, a.Close())
	// Output:
	// [1 2 3] true
	// 0 <nil>
}

func ExampleNew() {
	a := gomem.NewScalableMemoryAllocator(1 << 20)
	buf := memory.NewResizableBuffer(arrowmem.New(a))
	buf.Resize(1000)
	fmt.Println(buf.Len(), a.Stats().Live)
	buf.Release()
	fmt.Println(a.Stats().Live)
	// Output:
	// 1000 1024
	// 0
}

func ExampleAllocator_Allocate() {
	a := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithMaxBytes(1<<20))
	mem := arrowmem.New(a)
	defer func() { fmt.Println(recover() != nil) }()
	fmt.Println(len(mem.Allocate(100)), a.Stats().Live)
	mem.Allocate(2 << 20)
	// Output:
	// 100 100
	// true
}

func ExampleAllocator_Reallocate() {
	a := gomem.NewScalableMemoryAllocator(1 << 20)
	mem := arrowmem.New(a)
	b := mem.Allocate(8)
	copy(b, "a column")
	b = mem.Reallocate(1, b)
	b = mem.Reallocate(3, b)
	fmt.Printf("%q, %d\n", b, a.Stats().Live)
	// Output: "a\x00\x00", 3
}

func ExampleAllocator_Free() {
	a := gomem.NewScalableMemoryAllocator(1 << 20)
	mem := arrowmem.New(a)
	b := mem.Allocate(1000)
	mem.Free(b[:10]) // the whole block
	fmt.Println(a.Stats().Live)
	// Output: 0
}
