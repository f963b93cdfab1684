// Package rows holds the benchmark rows that the predecessors published or
// were measured with, as loops that `go test -bench` and the program that
// writes RESULTS.md both run.
package rows

import (
	"fmt"
	"sync"
	"time"

	"github.com/gomem-go/gomem/internal/stopwatch"
)

// Row is one loop over an operation, set up apart from it.
type Row struct {
	Group string // the type under test
	Name  string // key=value pairs, so that benchstat makes columns

	// Published is the predecessor's figure in ns per operation, measured on
	// the machine whose reference loops are in [References]; 0 without one.
	Published float64

	// Elsewhere names the machine that Published is of, if it is another one, on
	// which nobody ran the references; "" otherwise.
	Elsewhere string

	// Start prepares the state and returns the loop and what ends it. The loop
	// runs the operation n times.
	Start func() (loop func(n int), stop func())

	// Beside is the same done without GoMem, as fast as it goes; without a Start
	// if nothing is.
	Beside Way
}

// over is r with what is measured beside it, a loop over data that it shares with
// nobody.
func (r Row) over(name string, start func() func(n int)) Row {
	r.Beside = Way{name, func() (func(int), func()) { return start(), func() {} }}
	return r
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

// References are loops over the standard library that say how fast a machine is, first
// that of [Pace]; Published is what they took where the predecessors' figures come from.
func References() []Row {
	return []Row{
		Pace(),
		{Group: "reference", Name: "op=two-mutex-pairs", Published: 38, Start: func() (func(int), func()) {
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
		{Group: "reference", Name: "op=make-256", Published: 130, Start: func() (func(int), func()) {
			return func(n int) {
				for range n {
					Sink = make([]byte, 256)
				}
			}, func() { Sink = nil }
		}},
	}
}

// Pace is the reference by which rows are corrected for the machine. It leaves nothing to
// the collector, so that a short turn tells how fast the machine is at that moment, and
// has no locked instruction, as most of the predecessors' rows: what one costs differs from
// machine to machine by another factor than all else.
func Pace() Row {
	return Row{Group: "reference", Name: "op=sync.Pool", Published: 15, Start: func() (func(int), func()) {
		pool := sync.Pool{New: func() any { return new([64]byte) }}
		return func(n int) {
			for range n {
				pool.Put(pool.Get())
			}
		}, func() {}
	}}
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
		start := stopwatch.Now()
		loop(n)
		took := stopwatch.Now() - start
		if took >= turn/2 {
			return float64(took.Nanoseconds()) / float64(n)
		}
		n = max(2*n, int(float64(n)*float64(turn)/float64(max(took, time.Microsecond))))
	}
}
