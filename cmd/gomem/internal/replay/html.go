package replay

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

// page is the whole report: styles and drawings are in it, and it loads nothing.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"bytes": bytesText,
	"share": share,
	"ns":    func(v float64) string { return fmt.Sprintf("%.1f", v) },
	"ratio": func(r result, o outcome) string { return fmt.Sprintf("%.2f", r.ratio(o)) },
	"round": round,

	"drawSpeed":   drawSpeed,
	"drawMemory":  drawMemory,
	"drawLatency": drawLatency,
	"drawChunk":   drawChunk,
}).Parse(pageText))

func writePage(w io.Writer, results []result) error { return page.Execute(w, results) }

// Summary is the line below a trace's name.
func (r result) Summary() string { return r.summary() }

// MostBacking is the most that any configuration held: the scale that the
// memory charts of a trace share.
func (r result) MostBacking() int64 {
	most := r.Trace.PeakBytes
	for _, o := range r.Outcomes {
		most = max(most, o.Memory.PeakBacking)
	}
	return most
}
