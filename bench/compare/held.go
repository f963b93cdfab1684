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
	PeakReads   int // of reads of which a frame is in use, at most; 0 if nothing is read
	PeakBacking int // mapped, at most
	Chunk       int // mean size of a mapping at the end
}

// OverLive is the most memory mapped over the most bytes live.
func (r HeldRow) OverLive() float64 { return float64(r.PeakBacking) / float64(max(r.PeakLive, 1)) }

// OverReads is the most memory mapped over the most bytes that reads held; 0 if
// nothing is read.
func (r HeldRow) OverReads() float64 {
	if r.PeakReads == 0 {
		return 0
	}
	return float64(r.PeakBacking) / float64(r.PeakReads)
}

// Held runs l once with each number of goroutines, on a fresh allocator and
// untimed. The allocator keeps the most that it mapped and [load.Counted] the most
// that was live, so nothing is sampled, and no moment of either is missed.
func Held(ctx context.Context, l load.Load, goroutines []int, ops int, options ...gomem.Option) ([]HeldRow, error) {
	var rows []HeldRow
	for _, g := range goroutines {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a := gomem.NewScalableMemoryAllocator(1<<20, options...)
		counted := &load.Counted{Gomem: load.Gomem{A: a}}
		l.Run(counted, g, ops)
		s := a.Stats()
		a.Recycle()
		rows = append(rows, HeldRow{l.Name, g, counted.Peak(), counted.PeakHeld(), s.PeakBacking, s.Backing / max(s.Chunks, 1)})
	}
	return rows, nil
}
