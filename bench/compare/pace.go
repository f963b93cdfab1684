package compare

import (
	"runtime"
	"time"

	"github.com/gomem-go/gomem/bench/rows"
	"github.com/gomem-go/gomem/internal/stopwatch"
)

// pace is the loop of [rows.Pace], running: how fast the machine is at a moment.
type pace struct {
	loop timedLoop
	stop func()
}

func newPace(turn time.Duration) *pace {
	r := rows.Pace()
	loop, stop := r.Start()
	p := &pace{newTimedLoop(loop, turn), stop}
	p.loop.unit = r.Published
	return p
}

// now is how many times as long as published the loop takes.
func (p *pace) now() float64 { return p.loop.once() }

// timedLoop is a loop with the number of operations of a turn.
type timedLoop struct {
	loop    func(n int)
	n       int
	unit    float64 // ns
	garbage bool    // that it leaves some
}

const (
	// cycles of the collector are what a turn of a loop that makes garbage has at
	// least; the smallest heap is collected every cycleBytes.
	cycles     = 2
	cycleBytes = 4 << 20

	// A loop makes garbage if it leaves more than this in a turn: less may be what
	// it keeps, and would have the collector run once in many turns.
	leastGarbage = cycleBytes / 64
)

// newTimedLoop finds out how many operations take a turn of that length. A loop
// that makes garbage has a longer one, so that every turn has its share of the
// collector's work.
func newTimedLoop(loop func(n int), turn time.Duration) timedLoop {
	n := max(1, int(float64(turn.Nanoseconds())/rows.Measure(loop, turn)))
	if left := collected(loop, n).bytes; left > leastGarbage {
		return timedLoop{loop, max(n, int(cycles*cycleBytes*uint64(n)/left)), 1, true}
	}
	return timedLoop{loop, n, 1, false}
}

// once is what an operation takes in one turn, in units of the loop.
func (l *timedLoop) once() float64 {
	start := stopwatch.Now()
	l.loop(l.n)
	return float64((stopwatch.Now() - start).Nanoseconds()) / (float64(l.n) * l.unit)
}

// collect ends what a turn left the collector to do, which is not for the next
// loop to wait for.
func (l *timedLoop) collect() {
	if l.garbage {
		runtime.GC()
	}
}
