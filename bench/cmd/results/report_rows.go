package main

import (
	"fmt"

	"github.com/gomem-go/gomem/bench/compare"
)

// writeRows prints what the correction for the machine came to, and then the rows.
func (r *results) writeRows(p *printer) {
	pool, locks, garbage := r.References[0], r.References[1], r.References[2]
	p.f("## The predecessors' rows\n\n\"published\" was measured on another machine. What differs between the two is taken out by a loop over the standard library,\nsync.Pool, which took %s times as long here: the pace that a ratio is over. Two loops are no part of it. Two mutex pairs took\n%s times as long: what a locked instruction costs differs by another factor, and most of the predecessors' rows have none. With make-256,\nwhich took %s times as long, that depends on the collector and so on what else runs.\n\n", number(overPublished(pool)), number(overPublished(locks)), number(overPublished(garbage)))
	quiet, usual := r.paces()
	p.f("Each row has many turns of less than a millisecond, each between two looks at the pace. What counts is the eighth of its turns in which\nthe pace was fastest: published figures are of a machine with nothing else to do. The ratio is taken turn by turn, and the range is\nthat of its quartiles. Of what makes garbage the faster half of these turns count, as the collector waits for a processor that\nothers have. The pace was %s (%s to %s over the rows) in the turns that count, and %s in the median turn.\nWhat is left is where code comes to lie: 16 times Skip took 31 or 54 ns in programs that differ in other rows only.\n\n", number(quiet.Median), number(quiet.Low), number(quiet.High), number(usual))
	p.f("| | ns here | published | ratio | range | beside it |\n|---|---:|---:|---:|---:|---|\n")
	for _, group := range [][]compare.Timed{r.References, r.Rows} {
		for _, row := range group {
			p.f("| %s %s | %s | %s | %s | %s–%s |", row.Group, row.Name, number(row.Ns), number(row.Published), number(row.Ratio.Median), number(row.Ratio.Low), number(row.Ratio.High))
			switch {
			case row.OverBeside > 0:
				p.f(" %s", besideOf(row))
			case row.Elsewhere != "":
				p.f(" published of an %s, not corrected", row.Elsewhere)
			}
			p.f(" |\n")
		}
	}
	p.f("\n")
}

// besideOf says what a row took beside the same without GoMem.
func besideOf(row compare.Timed) string {
	return fmt.Sprintf("%s takes %.2f of our time", row.Beside.Name, 1/row.OverBeside)
}

// overPublished is what a row took here over what it took there, neither
// corrected.
func overPublished(row compare.Timed) float64 { return row.Ns / row.Published }

// paces is the pace of the rows' quiet turns and of all turns.
func (r *results) paces() (quiet compare.Spread, usual float64) {
	var quiets, usuals []float64
	for _, row := range r.Rows {
		quiets = append(quiets, row.Pace.Median)
		usuals = append(usuals, row.UsualPace)
	}
	return compare.SpreadOf(quiets), compare.SpreadOf(usuals).Median
}

// rowLosses lists the rows that missed their goal, and what is no slower than they
// are though it does without GoMem.
func (r *results) rowLosses() []string {
	var losses []string
	for _, row := range r.Rows {
		if row.Ratio.Median <= ofPublished {
			continue
		}
		loss := fmt.Sprintf("row %s %s: %.2f of the published figure, ", row.Group, row.Name, row.Ratio.Median)
		if row.Ratio.Median > 1 {
			loss += "slower"
		} else {
			loss += fmt.Sprintf("goal %.1f", ofPublished)
		}
		if row.OverBeside > 0 {
			loss += "; " + besideOf(row)
		}
		losses = append(losses, loss)
	}
	return losses
}

// overFirst is what a row of bounded time takes over the first of them, by the
// pace of either.
func (r *results) overFirst(row compare.Timed) float64 {
	return row.Paced.Median / r.Bounded[0].Paced.Median
}

func (r *results) writeBounded(p *printer) {
	p.f("## Bounded time\n\nA free and an allocation on TLSF with so many free blocks, warm, measured as the rows above.\n\n| | ns | / first |\n|---|---:|---:|\n")
	for _, row := range r.Bounded {
		p.f("| %s | %s | %.2f |\n", row.Name, number(row.Ns), r.overFirst(row))
	}
	p.f("\n")
}
