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

// progress shows how far a run is. Showing it allocates nothing. It may be used
// from any goroutine.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	line     []byte
	width    int // of the line on the terminal
	shown    time.Time
	frames   int64 // delivered, when last shown
	bytes    int64
}

func newProgress(w io.Writer) *progress {
	return &progress{w: w, terminal: cli.IsTerminal(w), line: make([]byte, 0, 256)}
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
	if !p.terminal && since < plainTick || since <= 0 {
		return
	}
	frames, bytes := c.framesOut.Load(), c.bytesOut.Load()
	b := append(p.line[:0], engine...)
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
	p.shown, p.frames, p.bytes = now, frames, bytes
	p.put(b)
}

// put writes a line over the last one on a terminal, below it elsewhere.
func (p *progress) put(b []byte) {
	if !p.terminal {
		p.line = append(b, '\n')
		p.w.Write(p.line)
		return
	}
	width := len(b)
	for len(b) < p.width {
		b = append(b, ' ')
	}
	p.width = width
	p.line = append(b, '\r')
	p.w.Write(p.line)
}

// clear removes the line from the terminal.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal && p.width > 0 {
		p.put(p.line[:0])
	}
}

// say writes a line that stays.
func (p *progress) say(format string, args ...any) {
	p.clear()
	p.mu.Lock()
	defer p.mu.Unlock()
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
