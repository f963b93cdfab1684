package gomem

import (
	"slices"
	"strings"
	"testing"
)

// TestReleasedFrameKeepsNoBlock: the header of a frame of many blocks, which waits for the
// next one, refers to none of them.
func TestReleasedFrameKeepsNoBlock(t *testing.T) {
	b := NewBufReaderWithBufLen(strings.NewReader(strings.Repeat("frame", 100)), 16)
	defer b.Recycle()
	s, err := b.ReadShared(200)
	if err != nil {
		t.Fatal(err)
	}
	p := &s.home.across
	if len(p.views) <= len(p.inlineViews) {
		t.Fatalf("the frame lies in %d blocks", len(p.views))
	}
	b.Recycle()
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	isSet := func(v []byte) bool { return v != nil }
	if slices.ContainsFunc(p.inlineViews[:], isSet) || slices.ContainsFunc(p.views[:cap(p.views)], isSet) {
		t.Error("its header has views of it")
	}
}

// TestRecycledKeepsNoBlock: nor does a chain that was recycled, wherever ClipFront ended.
func TestRecycledKeepsNoBlock(t *testing.T) {
	for _, clip := range []int{0, 100, 150, 300} {
		r, a := newRecyclable(t)
		for range 3 {
			r.NextN(100)
		}
		array := r.Buffers[:cap(r.Buffers)]
		rd := r.NewReader()
		if err := rd.Skip(clip); err != nil {
			t.Fatal(err)
		}
		rd.ClipFront(a.Free)
		r.Recycle()
		again := r.Buffers[:cap(r.Buffers)]
		for i := range array {
			if len(again) > 0 && &array[i] == &again[0] && array[0] != nil {
				t.Errorf("%d bytes clipped: the array that is used again keeps a block", clip)
			}
		}
		wantLive(t, a, 0, "recycled")
	}
}
