package load

import "sync/atomic"

// Counted is a Gomem that counts the bytes live in it, to the byte: what was
// asked for, less what was given back, a part of a block included. It is for
// runs that nobody times: two goroutines share the count.
type Counted struct {
	Gomem
	live, held gauge
}

// Peak is the most bytes that were live at once.
func (c *Counted) Peak() int { return int(c.live.peak.Load()) }

// PeakHeld is the most bytes that reads held at once; 0 where nothing is read.
func (c *Counted) PeakHeld() int { return int(c.held.peak.Load()) }

// Malloc counts n bytes.
func (c *Counted) Malloc(n int) []byte {
	b := c.Gomem.Malloc(n)
	c.live.add(n)
	return b
}

// Free counts before it frees: what is counted is never more than is live.
func (c *Counted) Free(b []byte) {
	c.live.add(-len(b))
	c.Gomem.Free(b)
}

// Trim counts what it frees.
func (c *Counted) Trim(b []byte, keep int) []byte {
	c.live.add(keep - len(b))
	return c.Gomem.Trim(b, keep)
}

// FreePart counts as Free does.
func (c *Counted) FreePart(b []byte) { c.Free(b) }

// Hold counts apart from what is live.
func (c *Counted) Hold(n int) { c.held.add(n) }

// gauge is a number that goes up and down, and the most that it was.
type gauge struct{ now, peak atomic.Int64 }

func (g *gauge) add(n int) {
	now := g.now.Add(int64(n))
	for peak := g.peak.Load(); now > peak && !g.peak.CompareAndSwap(peak, now); {
		peak = g.peak.Load()
	}
}
