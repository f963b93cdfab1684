// Package rival replays allocation traces through GoMem and the other
// allocators that a Go program may choose, and shares one protocol with the C
// program in ../native/src: a table of blocks by id, the first byte of each block
// written, everything freed before the next round.
//
// Each allocator has its own copy of the loop. A loop over an interface or a
// type parameter costs up to 2 ns per operation for the indirect calls, a
// quarter of what the fastest allocator here takes. What the loops share is inlined.
package rival

import (
	"slices"

	"github.com/gomem-go/gomem/internal/stopwatch"
	"github.com/gomem-go/gomem/internal/trace"
)

// Replayer replays traces through one allocator. Not safe for use from several
// goroutines.
type Replayer interface {
	// Name returns the allocator's name in benchmark rows.
	Name() string
	// Round runs all operations of t once. Requires a trace for whose number of
	// blocks the replayer was made.
	Round(t *trace.Trace)
	// Close gives the memory back.
	Close()
}

// Floor is the name of the replayer that allocates nothing: what the loop, the
// table and the touch cost.
const Floor = "floor"

// New returns a replayer of that name for t, or for others with no more blocks; nil
// for a name that [Names] does not have.
func New(name string, t *trace.Trace) Replayer {
	make := constructors[name]
	if make == nil {
		return nil
	}
	return make(t)
}

// Names returns the names of all replayers: the floor, GoMem, its pool of fixed
// size, then the rivals.
func Names() []string {
	return []string{Floor, "gomem", TLSF, "mcache", "modernc", "syncpool", "grpc", "bytebufferpool", "ristretto", "make"}
}

var constructors = map[string]func(t *trace.Trace) Replayer{
	Floor:            newFloor,
	"gomem":          func(t *trace.Trace) Replayer { return NewGomem(t) },
	TLSF:             newTLSF,
	"mcache":         newMcache,
	"modernc":        newModernc,
	"syncpool":       newSyncPool,
	"grpc":           newGRPC,
	"bytebufferpool": newByteBufferPool,
	"ristretto":      newRistretto,
	"make":           newMake,
}

// Timing is what several rounds of one trace took, in ns per operation.
type Timing struct{ Best, Median float64 }

// Measure runs rounds rounds and times each.
func Measure(r Replayer, t *trace.Trace, rounds int) Timing {
	ns := make([]float64, rounds)
	for i := range ns {
		start := stopwatch.Now()
		r.Round(t)
		ns[i] = float64((stopwatch.Now() - start).Nanoseconds()) / float64(len(t.Ops))
	}
	return Summarize(ns)
}

// Summarize returns the best and the median of ns, which it sorts. Requires at
// least one value.
func Summarize(ns []float64) Timing {
	slices.Sort(ns)
	return Timing{Best: ns[0], Median: ns[len(ns)/2]}
}
