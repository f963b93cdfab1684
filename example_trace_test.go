package gomem_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gomem-go/gomem"
)

func ExampleWithTrace() {
	var file bytes.Buffer // in a program, a file to give to gomem replay
	a := gomem.NewScalableMemoryAllocator(0, gomem.WithTrace(&file))
	b := a.Malloc(4096)
	a.FreeRest(&b, 1000) // a part: not in the trace
	c := a.Malloc(70)
	a.Free(b)
	a.Free(c)
	if err := a.Close(); err != nil { // also says whether all was written
		fmt.Println(err)
		return
	}
	for op := range slices.Chunk(file.Bytes(), 4) {
		fmt.Printf("%#x\n", binary.LittleEndian.Uint32(op))
	}
	// Output:
	// 0x1000
	// 0x46
	// 0x80000000
	// 0x80000001
}
