// Package rows holds the benchmark rows that the predecessors published or
// were measured with, as loops that `go test -bench` and the program that
// writes RESULTS.md both run.
package rows

import (
	"fmt"
	"sync"
	"time"
)

// Row is one loop over an operation, set up apart from it.
type Row struct {
	Group string // the type under test
	Name  string // key=value pairs, so that benchstat makes columns

	// Published is the predecessor's figure in ns per operation, measured on
	// the machine whose reference loops are in [References]; 0 without one.
	Published float64

	// Start prepares the state and returns the loop and what ends it. The loop
	// runs the operation n times.
	Start func() (loop func(n int), stop func())
}

// All returns the rows of every group, in the order of the report.
func All() []Row {
	var all []Row
	for _, group := range [][]Row{
		scalable(), recyclable(), cliffs(), create(), offsets(), buddies(), memory(), reader(), realTime(),
	} {
		all = append(all, group...)
	}
	return all
}

// References are loops over the standard library that say how fast a machine
// is; Published is what they took where the predecessors' figures come from.
func References() []Row {
	return []Row{
		{"reference", "op=two-mutex-pairs", 38, func() (func(int), func()) {
			var a, b sync.Mutex
			return func(n int) {
				for range n {
					a.Lock()
					Count++
					a.Unlock()
					b.Lock()
					Count++
					b.Unlock()
				}
			}, func() {}
		}},
		{"reference", "op=sync.Pool", 15, func() (func(int), func()) {
			pool := sync.Pool{New: func() any { return new([64]byte) }}
			return func(n int) {
				for range n {
					pool.Put(pool.Get())
				}
			}, func() {}
		}},
		{"reference", "op=make-256", 130, func() (func(int), func()) {
			return func(n int) {
				for range n {
					Sink = make([]byte, 256)
				}
			}, func() { Sink = nil }
		}},
	}
}

func sizeText(n int64) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return fmt.Sprintf("%dB", n)
}

// Sink keeps what a loop makes from being optimized away. It is exported for
// that: what another package may read must be written.
var Sink []byte

// Measure returns the ns per operation of one turn of about the length given.
func Measure(loop func(n int), turn time.Duration) float64 {
	for n := 1; ; {
		start := time.Now()
		loop(n)
		took := time.Since(start)
		if took >= turn/2 {
			return float64(took.Nanoseconds()) / float64(n)
		}
		n = max(2*n, int(float64(n)*float64(turn)/float64(max(took, time.Microsecond))))
	}
}
