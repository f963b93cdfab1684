package main

import (
	"fmt"
	"math"

	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/reading"
)

// caseLosses lists the goals that were missed, and the rivals that were faster
// than own.
func caseLosses(section string, all []compare.Measured, own string, rivals ...string) []string {
	var losses []string
	for _, m := range all {
		say := func(format string, args ...any) {
			losses = append(losses, fmt.Sprintf("%s, %s: ", section, m.Op)+fmt.Sprintf(format, args...))
		}
		for _, g := range m.Goals {
			got, ok := m.Reached(g)
			switch {
			case !ok || got <= g.Most:
			case g.Than == "":
				say("%s takes %s ns, goal %g", g.Way, number(got), g.Most)
			default:
				say("%s takes %s × %s, goal %g", g.Way, ratio(got, g.Most), g.Than, g.Most)
			}
			if s, _ := m.Of(g.Way); g.NoAllocs && s.Allocs >= noise {
				say("%s allocates %.2f times, goal 0", g.Way, s.Allocs)
			}
		}
		ours, _ := m.Of(own)
		for _, rival := range rivals {
			if s, ok := m.Of(rival); ok && s.Turns.Over(ours.Turns) < 1 {
				say("%s takes %.2f of our time", rival, s.Turns.Over(ours.Turns))
			}
		}
	}
	return losses
}

// scenarioLosses lists what was faster than GoMem in a whole program, or left
// less to the collector.
func (r *results) scenarioLosses() []string {
	ours := map[string]compare.Scenario{}
	for _, s := range r.Scenarios {
		if s.Way == reading.Gomem {
			ours[s.Op] = s
		}
	}
	var losses []string
	for _, s := range r.Scenarios {
		us := ours[s.Op]
		if s.Ns < us.Ns {
			losses = append(losses, fmt.Sprintf("reader, %s: %s takes %.2f of our time", s.Op, s.Way, s.Ns/us.Ns))
		}
		if s.Cycles < us.Cycles {
			losses = append(losses, fmt.Sprintf("reader, %s: %s makes the collector run %.0f times, GoMem %.0f", s.Op, s.Way, s.Cycles, us.Cycles))
		}
	}
	return losses
}

func (r *results) tlsfLosses() []string {
	var losses []string
	say := func(format string, args ...any) { losses = append(losses, fmt.Sprintf("tlsf, "+format, args...)) }
	for _, t := range r.Traces {
		a, known := anchors[t.Name]
		if ratio, ok := t.overGlibc(); ok && known && ratio > a.most {
			say("trace %s: %.2f × glibc, goal %.2f, which is what the TLSF in C takes at most", t.Name, ratio, a.most)
		}
		if t.Fragments > maxFragments {
			say("trace %s: fragmentation %.1f %%, goal %.0f %%", t.Name, 100*t.Fragments, 100*maxFragments)
		}
	}
	total := compare.Overall(r.Fragments)
	if total.Mean > meanFragments {
		say("random programs: mean fragmentation %.1f %%, goal %.0f %%", 100*total.Mean, 100*meanFragments)
	}
	if total.Max > maxFragments {
		say("random programs: maximum fragmentation %.1f %%, goal %.0f %%", 100*total.Max, 100*maxFragments)
	}
	return losses
}

// heldLosses holds the memory of the loads against its goals: what frames are cut
// from, by what reads hold, and what is in flight between goroutines.
func (r *results) heldLosses() []string {
	var losses []string
	for _, row := range r.Held {
		say := func(format string, args ...any) {
			losses = append(losses, fmt.Sprintf("load %s, %d goroutines: mapped ", row.Load, row.Goroutines)+fmt.Sprintf(format, args...))
		}
		switch {
		case row.Load == firstFit:
		case row.OverReads() > heldShortRead:
			say("%.2f × the bytes that reads hold, goal %g", row.OverReads(), heldShortRead)
		case row.Load == "xmalloc" && float64(row.PeakBacking) > heldXmalloc*float64(row.PeakLive)+float64(row.Chunk):
			say("%.2f × the bytes in flight, goal %g and a chunk", row.OverLive(), heldXmalloc)
		}
	}
	return losses
}

// checkLosses holds the price of checks and of the guard against its goals.
func (r *results) checkLosses() []string {
	var losses []string
	for _, c := range r.Checks {
		if c.Ratio > checkCost {
			losses = append(losses, fmt.Sprintf("checks, %s: %.3f of the time without them, goal %.2f", c.Op, c.Ratio, checkCost))
		}
	}
	for _, g := range r.Guarded {
		if g.With > guardCost {
			losses = append(losses, fmt.Sprintf("sampled guard, trace %s: %.3f of the time without it, goal %.2f; two without it differ by %.1f %%", g.Trace, g.With, guardCost, 100*math.Abs(g.Same-1)))
		}
	}
	return losses
}
