package gomem_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"unsafe"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
)

// A server answers each reason for having no memory in its own way.
func ExampleScalableMemoryAllocator_TryMalloc_errors() {
	src := backing.NewFaulty(backing.Heap())
	a := gomem.NewScalableMemoryAllocator(64<<10, gomem.WithBacking(src), gomem.WithMaxBytes(8<<20))
	serve := func(n int) {
		b, err := a.TryMalloc(n)
		switch {
		case err == nil:
			fmt.Println("served")
			a.Free(b)
		case errors.Is(err, gomem.ErrInvalidSize):
			fmt.Println("bad request: no such size")
		case errors.Is(err, gomem.ErrLimit):
			fmt.Println("too large for our own limit")
		case errors.Is(err, gomem.ErrOutOfMemory):
			fmt.Println("the system has no more, ENOMEM:", errors.Is(err, syscall.ENOMEM))
		case errors.Is(err, gomem.ErrClosed):
			fmt.Println("shutting down")
		}
	}
	serve(1000)
	serve(-1)
	serve(16 << 20)
	src.FailFrom(backing.OpMap, 1, syscall.ENOMEM) // as a system under load would
	serve(1 << 20)
	src.FailFrom(backing.OpMap, 0, nil) // the load is gone
	serve(1 << 20)
	fmt.Println(a.Close())
	serve(1000)
	// Output:
	// served
	// bad request: no such size
	// too large for our own limit
	// the system has no more, ENOMEM: true
	// served
	// <nil>
	// shutting down
}

// The kind of damage says where to look for the bug.
func ExampleBlockError() {
	a := gomem.NewScalableMemoryAllocator(0,
		gomem.WithDebug(gomem.DebugOptions{}),
		gomem.WithMisuse(func(err error) {
			e, ok := errors.AsType[*gomem.BlockError](err)
			switch {
			case !ok:
				fmt.Println(err) // not about a block
			case errors.Is(err, gomem.ErrOverrun):
				fmt.Printf("its user wrote byte %d of %d\n", e.At, e.Size)
			case errors.Is(err, gomem.ErrUseAfterFree):
				fmt.Printf("somebody kept a slice and wrote byte %d\n", e.At)
			case errors.Is(err, gomem.ErrDoubleFree):
				fmt.Printf("two owners freed byte %d\n", e.At)
			}
		}))

	b := a.Malloc(100)
	// As C code or assembly might. Safety: debug mode keeps what is behind b unused.
	*(*byte)(unsafe.Add(unsafe.Pointer(&b[0]), 100)) = 0
	a.Free(b) // looks at what is around b

	b = a.Malloc(100)
	a.Free(b)
	a.Free(b)
	b[7] = 1
	a.Trim() // looks at what was freed
	fmt.Println(a.Close())
	// Output:
	// its user wrote byte 100 of 100
	// two owners freed byte 0
	// somebody kept a slice and wrote byte 7
	// <nil>
}

// boaster claims to have moved more bytes than there was room for.
type boaster struct{}

func (boaster) Read(p []byte) (int, error)  { return len(p) + 1, nil }
func (boaster) Write(p []byte) (int, error) { return len(p) + 1, nil }

// A reader or writer that is wrong about its counts is not believed: no byte is
// delivered that did not arrive, and none is taken for sent.
func Example_invalidCounts() {
	in := gomem.NewBufReader(boaster{})
	defer in.Recycle()
	_, err := in.Next(4)
	fmt.Println(errors.Is(err, gomem.ErrInvalidRead), in.Buffered())

	out := gomem.NewReadableBuffersFromBytes([]byte("reply"))
	n, err := out.WriteTo(boaster{})
	fmt.Println(errors.Is(err, gomem.ErrInvalidWrite), n, out.Length)
	// Output:
	// true 0
	// true 0 5
}

// A number that cannot be is told from one that is cut short, and neither is consumed.
func ExampleBufReader_ReadLEB128_overflow() {
	for _, input := range []string{"\xe5\x8e\x26", "\xe5\x8e", strings.Repeat("\xff", 11)} {
		r := gomem.NewBufReader(strings.NewReader(input))
		v, _, err := r.ReadLEB128()
		switch {
		case err == nil:
			fmt.Println(v)
		case errors.Is(err, io.ErrUnexpectedEOF):
			fmt.Println("the stream ended within the number")
		case errors.Is(err, gomem.ErrOverflow):
			fmt.Println("more than 64 bits: this is no LEB128")
		}
		r.Recycle()
	}
	// Output:
	// 624485
	// the stream ended within the number
	// more than 64 bits: this is no LEB128
}
