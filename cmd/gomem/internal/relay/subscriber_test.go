package relay

import (
	"slices"
	"testing"

	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
)

// A subscriber that missed configuration gets it before the key frame that it goes on
// with, and only then.
func TestMissedConfigurationIsSentAgain(t *testing.T) {
	one := func(kind flv.Kind) *batch {
		b := newBatch()
		b.add(frame{size: 1, plain: []byte{1}}, kind)
		return b
	}
	for _, missed := range []bool{false, true} {
		s := newSubscriber(nil, false, 0)
		st := &stream{hasVideo: true}
		for i := range queueBatches {
			if n := s.offer(st, one(flv.InterFrame)); n != 0 {
				t.Fatalf("batch %d is dropped", i)
			}
		}
		config, key := one(flv.VideoConfig), one(flv.KeyFrame)
		st.config[configSlot(flv.VideoConfig)] = config
		if s.offer(st, one(flv.InterFrame)) != 1 || missed && s.offer(st, config) != 1 {
			t.Fatal("there was room for one more")
		}
		s.take()
		s.taken = s.taken[:0]
		if n := s.offer(st, key); n != 0 {
			t.Fatal("the key frame is dropped")
		}
		s.take()
		want := []*batch{key}
		if missed {
			want = []*batch{config, key}
		}
		if !slices.Equal(s.taken, want) {
			t.Errorf("configuration missed: %v; %d batches behind the gap, want %d", missed, len(s.taken), len(want))
		}
	}
}
