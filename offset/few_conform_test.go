package offset_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/offset/offsettest"
)

// fewConfig describes a Few: exact in granules, and a TLSF once there are many
// blocks.
func fewConfig(granule int) offsettest.Config {
	var last *offset.Few
	return offsettest.Config{
		New: func(size int) offset.Allocator {
			last = offset.NewFew(size, granule)
			return last
		},
		Ends:  true,
		Large: 1 << 26,
		Ops:   60_000,
		Fits: func(free []offset.Block, size, align int) bool {
			if t := last.Many(); t != nil {
				return tlsfFits(t, free, size, align)
			}
			return slices.ContainsFunc(free, func(b offset.Block) bool {
				b = offset.Block{Start: (b.Start + granule - 1) &^ (granule - 1), End: b.End &^ (granule - 1)}
				return offsettest.Holds(b, size, align)
			})
		},
	}
}

func TestFewConforms(t *testing.T) {
	for _, granule := range []int{8, 16, 64} {
		t.Run(fmt.Sprintf("granule=%d", granule), func(t *testing.T) {
			offsettest.Run(t, fewConfig(granule))
		})
	}
}

func FuzzFew(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(byte(seed), offsettest.Random(seed, 60))
	}
	f.Fuzz(func(t *testing.T, granule byte, program []byte) {
		offsettest.Program(t, fewConfig(8<<(granule&3)), program)
	})
}
