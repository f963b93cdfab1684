package main

import (
	"fmt"
	"strings"

	"github.com/gomem-go/gomem/bench/arenas"
	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/reading"
)

// writeCases prints a table with a column for each way, the allocations of our
// own, and what the goals came to.
func writeCases(p *printer, all []compare.Measured, own string, ways ...string) {
	p.f("| ns |")
	for _, way := range ways {
		p.f(" %s |", wayName(way))
	}
	p.f(" allocs/op | reached (goal) |\n|---|%s---:|---|\n", strings.Repeat("---:|", len(ways)))
	for _, m := range all {
		p.f("| %s |", m.Op)
		for _, way := range ways {
			s, _ := m.Of(way)
			p.f(" %s |", number(s.Turns.Median()))
		}
		ours, _ := m.Of(own)
		p.f(" %s | %s |\n", allocs(ours.Allocs), strings.Join(reached(&m), ", "))
	}
	p.f("\n")
}

// reached says what each goal of a case came to.
func reached(m *compare.Measured) []string {
	var all []string
	for _, g := range m.Goals {
		got, ok := m.Reached(g)
		switch {
		case !ok:
		case g.Than == "":
			all = append(all, fmt.Sprintf("%s ns (%g)", number(got), g.Most))
		default:
			all = append(all, fmt.Sprintf("%s × %s (%g)", ratio(got, g.Most), wayName(g.Than), g.Most))
		}
	}
	return all
}

// ratio is a ratio with a digit more where the goal has one.
func ratio(got, goal float64) string {
	if goal < 0.2 {
		return fmt.Sprintf("%.3f", got)
	}
	return fmt.Sprintf("%.2f", got)
}

func wayName(way string) string {
	switch way {
	case reading.Gomem:
		return "**GoMem**"
	case arenas.Lac:
		return "**lac**"
	}
	return way
}

// noise is how many allocations per operation are none: those of the runtime
// itself, and of a table that grew once.
const noise = 0.01

func allocs(perOp float64) string {
	if perOp < noise {
		return "0"
	}
	return fmt.Sprintf("%.2f", perOp)
}

func (r *results) writeReader(p *printer) {
	p.f("## BufReader\n\nns per operation over a mock network that returns 64 to 2,048 random bytes per Read. \"floor\" is the network alone, read into\none buffer, which is part of every other column; \"bufio\" is Peek and Discard with one buffer, \"bufio+make\" a fresh slice for\nwhat is read. Allocations are GoMem's.\n\n")
	writeCases(p, r.Reader, reading.Gomem, reading.Floor, reading.Bufio, reading.Made, reading.Gomem)
	p.f("### Whole programs\n\nThe scenarios of the article that introduced BufReader: \"bufio+make\" is its own comparison, \"bufio\" one as sparing as it gets.\nGC cycles are of %d packets.\n\n", r.ScenarioOps)
	p.f("| | | ns/packet | allocs/packet | B/packet | GC cycles |\n|---|---|---:|---:|---:|---:|\n")
	op := ""
	for _, s := range r.Scenarios {
		if s.Op == op {
			s.Op = ""
		} else {
			op = s.Op
		}
		p.f("| %s | %s | %s | %s | %.0f | %.0f |\n", s.Op, wayName(s.Way), number(s.Ns), allocs(s.Allocs), s.Bytes, s.Cycles)
	}
	p.f("\n")
}

func (r *results) writeLac(p *printer) {
	p.f("## Linear arena\n\nns per operation, release and reuse of the arena included. Where nothing is said, an arena is released after 2,000 operations.\n\"IncRef\" is a handle that several goroutines may use, \"scanned\" a pool that needs no Attach. Allocations are lac's.\nA goal in ns was set where the heap took 117 to 137 ns for 5 objects and 36,000 to 58,000 for the tree; behind it stands the same goal\nas a share of the heap's time. ")
	ways := []string{arenas.Heap, arenas.Lac, arenas.Shared, arenas.Scanned}
	if arenas.HasGoArena {
		p.f("Go's\narena is that of GOEXPERIMENT=arenas, with which all of this was built.\n\n")
		ways = append(ways, arenas.GoArena)
	} else {
		p.f("Go's\nown arena is missing: this was not built with GOEXPERIMENT=arenas.\n\n")
	}
	writeCases(p, r.Lac, arenas.Lac, ways...)
	p.f("In the predecessor's README \"Raw\" is the heap and \"Mt\" a shared handle; Malloc and MallocSmall are 5 objects, MallocLarge2 is the\ntree, MallocLarge the trees that stay alive. On another machine it took 51–56 ns for 5 objects and 12,200–13,800 for the tree, or\n91–99 and 24,500–25,500 with a shared handle; Go's arena took 160–320 and 55,000.\n\n")
	p.f("### Several goroutines\n\nns per operation of each goroutine, all of them in one arena: on as many cores, two take as long as one. What the\nmachine takes from two that share nothing shows \"2, not shared\", an arena for each.\n\n")
	writeCases(p, r.Together, arenas.TwoFork, arenas.Alone, arenas.TwoAlone, arenas.OneShared, arenas.TwoShared, arenas.OneFork, arenas.TwoFork)
}
