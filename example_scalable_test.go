package gomem_test

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
)

func ExampleNewScalableMemoryAllocator() {
	a := gomem.NewScalableMemoryAllocator(64<<10,
		gomem.WithPlacement(gomem.TwoTree),
		gomem.WithBacking(backing.Mmap()),
		gomem.WithMaxBytes(1<<20))
	defer a.Close()
	b := a.Malloc(1000)
	fmt.Println(len(b), cap(b), a.Free(b))
	// Output: 1000 1000 true
}

func ExampleScalableMemoryAllocator() {
	a := gomem.NewScalableMemoryAllocator(4096)
	defer a.Close()

	frame := a.Malloc(1500)
	n := copy(frame, "a packet of 19 byte")
	a.FreeRest(&frame, n) // what was not needed

	freed := make(chan bool)
	go func() { freed <- a.Free(frame) }() // any goroutine may
	fmt.Println(<-freed)
	fmt.Println(a.Stats().Live)
	// Output:
	// true
	// 0
}

func ExampleScalableMemoryAllocator_Malloc() {
	a := gomem.NewScalableMemoryAllocator(4096)
	fmt.Println(len(a.Malloc(100)), len(a.Malloc(0)), a.Malloc(-1) == nil)

	var heap *gomem.ScalableMemoryAllocator // nil: the Go heap
	fmt.Println(len(heap.Malloc(100)))
	// Output:
	// 100 0 true
	// 100
}

func ExampleScalableMemoryAllocator_TryMalloc() {
	a := gomem.NewScalableMemoryAllocator(4096, gomem.WithMaxBytes(64<<10))
	_, err := a.TryMalloc(100_000)
	fmt.Println(errors.Is(err, gomem.ErrLimit))
	_, err = a.TryMalloc(-1)
	fmt.Println(errors.Is(err, gomem.ErrInvalidSize))
	// Output:
	// true
	// true
}

func ExampleScalableMemoryAllocator_MallocAligned() {
	a := gomem.NewScalableMemoryAllocator(64 << 10)
	b, err := a.MallocAligned(100, 4096)
	fmt.Println(uintptr(unsafe.Pointer(&b[0]))%4096, err)
	_, err = a.MallocAligned(100, 3)
	fmt.Println(errors.Is(err, gomem.ErrInvalidSize))
	// Output:
	// 0 <nil>
	// true
}

func ExampleScalableMemoryAllocator_Free() {
	a := gomem.NewScalableMemoryAllocator(64 << 10)
	b := a.Malloc(3000)
	fmt.Println(a.Free(b[1000:2000])) // any part
	fmt.Println(a.Free(b[1999:2001])) // half of it is free already
	fmt.Println(a.Free(b[:1000]), a.Free(b[2000:]))
	fmt.Println(a.Free(make([]byte, 10))) // not from here
	// Output:
	// true
	// false
	// true true
	// false
}

func ExampleScalableMemoryAllocator_FreeRest() {
	a := gomem.NewScalableMemoryAllocator(64 << 10)
	b := a.Malloc(16 << 10)
	a.FreeRest(&b, 1400)
	fmt.Println(len(b), cap(b), a.Stats().Live)
	// Output: 1400 1400 1400
}

func ExampleScalableMemoryAllocator_Borrow() {
	a := gomem.NewScalableMemoryAllocator(64 << 10)
	scratch := a.Borrow(1000) // until the next allocation; not to be freed
	fmt.Println(len(scratch), a.Stats().Live)
	// Output: 1000 0
}

func ExampleScalableMemoryAllocator_Read() {
	a := gomem.NewScalableMemoryAllocator(64 << 10)
	b, err := a.Read(strings.NewReader("short"), 16<<10)
	fmt.Printf("%s %v %d\n", b, err, a.Stats().Live)
	// Output: short <nil> 5
}

func ExampleScalableMemoryAllocator_Recycle() {
	a := gomem.NewScalableMemoryAllocator(64 << 10)
	a.Malloc(100)
	a.Malloc(200)
	a.Recycle()
	fmt.Println(a.Stats().Live, a.Stats().Backing, len(a.Malloc(10)))
	// Output: 0 0 10
}

func ExampleScalableMemoryAllocator_Close() {
	a := gomem.NewScalableMemoryAllocator(64 << 10)
	a.Free(a.Malloc(100))
	fmt.Println(a.Close())
	_, err := a.TryMalloc(100)
	fmt.Println(errors.Is(err, gomem.ErrClosed))
	// Output:
	// <nil>
	// true
}

func ExampleScalableMemoryAllocator_Trim() {
	a := gomem.NewScalableMemoryAllocator(64 << 10)
	a.Free(a.Malloc(100_000))
	a.Trim()
	fmt.Println(a.Stats().Backing)
	// Output: 0
}

func ExampleScalableMemoryAllocator_Verify() {
	a := gomem.NewScalableMemoryAllocator(64 << 10)
	a.Malloc(100)
	fmt.Println(a.Verify())
	// Output: <nil>
}

func ExampleScalableMemoryAllocator_Stats() {
	a := gomem.NewScalableMemoryAllocator(64 << 10)
	b := a.Malloc(1000)
	a.Free(b[600:])
	a.Free(b[600:])
	s := a.Stats()
	fmt.Println(s.Malloced, s.Freed, s.Live, s.Chunks, s.Refused)
	// Output: 1000 400 600 1 1
}

func ExampleScalableMemoryAllocator_GetTotalMalloc() {
	a := gomem.NewScalableMemoryAllocator(64 << 10)
	a.Free(a.Malloc(1000))
	a.Malloc(10)
	fmt.Println(a.GetTotalMalloc(), a.GetTotalFree())
	// Output: 1010 1000
}

func ExampleScalableMemoryAllocator_GetTotalFree() {
	a := gomem.NewScalableMemoryAllocator(64 << 10)
	a.Free(a.Malloc(1000)[:300])
	fmt.Println(a.GetTotalFree())
	// Output: 300
}

func ExampleScalableMemoryAllocator_GetChildren() {
	a := gomem.NewScalableMemoryAllocator(4096,
		gomem.WithPlacement(gomem.SingleTree), gomem.WithBacking(backing.Heap()))
	a.Malloc(1000)
	for _, child := range a.GetChildren() {
		blocks := child.GetBlocks()
		fmt.Println(child.Size, blocks[len(blocks)-1].End, child.GetFreeSize() <= 3096)
	}
	// Output: 4096 4096 true
}

func ExampleScalableMemoryAllocator_GetAllocator() {
	type connection struct{ *gomem.ScalableMemoryAllocator }
	c := connection{gomem.NewScalableMemoryAllocator(4096)}
	fmt.Println(c.GetAllocator() == c.ScalableMemoryAllocator)
	// Output: true
}

func ExampleMisuseError() {
	a := gomem.NewScalableMemoryAllocator(4096, gomem.WithMisuse(func(err error) {
		var misuse *gomem.MisuseError
		fmt.Println(errors.As(err, &misuse), misuse.Size, errors.Is(err, gomem.ErrNotOwned))
	}))
	a.Free(make([]byte, 10))
	// Output: true 10 true
}

func ExampleWithMisuse() {
	a := gomem.NewScalableMemoryAllocator(4096, gomem.WithMisuse(func(err error) {
		fmt.Println(errors.Is(err, gomem.ErrDoubleFree))
	}))
	b := a.Malloc(100)
	fmt.Println(a.Free(b))
	fmt.Println(a.Free(b))
	// Output:
	// true
	// true
	// false
}

func ExamplePlacement() {
	for _, p := range []gomem.Placement{gomem.SizeClasses, gomem.TLSF, gomem.SingleTree, gomem.TwoTree} {
		a := gomem.NewScalableMemoryAllocator(4096, gomem.WithPlacement(p))
		fmt.Println(a.Free(a.Malloc(100)))
	}
	// Output:
	// true
	// true
	// true
	// true
}

func ExampleWithPlacement() {
	a := gomem.NewScalableMemoryAllocator(4096, gomem.WithPlacement(gomem.SingleTree))
	b := a.Malloc(1000) // exact to the byte
	fmt.Println(a.Free(b[1:2]), a.Free(b[3:999]), a.Stats().Live)
	// Output: true true 3
}

func ExampleWithBacking() {
	src := backing.NewFaulty(backing.Mmap())
	a := gomem.NewScalableMemoryAllocator(64<<10, gomem.WithBacking(src))
	a.Malloc(100)
	fmt.Println(src.Live())
	fmt.Println(a.Close())
	fmt.Println(src.Live())
	// Output:
	// 1 65536
	// <nil>
	// 0 0
}

func ExampleWithMaxBytes() {
	a := gomem.NewScalableMemoryAllocator(4096, gomem.WithMaxBytes(1<<20))
	n := 0
	for a.Malloc(1000) != nil {
		n++
	}
	fmt.Println(n > 900, a.Stats().PeakBacking <= 1<<20)
	// Output: true true
}

func ExampleOption() {
	small := []gomem.Option{gomem.WithMaxBytes(1 << 20), gomem.WithPooledChunks(true)}
	a := gomem.NewScalableMemoryAllocator(4096, small...)
	fmt.Println(len(a.Malloc(100)))
	// Output: 100
}

func ExampleWithPooledChunks() {
	for range 1000 { // connections that come and go
		a := gomem.NewScalableMemoryAllocator(4096, gomem.WithPooledChunks(true))
		a.Free(a.Malloc(1000))
		if err := a.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
}

func ExampleNewChunkPool() {
	src := backing.NewFaulty(backing.Mmap())
	pool := gomem.NewChunkPool(src)
	for range 100 {
		a := gomem.NewScalableMemoryAllocator(16<<10, gomem.WithBacking(pool))
		a.Malloc(1000)
	}
	mappings, bytes := src.Live()
	fmt.Println(mappings, bytes>>20, "MiB")
	// Output: 1 8 MiB
}
