package offset_test

import (
	"testing"

	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/offset/offsettest"
)

func twoTree(size int) offset.Allocator { return offset.NewTwoTree(size) }

func TestTwoTreeConforms(t *testing.T) {
	offsettest.Run(t, offsettest.Config{New: twoTree})
}

func FuzzTwoTree(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(offsettest.Random(seed, 60))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		offsettest.Program(t, offsettest.Config{New: twoTree}, program)
	})
}
