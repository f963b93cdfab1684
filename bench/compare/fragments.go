package compare

import (
	"math"
	"math/rand/v2"

	"github.com/gomem-go/gomem/internal/trace"
	"github.com/gomem-go/gomem/offset"
)

// Fragments is how much more of a range than the bytes live a load needed on
// the placement of package tlsf: the highest offset in use at any time over the
// most bytes live at any time, less one. It is the last of the four measures of
// M. S. Johnstone and P. R. Wilson, "The memory fragmentation problem: solved?",
// ISMM 1998.
type Fragments struct {
	Load      string
	Mean, Max float64 // over the programs of the load
}

const (
	placeBytes   = 512 << 20
	placeGranule = 16
)

// extent follows a placement.
type extent struct {
	place      *offset.TLSF
	live, peak int
	highest    int
}

func newExtent() *extent { return &extent{place: offset.NewTLSF(placeBytes, placeGranule)} }

func (e *extent) allocate(n int) offset.Block {
	at := e.place.Allocate(n)
	if at < 0 {
		panic("the range is meant to hold everything")
	}
	e.live += n
	e.peak = max(e.peak, e.live)
	e.highest = max(e.highest, at+n)
	return offset.Block{Start: at, End: at + n}
}

func (e *extent) free(b offset.Block) {
	if err := e.place.Free(b.Start, b.Size()); err != nil {
		panic(err)
	}
	e.live -= b.Size()
}

func (e *extent) fragmentation() float64 { return float64(e.highest)/float64(max(e.peak, 1)) - 1 }

// TraceFragments is the fragmentation of a pool that t is replayed on once.
func TraceFragments(t *trace.Trace) float64 {
	e := newExtent()
	blocks := make([]offset.Block, 0, len(t.Sizes))
	for _, op := range t.Ops {
		if op&trace.FreeBit != 0 {
			e.free(blocks[op&^trace.FreeBit])
			continue
		}
		blocks = append(blocks, e.allocate(int(op)))
	}
	return e.fragmentation()
}

// RandomFragments runs random programs: blocks of random sizes with random
// lives, and periodic tasks, each of which holds what it allocates for a while.
func RandomFragments(programs, steps int) []Fragments {
	all := []struct {
		name string
		run  func(e *extent, random *rand.Rand, steps int)
	}{
		{"16 B to 4 KiB, all sizes as likely", replaceBlocks(func(r *rand.Rand) int { return 16 + r.IntN(4<<10-15) })},
		{"1 to 64 KiB, all sizes as likely", replaceBlocks(func(r *rand.Rand) int { return 1<<10 + r.IntN(63<<10+1) })},
		{"16 B to 64 KiB, all magnitudes as likely", replaceBlocks(func(r *rand.Rand) int { return int(16 * math.Exp2(12*r.Float64())) })},
		{"periodic tasks", periodicTasks},
	}
	var found []Fragments
	for i, load := range all {
		f := Fragments{Load: load.name}
		for seed := range programs {
			e := newExtent()
			load.run(e, rand.New(rand.NewPCG(uint64(seed), uint64(i))), steps)
			f.Mean += e.fragmentation() / float64(programs)
			f.Max = max(f.Max, e.fragmentation())
		}
		found = append(found, f)
	}
	return found
}

// replaceBlocks holds 2,000 blocks, of which it replaces a random one at a
// time.
func replaceBlocks(size func(r *rand.Rand) int) func(e *extent, random *rand.Rand, steps int) {
	return func(e *extent, random *rand.Rand, steps int) {
		blocks := make([]offset.Block, 2000)
		for i := range blocks {
			blocks[i] = e.allocate(size(random))
		}
		for range steps {
			i := random.IntN(len(blocks))
			e.free(blocks[i])
			blocks[i] = e.allocate(size(random))
		}
	}
}

// periodicTasks is a set of 20 tasks. Each allocates once a period, around a size
// of its own, and holds the block for 4 to 12 periods.
func periodicTasks(e *extent, random *rand.Rand, steps int) {
	type task struct{ period, size int }
	tasks := make([]task, 20)
	for i := range tasks {
		tasks[i] = task{20 + random.IntN(131), 100 + random.IntN(1948)}
	}
	due := map[int][]offset.Block{}
	for now := range steps {
		for _, b := range due[now] {
			e.free(b)
		}
		delete(due, now)
		for _, t := range tasks {
			if now%t.period != 0 {
				continue
			}
			until := now + t.period*(4+random.IntN(9))
			due[until] = append(due[until], e.allocate(max(int(float64(t.size)*(1+random.NormFloat64()/4)), 16)))
		}
	}
}

// Overall returns the mean of the means and the largest of all.
func Overall(all []Fragments) Fragments {
	total := Fragments{Load: "all"}
	for _, f := range all {
		total.Mean += f.Mean / float64(len(all))
		total.Max = max(total.Max, f.Max)
	}
	return total
}
