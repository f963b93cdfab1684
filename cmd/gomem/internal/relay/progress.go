package relay

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/gomem-go/gomem/cmd/gomem/internal/cli"
)

// How often the progress is shown: as a line that is written over on a
// terminal, as lines of their own elsewhere.
const (
	tick      = 200 * time.Millisecond
	plainTick = 2 * time.Second
)

// progress shows how far a run is. Showing it allocates nothing but room for longer
// lines. It may be used from any goroutine.
type progress struct {
	mu     sync.Mutex
	w      io.Writer
	line   *cli.Line
	text   []byte // of the line
	shown  time.Time
	frames int64 // delivered, when last shown
	bytes  int64
}

func newProgress(w io.Writer) *progress {
	return &progress{w: w, line: cli.NewLine(w)}
}

// reset begins a new run, whose counters start at zero.
func (p *progress) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown, p.frames, p.bytes = time.Now(), 0, 0
}

// show writes the line if it is due. phase is in words, total zero if the run has
// no end.
func (p *progress) show(engine, phase string, elapsed, total time.Duration, c *counters) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	since := now.Sub(p.shown)
	if !p.line.Terminal() && since < plainTick || since <= 0 {
		return
	}
	frames, bytes := c.framesOut.Load(), c.bytesOut.Load()
	b := append(p.text[:0], engine...)
	b = append(b, ": "...)
	b = append(b, phase...)
	b = append(b, ' ')
	b = strconv.AppendFloat(b, elapsed.Seconds(), 'f', 1, 64)
	if total > 0 {
		b = append(b, " of "...)
		b = strconv.AppendFloat(b, total.Seconds(), 'f', 1, 64)
	}
	b = append(b, " s  "...)
	b = appendCount(b, int64(float64(frames-p.frames)/since.Seconds()))
	b = append(b, " frames/s  "...)
	b = strconv.AppendFloat(b, float64(bytes-p.bytes)/1e6/since.Seconds(), 'f', 1, 64)
	b = append(b, " MB/s  "...)
	b = appendCount(b, c.publishers.Load())
	b = append(b, " publishers  "...)
	b = appendCount(b, c.subscribers.Load())
	b = append(b, " subscribers"...)
	if n := c.dropped.Load(); n > 0 {
		b = append(b, "  "...)
		b = appendCount(b, n)
		b = append(b, " dropped"...)
	}
	p.text, p.shown, p.frames, p.bytes = b, now, frames, bytes
	p.line.Show(b)
}

// clear removes the line from the terminal.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line.Clear()
}

// say writes a line that stays.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line.Clear()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// appendCount appends n with commas between the thousands.
func appendCount(b []byte, n int64) []byte {
	if n < 0 {
		b = append(b, '-')
		n = -n
	}
	if n >= 1000 {
		b = appendCount(b, n/1000)
		b = append(b, ',')
		n %= 1000
		b = append(b, byte('0'+n/100), byte('0'+n/10%10))
		return append(b, byte('0'+n%10))
	}
	return strconv.AppendInt(b, n, 10)
}
