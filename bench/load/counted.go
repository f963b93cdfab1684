package load

import "sync/atomic"

// Counted is a Gomem that counts the bytes live in it, to the byte: what was
// asked for, less what was given back, a part of a block included. A block is live
// until its free returns: where many goroutines wait to free theirs, those blocks
// are what memory is mapped for. It is for runs that nobody times: two goroutines
// share the count.
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

// Free counts what it has freed.
func (c *Counted) Free(b []byte) {
	c.Gomem.Free(b)
	c.live.add(-len(b))
}

// Trim counts what it has freed.
func (c *Counted) Trim(b []byte, keep int) []byte {
	kept := c.Gomem.Trim(b, keep)
	c.live.add(len(kept) - len(b))
	return kept
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
