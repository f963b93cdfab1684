package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomem-go/gomem/bench/arenas"
	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/reading"
)

// writeSummary prints the table that the README takes over.
func (r *results) writeSummary(p *printer) {
	p.f("## In short\n\n| GoMem takes | of the time of | for |\n|---|---|---|\n")
	for _, row := range r.summary() {
		if len(row.ratios) > 0 {
			p.f("| %s | %s | %s |\n", span(row.ratios), row.rival, row.what)
		}
	}
	p.f("\n")
}

// compared is what GoMem took over a rival, in each of several things.
type compared struct {
	ratios      compare.Turns
	rival, what string
}

func (r *results) summary() []compared {
	var names []string
	for _, t := range r.Traces {
		names = append(names, t.Name)
	}
	traces := "recordings of " + strings.Join(names, ", ")
	return []compared{
		{r.overTraces(compare.Reference), "mimalloc, in C", traces},
		{r.overTraces("make"), "`make`", "the same"},
		{r.overTraces("syncpool"), "pools of `sync.Pool`", "the same"},
		{r.overTraces("modernc"), "`modernc.org/memory`, for one goroutine", "the same"},
		{r.overLoads("syncpool", "larson", "mstress", "rptest", "xmalloc"), "pools of `sync.Pool`, two goroutines",
			"blocks that are replaced at random, in part or all by the other one"},
		{overCase(r.Reader, "4-byte header", reading.Gomem, reading.Bufio), "`bufio`, `Peek` and `Discard`", "a header of 4 bytes and its payload"},
		{r.overScenario("streaming server", reading.Bufio), "`bufio`, one copy for all", "a stream with four subscribers that are late"},
		{overCase(r.Lac, "5 objects, released each time", arenas.Lac, arenas.Heap), "the Go heap", "five objects of an arena, and its release"},
		{r.overLoads("syncpool", "malloc-large"), "pools of `sync.Pool`, two goroutines", "blocks of 5 to 25 MiB, not rounded up to powers of two"},
		{r.overLoads("syncpool", "short-read, frame by frame"), "the same", "reads of which each frame is freed by itself, and there as a whole"},
	}
}

func (r *results) overTraces(impl string) (ratios compare.Turns) {
	for _, t := range r.Traces {
		ours, found := find(t.Rows, "gomem")
		theirs, ok := find(t.Rows, impl)
		if found && ok {
			ratios = append(ratios, ours.Turns.Over(theirs.Turns))
		}
	}
	return ratios
}

// overLoads is over the loads of these names with two goroutines.
func (r *results) overLoads(impl string, loads ...string) (ratios compare.Turns) {
	for _, rows := range r.Loads {
		took := map[string]compare.Turns{}
		for _, row := range rows {
			if row.Goroutines == 2 && slices.Contains(loads, row.Load) {
				took[row.Impl] = row.Turns
			}
		}
		if len(took["gomem"]) > 0 && len(took[impl]) > 0 {
			ratios = append(ratios, took["gomem"].Over(took[impl]))
		}
	}
	return ratios
}

// overCase is of the case whose name begins so.
func overCase(all []compare.Measured, op, own, way string) (ratios compare.Turns) {
	for _, m := range all {
		ours, found := m.Of(own)
		theirs, ok := m.Of(way)
		if found && ok && strings.HasPrefix(m.Op, op) {
			ratios = append(ratios, ours.Turns.Over(theirs.Turns))
		}
	}
	return ratios
}

func (r *results) overScenario(op, way string) (ratios compare.Turns) {
	var ours, theirs float64
	for _, s := range r.Scenarios {
		switch {
		case !strings.HasPrefix(s.Op, op):
		case s.Way == reading.Gomem:
			ours = s.Ns
		case s.Way == way:
			theirs = s.Ns
		}
	}
	if ours > 0 && theirs > 0 {
		ratios = append(ratios, ours/theirs)
	}
	return ratios
}

// span prints the least and the largest of some ratios, with one digit that counts.
func span(ratios compare.Turns) string {
	digit := func(v float64) string {
		if v < 0.095 {
			return fmt.Sprintf("%.2f", v)
		}
		return fmt.Sprintf("%.1f", v)
	}
	low, high := digit(slices.Min(ratios)), digit(slices.Max(ratios))
	if low == high {
		return low
	}
	return low + " to " + high
}
