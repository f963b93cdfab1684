package relay

import (
	"slices"
	"sync"

	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
)

// stream is what one publisher sends and its subscribers receive. It exists
// while it has either.
type stream struct {
	name string

	mu       sync.Mutex
	preamble []byte    // the file header; nil while there is no publisher
	started  bool      // a frame has passed
	hasVideo bool      // a batch with video in front has passed, whatever the header says
	config   [3]*batch // what newcomers need, where it has come
	subs     []*subscriber
}

// canStart reports whether a receiver can begin with a frame of this kind: a
// key frame, or in a stream without video any frame that is not configuration.
func (st *stream) canStart(kind flv.Kind) bool {
	if st.hasVideo {
		return kind == flv.KeyFrame
	}
	return !kind.IsConfig()
}

// configSlot is the place of a configuration frame in stream.config, in the
// order in which receivers need them.
func configSlot(kind flv.Kind) int {
	switch kind {
	case flv.Metadata:
		return 0
	case flv.VideoConfig:
		return 1
	}
	return 2
}

// begin announces a publisher to those who wait for one.
func (st *stream) begin(h flv.Header) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.preamble = h.AppendPreamble(nil)
	for _, s := range st.subs {
		s.start(st.preamble, false)
	}
}

// publish hands a batch to all subscribers, each of which takes its own
// reference, and returns how many frames were dropped in all.
func (st *stream) publish(b *batch) (dropped int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if b.first.IsConfig() {
		slot := &st.config[configSlot(b.first)]
		if *slot != nil {
			(*slot).release()
		}
		b.retain()
		*slot = b
	}
	if k := b.first; k == flv.VideoConfig || k == flv.KeyFrame || k == flv.InterFrame {
		st.hasVideo = true
	}
	for _, s := range st.subs {
		dropped += s.offer(st, b)
	}
	st.started = true
	return dropped
}

// finish ends the stream: subscribers get what is queued, then the end.
func (st *stream) finish() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i, b := range st.config {
		if b != nil {
			b.release()
			st.config[i] = nil
		}
	}
	for _, s := range st.subs {
		s.end()
	}
	st.subs = nil
	st.preamble = nil
}

func (st *stream) add(s *subscriber) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.subs = append(st.subs, s)
	if st.preamble != nil {
		s.start(st.preamble, st.started)
	}
}

func (st *stream) remove(s *subscriber) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.subs = slices.DeleteFunc(st.subs, func(o *subscriber) bool { return o == s })
}

// idle reports that nobody publishes and nobody waits.
func (st *stream) idle() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.preamble == nil && len(st.subs) == 0
}

// live reports that somebody publishes.
func (st *stream) live() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.preamble != nil
}
