//go:build !unix

package gomem

import "io"

// rawSource would wait for data without holding a block; this system has no way
// to ask, so a reader waits with the block in hand.
type rawSource struct{}

func newRawSource(io.Reader) *rawSource { return nil }

func (b *BufReader) fillIdle() error { return b.fillTail() }
