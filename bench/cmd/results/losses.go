package main

import (
	"fmt"
	"strings"

	"github.com/gomem-go/gomem/bench/arenas"
	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/load"
	"github.com/gomem-go/gomem/bench/reading"
	"github.com/gomem-go/gomem/bench/rival"
)

// The goals that a figure is held against.
const (
	overNative    = 1.3 // of mimalloc, on each trace
	ofPublished   = 0.5 // of each published row
	smallMean     = 256 // bytes: below, more backing is allowed
	backingSmall  = 1.5
	backing       = 1.25
	overFragments = 2.0
	twoGoroutines = 1.8
	meanFragments = 0.15 // of package tlsf
	maxFragments  = 0.25
	checkCost     = 1.05
	guardCost     = 1.01
	heldShortRead = 1.35
	heldXmalloc   = 2.0 // and a chunk
)

// losses lists where GoMem is behind a rival or a goal.
func (r *results) losses() []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, t := range r.Traces {
		ours, found := find(t.Rows, "gomem")
		if !found {
			continue
		}
		if reference(t.Rows) == compare.Reference && ours.Ratio > overNative {
			say("trace %s: %.2f × mimalloc, goal %.1f", t.Name, ours.Ratio, overNative)
		}
		for _, row := range t.Rows {
			if isGoRival(row.Impl) && row.Turns.Over(ours.Turns) < 1 {
				say("trace %s: %s takes %.2f of our time", t.Name, row.Impl, row.Turns.Over(ours.Turns))
			}
		}
		most := backing
		if t.Trace.MeanBytes() < smallMean {
			most = backingSmall
		}
		if t.Held > most {
			say("trace %s: peak backing is %.2f × peak live, goal %.2f", t.Name, t.Held, most)
		}
	}
	all = append(all, r.tlsfLosses()...)
	for _, rows := range r.Loads {
		all = append(all, loadLosses(rows)...)
	}
	all = append(all, r.heldLosses()...)
	all = append(all, r.checkLosses()...)
	all = append(all, caseLosses("reader", r.Reader, reading.Gomem, reading.Bufio, reading.Made)...)
	all = append(all, r.scenarioLosses()...)
	all = append(all, caseLosses("lac", r.Lac, arenas.Lac, arenas.Heap, arenas.GoArena)...)
	all = append(all, caseLosses("lac, goroutines", r.Together, arenas.TwoFork)...)
	all = append(all, r.rowLosses()...)
	for _, row := range r.Bounded {
		if ratio := r.overFirst(row); ratio > overFragments {
			say("bounded time: %s takes %.2f × the first", row.Name, ratio)
		}
	}
	return all
}

// loadLosses compares the allocators of one load.
func loadLosses(rows []compare.LoadRow) []string {
	var all []string
	ours, floor := map[int]compare.Turns{}, map[int]compare.Turns{}
	for _, row := range rows {
		switch row.Impl {
		case "gomem":
			ours[row.Goroutines] = row.Turns
		case load.Floor:
			floor[row.Goroutines] = row.Turns
		}
	}
	for _, row := range rows {
		if us := ours[row.Goroutines]; row.Impl != "gomem" && row.Impl != load.Floor && row.Turns.Over(us) < 1 {
			all = append(all, fmt.Sprintf("load %s, %d goroutines: %s takes %.2f of our time", row.Load, row.Goroutines, row.Impl, row.Turns.Over(us)))
		}
	}
	if len(rows) == 0 {
		return all
	}
	name := rows[0].Load
	if gain := ours[1].Over(ours[2]); (name == "larson" || name == "mstress") && gain < twoGoroutines {
		all = append(all, fmt.Sprintf("load %s: two goroutines do %.2f × the work of one, goal %.1f; without an allocator %.2f", name, gain, twoGoroutines, floor[1].Over(floor[2])))
	}
	if more := ours[1000].Over(ours[2]); more > 1 {
		all = append(all, fmt.Sprintf("load %s: an allocation by 1000 goroutines takes %.2f × one by two, goal 1; without an allocator %.2f", name, more, floor[1000].Over(floor[2])))
	}
	return all
}

func find(rows []compare.Row, impl string) (compare.Row, bool) {
	for _, row := range rows {
		if row.Impl == impl {
			return row, true
		}
	}
	return compare.Row{}, false
}

// isGoRival reports whether impl is an allocator of a Go program, other than
// ours.
func isGoRival(impl string) bool {
	return impl != "gomem" && impl != rival.TLSF && impl != rival.Floor && !strings.HasSuffix(impl, "(C)")
}

func (r *results) writeLosses(p *printer) {
	p.f("## Where GoMem loses\n\n")
	all := r.losses()
	if len(all) == 0 {
		p.f("Nowhere in this run: every goal was met and every rival was slower.\n\n")
		return
	}
	p.f("Every goal that was missed and every Go rival that was faster in this run; the tables have the C allocators:\n\n")
	for _, line := range all {
		p.f("- %s\n", line)
	}
	p.f("\n")
}
