package main

import (
	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/rival"
)

// glibc is what the published figures of the TLSF in C are related to.
const glibc = "glibc (C)"

// anchor is what the TLSF in C by M. Conte took over what glibc took, where both
// were measured beside each other; Debian has no package of it.
type anchor struct{ least, most float64 }

var anchors = map[string]anchor{
	"ffmpeg": {1.15, 1.3},            // 16 to 21 ns over 14 to 16
	"gcc":    {14 / 9.2, 15 / 9.2},   // 14 to 15 over 9.2
	"git":    {25.0 / 29, 29.0 / 33}, // 25 to 29 over 29 to 33
	"python": {21.0 / 16, 28.0 / 18}, // 21 to 28 over 16 to 18
	"sqlite": {0.65, 0.75},           // 17 to 24 over 23 to 36
}

// overGlibc is what our pool took on a trace over what glibc took.
func (t *traceResult) overGlibc() (ratio float64, ok bool) {
	ours, found := find(t.Rows, rival.TLSF)
	theirs, there := find(t.Rows, glibc)
	if !found || !there {
		return 0, false
	}
	return ours.Turns.Over(theirs.Turns), true
}

func (r *results) writeTLSF(p *printer) {
	p.f("## TLSF\n\nA tlsf.Pool on the traces above, in the same turns, over glibc (C). Beside it the TLSF in C by M. Conte over glibc, measured on\nanother machine: it is not packaged. Fragmentation is the highest offset in use over the most bytes live, less one; its authors\npublish a mean below %.0f %% and at most %.0f %%.\n\n", 100*meanFragments, 100*maxFragments)
	p.f("| trace | ns/op | / glibc (C) | TLSF (C) / glibc (C) | fragmentation |\n|---|---:|---:|---:|---:|\n")
	for _, t := range r.Traces {
		ours, _ := find(t.Rows, rival.TLSF)
		p.f("| %s | %.1f |", t.Name, ours.Turns.Median())
		if ratio, ok := t.overGlibc(); ok {
			p.f(" %.2f", ratio)
		}
		p.f(" |")
		if a, ok := anchors[t.Name]; ok {
			p.f(" %.2f–%.2f", a.least, a.most)
		}
		p.f(" | %.1f %% |\n", 100*t.Fragments)
	}
	p.f("\n| random programs | mean | maximum |\n|---|---:|---:|\n")
	for _, f := range append(r.Fragments, compare.Overall(r.Fragments)) {
		p.f("| %s | %.1f %% | %.1f %% |\n", f.Load, 100*f.Mean, 100*f.Max)
	}
	p.f("\n")
}

func (r *results) writeHeld(p *printer) {
	p.f("### Memory\n\nThe most memory that GoMem mapped over the most bytes live at once, in a run of its own that was not timed. A block is live\nuntil its free returns, also while that waits. \"reads\" are the bytes of reads of which a frame is in use. With any lateness,\nwhat is kept lies everywhere, and what is freed between is too short for the next read: first fit by address, SingleTree, shows\nhow much of that is the load's own.\n\n")
	p.f("| | goroutines | live, MB | reads, MB | mapped, MB | mapped / live | mapped / reads |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, row := range r.Held {
		p.f("| %s | %d | %s | %s | %s | %.2f | %s |\n", row.Load, row.Goroutines, number(float64(row.PeakLive)/1e6), number(float64(row.PeakReads)/1e6), number(float64(row.PeakBacking)/1e6), row.OverLive(), number(row.OverReads()))
	}
	p.f("\n")
}

func (r *results) writeChecks(p *printer) {
	p.f("## The price of noticing misuse\n\n")
	if len(r.Checks) == 0 {
		p.f("The price of the check of a free is missing: the engine's source could not be built without it.\n\n")
	} else {
		p.f("ns of a Malloc and its Free, beside a program from whose engine the comparison was taken out that refuses a free; the record that\nit compares with is the free list's too, and stays. The goal is %.2f.\n\n| | with the check | without it | ratio |\n|---|---:|---:|---:|\n", checkCost)
		for _, c := range r.Checks {
			p.f("| %s | %s | %s | %.3f |\n", c.Op, number(c.With), number(c.Without), c.Ratio)
		}
		p.f("\n")
	}
	p.f("The time of an allocator with WithSampledGuard over the mean of two without, in turns. Beside it one of these over the other, which\nis what the measurement itself is off by. The goal is %.2f.\n\n| trace | with the guard | without, again |\n|---|---:|---:|\n", guardCost)
	for _, g := range r.Guarded {
		p.f("| %s | %.3f | %.3f |\n", g.Trace, g.With, g.Same)
	}
	p.f("\n")
}
