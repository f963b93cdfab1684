package offset_test

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/offset/offsettest"
)

// tlsfConfig describes a TLSF. It must serve a request for which some free
// block is of a class that holds nothing smaller. It may serve one more: which
// block is first in the highest class is its own affair, so there its Find,
// which is compared with what Allocate does, is asked.
func tlsfConfig(granule int) offsettest.Config {
	var last *offset.TLSF
	return offsettest.Config{
		New: func(size int) offset.Allocator {
			last = offset.NewTLSF(size, granule)
			return last
		},
		Ends:  true,
		Large: 1 << 26,
		Ops:   60_000,
		Fits: func(free []offset.Block, size, align int) bool {
			return tlsfFits(last, free, size, align)
		},
	}
}

func tlsfFits(t *offset.TLSF, free []offset.Block, size, align int) bool {
	if size > 1<<30 {
		return false
	}
	granule := t.Granule()
	need := (size + granule - 1) / granule
	if align > granule {
		need += align/granule - 1
	}
	// The classes below need end where need-1 has its top six bits.
	if e := bits.Len(uint(need-1)|32) - 6; need > 1 {
		need = ((need-1)>>e + 1) << e
	}
	for _, b := range free {
		if b.End/granule-(b.Start+granule-1)/granule >= need {
			return true
		}
	}
	return t.FindAligned(size, align) >= 0
}

func TestTLSFConforms(t *testing.T) {
	for _, granule := range []int{8, 16, 64} {
		t.Run(fmt.Sprintf("granule=%d", granule), func(t *testing.T) {
			offsettest.Run(t, tlsfConfig(granule))
		})
	}
}

func FuzzTLSF(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(byte(seed), offsettest.Random(seed, 60))
	}
	f.Fuzz(func(t *testing.T, granule byte, program []byte) {
		offsettest.Program(t, tlsfConfig(8<<(granule&3)), program)
	})
}
