package compare

import (
	"context"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/bench/load"
)

// HeldRow is the memory that GoMem held under a load, in bytes.
type HeldRow struct {
	Load       string
	Goroutines int

	PeakLive    int // asked for and not given back, at most
	PeakBacking int // mapped, at most
	Chunk       int // mean size of a mapping at the end
}

// Ratio is the most memory mapped over the most bytes live.
func (r HeldRow) Ratio() float64 { return float64(r.PeakBacking) / float64(max(r.PeakLive, 1)) }

// Held runs l once with each number of goroutines, on a fresh allocator and
// untimed. The allocator keeps the most that it mapped and [load.Counted] the most
// that was live, so nothing is sampled, and no moment of either is missed.
func Held(ctx context.Context, l load.Load, goroutines []int, ops int) ([]HeldRow, error) {
	var rows []HeldRow
	for _, g := range goroutines {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a := gomem.NewScalableMemoryAllocator(1 << 20)
		counted := &load.Counted{Gomem: load.Gomem{A: a}}
		l.Run(counted, g, ops)
		s := a.Stats()
		a.Recycle()
		rows = append(rows, HeldRow{l.Name, g, int(counted.Peak()), s.PeakBacking, s.Backing / max(s.Chunks, 1)})
	}
	return rows, nil
}
