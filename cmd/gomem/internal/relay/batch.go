package relay

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
)

// maxBatch bounds the frames of a batch, so that subscribers start to send while
// the publisher still reads.
const maxBatch = 128

// batch is frames that arrived together and are passed on together: what is
// counted and queued for each subscriber is the batch, not the frame. A key
// frame comes first in its batch and configuration comes alone, so subscribers
// that skip do so by whole batches.
//
// One batch is filled by one publisher, then read by many subscribers. It and its
// frames are released with the last reference.
type batch struct {
	refs   atomic.Int32
	first  flv.Kind
	frames []frame     // one reference each
	pieces net.Buffers // the bytes of the frames, in order
	bytes  int
}

// batches recycles batches. Their lists are made for a full one at once: grown step
// by step, each batch would allocate long into a run.
var batches = sync.Pool{New: func() any {
	return &batch{
		frames: make([]frame, 0, maxBatch),
		pieces: make(net.Buffers, 0, maxBatch+maxBatch/8), // a frame may lie in two blocks
	}
}}

// newBatch returns an empty batch with one reference.
func newBatch() *batch {
	b := batches.Get().(*batch)
	b.refs.Store(1)
	return b
}

// accepts reports whether a frame of this kind may follow in the batch.
func (b *batch) accepts(kind flv.Kind) bool {
	return len(b.frames) == 0 ||
		len(b.frames) < maxBatch && kind != flv.KeyFrame && !kind.IsConfig() && !b.first.IsConfig()
}

// add takes over the caller's reference to f.
func (b *batch) add(f frame, kind flv.Kind) {
	if len(b.frames) == 0 {
		b.first = kind
	}
	b.frames = append(b.frames, f)
	b.pieces = f.appendTo(b.pieces)
	b.bytes += f.size
}

func (b *batch) retain() { b.refs.Add(1) }

// release gives one reference back, and with the last the frames.
func (b *batch) release() {
	if b.refs.Add(-1) != 0 {
		return
	}
	for i := range b.frames {
		b.frames[i].release()
	}
	clear(b.pieces)
	b.frames, b.pieces, b.bytes = b.frames[:0], b.pieces[:0], 0
	batches.Put(b)
}
