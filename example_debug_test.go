package gomem_test

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/gomem-go/gomem"
)

func ExampleWithDebug() {
	a := gomem.NewScalableMemoryAllocator(0,
		gomem.WithDebug(gomem.DebugOptions{}),
		gomem.WithMisuse(func(err error) {
			if e, ok := errors.AsType[*gomem.BlockError](err); ok {
				fmt.Printf("%v: byte %d of %d\n", e.Err, e.At, e.Size)
				for _, event := range e.Events {
					fmt.Printf("  %s in %v\n", event.What, strings.Contains(event.Stack.String(), "ExampleWithDebug"))
				}
			}
		}))

	b := a.Malloc(100)
	a.Free(b[80:])
	a.Free(b) // its tail is free already

	b[85] = 1 // belongs to nobody
	a.Trim()

	if leak, ok := errors.AsType[*gomem.LeakError](a.Close()); ok {
		fmt.Println(leak.Bytes, "bytes leaked")
	}
	// Output:
	// double free: byte 80 of 100
	//   allocated in true
	//   first freed in true
	//   this free in true
	// written after free: byte 85 of 100
	//   allocated in true
	//   freed in true
	// 80 bytes leaked
}

func ExampleWithSampledGuard() {
	a := gomem.NewScalableMemoryAllocator(0, gomem.WithSampledGuard(gomem.SampleOptions{
		Rate:     100, // far more often than the default
		Interval: -1,
	}))
	defer a.Close()
	for range 1000 {
		a.Malloc(100)
	}
	s := a.Stats()
	fmt.Println(s.Sampled > 0, s.Damaged, s.Unguarded)
	// Output: true 0 0
}

func ExampleScalableMemoryAllocator_Explain() {
	a := gomem.NewScalableMemoryAllocator(0, gomem.WithDebug(gomem.DebugOptions{Quiet: true}))
	defer a.Close()
	b := a.Malloc(100)
	addr := uintptr(unsafe.Pointer(&b[50])) // or from the panic after a fault
	a.Free(b)

	if e, ok := errors.AsType[*gomem.BlockError](a.Explain(addr)); ok {
		fmt.Println(e.Err, "byte", e.At, "of", e.Size)
	}
	fmt.Println(a.Explain(0x1000))
	// Output:
	// freed byte 50 of 100
	// <nil>
}
