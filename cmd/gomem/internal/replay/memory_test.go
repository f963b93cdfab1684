package replay

import (
	"runtime"
	"testing"

	"github.com/gomem-go/gomem/internal/trace"
)

// What the Go heap holds free between the objects that were there before is not the
// trace's.
func TestWatchOfAHeapWithFreeSlots(t *testing.T) {
	const slot, free = 1 << 10, 16 << 20
	kept := make([][]byte, free/slot*8/7)
	for i := range kept {
		kept[i] = make([]byte, slot)
	}
	for i := range kept {
		if i%8 > 0 {
			kept[i] = nil
		}
	}
	tr, err := trace.New([]uint32{1 << 20, trace.FreeBit}, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := newAllocator(config{}, nil, tr).watch(t.Context(), nil, tr)
	if err != nil {
		t.Fatal(err)
	}
	if m.PeakBacking < 1<<20 || m.PeakBacking > free/2 {
		t.Errorf("a block of 1 MiB took %d bytes at most", m.PeakBacking)
	}
	runtime.KeepAlive(kept)
}

// A small program's peak is not the first chunk of larger ones.
func TestWatchOfASmallTrace(t *testing.T) {
	tr, err := trace.New([]uint32{4096, 20, trace.FreeBit}, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs() {
		if c.source == nil {
			continue
		}
		src := newRecorder(c)
		al := newAllocator(c, src, tr)
		m, err := al.watch(t.Context(), src, tr)
		if err != nil {
			t.Fatal(err)
		}
		if m.PeakBacking < 4096 || m.PeakBacking > 64<<10 {
			t.Errorf("%s: %d bytes mapped at most", c.name, m.PeakBacking)
		}
		if err := al.close(); err != nil {
			t.Error(err)
		}
	}
}
