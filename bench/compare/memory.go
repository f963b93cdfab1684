package compare

import (
	"runtime"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/bench/rows"
	"github.com/gomem-go/gomem/internal/trace"
)

// Memory replays t on GoMem and returns the most memory mapped over the most
// bytes live, in the first round, and the allocations on the Go heap per operation
// in later ones, when the allocator is warm.
func Memory(t *trace.Trace) (held, allocs float64) {
	a := gomem.NewScalableMemoryAllocator(t.FirstChunk())
	defer a.Recycle()
	blocks := make([][]byte, len(t.Sizes))
	round := func() {
		next := 0
		for _, op := range t.Ops {
			if op&trace.FreeBit != 0 {
				a.Free(blocks[op&^trace.FreeBit])
				continue
			}
			blocks[next] = a.Malloc(int(op))
			next++
		}
	}
	round()
	held = float64(a.Stats().PeakBacking) / float64(max(t.PeakBytes, 1))
	const rounds = 10
	for range rounds {
		round()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		round()
	}
	runtime.ReadMemStats(&after)
	return held, float64(after.Mallocs-before.Mallocs) / float64(rounds*len(t.Ops))
}

// Walked is the time of one read in [Walk] over a kind of memory.
type Walked struct {
	Pages string
	Ns    float64
}

// Walks compares the kinds of memory that a chunk can be made of. A kind that
// the machine does not have is left out.
func Walks(passes int, turn time.Duration) []Walked {
	kinds := []struct {
		name string
		src  backing.Source
	}{
		{"mmap", backing.Mmap()},
		{"mmap, huge pages", backing.Mmap(backing.HugePages())},
	}
	var found []Walked
	for _, k := range kinds {
		walk, stop, err := Walk(k.src)
		if err != nil {
			continue
		}
		var ns []float64
		for range passes {
			ns = append(ns, rows.Measure(walk, turn))
		}
		stop()
		found = append(found, Walked{k.name, rival.Summarize(ns).Median})
	}
	return found
}
