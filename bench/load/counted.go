package load

import "sync/atomic"

// Counted is a Gomem that counts the bytes live in it, to the byte: what was
// asked for, less what was given back, a part of a block included. It is for
// runs that nobody times: two goroutines share the count.
type Counted struct {
	Gomem
	live, peak atomic.Int64
}

// Peak is the most bytes that were live at once.
func (c *Counted) Peak() int64 { return c.peak.Load() }

// Malloc counts n bytes.
func (c *Counted) Malloc(n int) []byte {
	b := c.Gomem.Malloc(n)
	live := c.live.Add(int64(n))
	for peak := c.peak.Load(); live > peak && !c.peak.CompareAndSwap(peak, live); {
		peak = c.peak.Load()
	}
	return b
}

// Free counts before it frees: what is counted is never more than is live.
func (c *Counted) Free(b []byte) {
	c.live.Add(-int64(len(b)))
	c.Gomem.Free(b)
}

// Trim counts what it frees.
func (c *Counted) Trim(b []byte, keep int) []byte {
	c.live.Add(int64(keep - len(b)))
	return c.Gomem.Trim(b, keep)
}

// FreePart counts as Free does.
func (c *Counted) FreePart(b []byte) { c.Free(b) }
