package offsettest_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/offset/offsettest"
)

func ExampleRun() {
	// In a file of tests:
	_ = func(t *testing.T) {
		offsettest.Run(t, offsettest.Config{
			New: func(size int) offset.Allocator { return offset.NewTwoTree(size) },
		})
	}
}

// A placement that serves whole granules of 16 tells the kit so.
func ExampleConfig() {
	cfg := offsettest.Config{
		New: func(size int) offset.Allocator { return offset.NewTLSF(size, 16) },
		FreeBlocks: func(dst []offset.Block, o *offsettest.Oracle) []offset.Block {
			held := offsettest.NewOracle(o.Size())
			for _, p := range o.Parts() {
				start, end := p.Start&^15, (p.End+15)&^15
				for at := start; at < end; at += 16 {
					held.Allocate(at, 16) // false if another part holds it too
				}
			}
			return held.AppendFree(dst)
		},
	}
	o := offsettest.NewOracle(64)
	o.Allocate(16, 10)
	fmt.Println(cfg.FreeBlocks(nil, o))
	// Output: [[0,16) [32,64)]
}

func ExampleProgram() {
	// The body of a fuzz target:
	_ = func(f *testing.F) {
		f.Add(offsettest.Random(1, 100))
		f.Fuzz(func(t *testing.T, program []byte) {
			offsettest.Program(t, offsettest.Config{
				New: func(size int) offset.Allocator { return offset.NewTwoTree(size) },
			}, program)
		})
	}
}

func ExampleRandom() {
	a, b := offsettest.Random(7, 1000), offsettest.Random(7, 1000)
	fmt.Println(bytes.Equal(a, b))
	// Output: true
}

func ExampleOracle() {
	o := offsettest.NewOracle(100)
	o.Allocate(0, 40)
	o.Free(10, 5)
	for _, p := range o.Parts() {
		fmt.Println(p.Block, "of", p.Owner)
	}
	fmt.Println(o.LiveBytes(), o.Live(9, 2), o.AppendFree(nil))
	// Output:
	// [0,10) of [0,40)
	// [15,40) of [0,40)
	// 35 false [[10,15) [40,100)]
}

func ExampleHolds() {
	b := offset.Block{Start: 10, End: 30}
	fmt.Println(offsettest.Holds(b, 14, 16), offsettest.Holds(b, 15, 16))
	// Output: true false
}

func ExampleValidateAll() {
	a := offset.NewSingleTree(100)
	fits := a.Fits()
	x := a.Allocate(10)
	fmt.Println(offsettest.ValidateAll(a, fits))
	a.Free(x, 10)
	fmt.Println(offsettest.ValidateAll(a, fits))
	// Output:
	// all is free and Fits() = 90, want 100
	// <nil>
}

func ExampleReadTrace() {
	// Two blocks of 100 and 50 bytes; the first is freed.
	data := []byte{100, 0, 0, 0, 50, 0, 0, 0, 0, 0, 0, 0x80}
	trace, err := offsettest.ReadTrace(bytes.NewReader(data))
	fmt.Println(len(trace), err)
	_, err = offsettest.ReadTrace(bytes.NewReader(append(data, 0, 0, 0, 0x80)))
	fmt.Println(err)
	// Output:
	// 3 <nil>
	// operation 3: free 0: an id that was freed before
}

func ExamplePlay() {
	trace := offsettest.Trace{100, 50, offsettest.FreeBit, 80}
	p, err := offsettest.Play(trace, offset.NewSingleTree(200))
	fmt.Printf("%+v %v\n", p, err)
	// Output: {Ops:4 Peak:150 Reach:150 LiveEnd:130 Fallback:0} <nil>
}

// A placement's own package exports the damage to its tests, and the kit tries
// it.
func ExampleFaults() {
	_ = func(t *testing.T) {
		build := func() *offset.SingleTree { return offset.NewSingleTree(100) }
		offsettest.Faults(t, build, []offsettest.Fault[*offset.SingleTree]{
			{Name: "node 0 is lost", Break: func(a *offset.SingleTree) { *a = offset.SingleTree{} }},
		})
	}
}

func ExampleOracle_OneOwner() {
	o := offsettest.NewOracle(100)
	o.Allocate(0, 40)
	o.Allocate(40, 40)
	fmt.Println(o.Live(30, 20), o.OneOwner(30, 20), o.OneOwner(30, 10))
	// Output: true false true
}

// What is wrong with a recording says where it comes from.
func ExampleReadTrace_errors() {
	free := []byte{0, 0, 0, 0x80} // of the first block
	block := []byte{100, 0, 0, 0}
	for _, data := range [][]byte{
		slices.Concat(block, free, block[:2]),
		slices.Concat(block, free, free),
		slices.Concat(free, block),
	} {
		trace, err := offsettest.ReadTrace(bytes.NewReader(data))
		switch {
		case errors.Is(err, offsettest.ErrTruncated): // the program was killed: what is whole will do
			trace, err = offsettest.ReadTrace(bytes.NewReader(data[:len(data)&^3]))
			fmt.Println(len(trace), "operations,", err)
		case errors.Is(err, offsettest.ErrFreedID):
			fmt.Println("the program that was recorded frees twice")
		case errors.Is(err, offsettest.ErrUnknownID):
			fmt.Println("the recording began too late")
		}
	}
	// Output:
	// 2 operations, <nil>
	// the program that was recorded frees twice
	// the recording began too late
}
