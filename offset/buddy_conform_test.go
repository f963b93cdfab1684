package offset_test

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/offset/offsettest"
)

// buddyConfig describes a Buddy: an allocation holds the power of two around
// its request, or once it is freed in part the units with live bytes.
func buddyConfig(unit int) offsettest.Config {
	order := func(size int) int { return bits.Len(uint(size-1) / uint(unit)) }
	freeBlocks := func(dst []offset.Block, o *offsettest.Oracle) []offset.Block {
		left := map[uint64]int{}
		for _, p := range o.Parts() {
			left[p.Stamp] += p.Size()
		}
		var held []offset.Block
		for _, p := range o.Parts() {
			if left[p.Stamp] == p.Owner.Size() {
				held = append(held, offset.Block{Start: p.Owner.Start, End: p.Owner.Start + unit<<order(p.Owner.Size())})
				continue
			}
			held = append(held, offset.Block{Start: p.Start / unit * unit, End: (p.End + unit - 1) / unit * unit})
		}
		slices.SortFunc(held, func(a, b offset.Block) int { return a.Start - b.Start })
		end := 0
		for _, h := range held {
			if h.Start > end {
				dst = append(dst, offset.Block{Start: end, End: h.Start})
			}
			end = max(end, h.End)
		}
		if end < o.Size() {
			dst = append(dst, offset.Block{Start: end, End: o.Size()})
		}
		return dst
	}
	return offsettest.Config{
		New:        func(size int) offset.Allocator { return offset.NewBuddy(size, unit) },
		Ends:       true,
		Large:      1 << 24,
		Ops:        40_000,
		FreeBlocks: freeBlocks,
		FreeBytes: func(o *offsettest.Oracle) (n int) {
			for _, b := range freeBlocks(nil, o) {
				n += b.Size()
			}
			return n
		},
		Fits: func(free []offset.Block, size, align int) bool {
			if size > 1<<30 || align > 1<<30 {
				return false
			}
			block := unit << max(order(size), order(align))
			return slices.ContainsFunc(free, func(b offset.Block) bool { return offsettest.Holds(b, block, block) })
		},
	}
}

func TestBuddyConforms(t *testing.T) {
	for _, unit := range []int{1, 64, 256} {
		t.Run(fmt.Sprintf("unit=%d", unit), func(t *testing.T) {
			offsettest.Run(t, buddyConfig(unit))
		})
	}
}

func FuzzBuddy(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(byte(seed), offsettest.Random(seed, 60))
	}
	f.Fuzz(func(t *testing.T, unit byte, program []byte) {
		offsettest.Program(t, buddyConfig(1<<(unit%9)), program)
	})
}
