package heap

import (
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// TestMeltWaitsForBusy: a block that is busy is not gone until whoever made it so has done.
func TestMeltWaitsForBusy(t *testing.T) {
	const n = 8192
	s, sp := newShard(), newSpan(class(n), spanBytes[class(n)])
	sp.place(&chunk{mem: make([]byte, sp.bytes())}, 0)
	sp.carve()
	sp.take(n)
	if !sp.mark(0, stateLive|n, s.busy, sp.base) {
		t.Fatal("not live")
	}
	if sp.makeGone(0) || sp.recs[0] != s.busy {
		t.Errorf("the melt did not wait; the record is %#x", sp.recs[0])
	}
	atomic.StoreUint32(&sp.recs[0], stateLive|n)
	if !sp.makeGone(0) || sp.recs[0] != stateGone|n {
		t.Errorf("the record is %#x", sp.recs[0])
	}
}

// TestComingCounts: bytes that are being mapped count towards the limit.
func TestComingCounts(t *testing.T) {
	const limit = 8 << 20
	g := &gated{}
	h := gatedHeap(g, limit)
	g.enter = func(size int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if room := h.room(); room != limit-size {
			t.Errorf("room for %d bytes while %d of %d are being mapped", room, size, limit)
		}
	}
	mustFree(t, h, mustMalloc(t, h, 100))
	if g.calls.Load() != 1 {
		t.Errorf("%d calls of Map", g.calls.Load())
	}
}

// TestDropUnmapsWhatStuck: what the source did not take, or panicked at, goes with the heap.
func TestDropUnmapsWhatStuck(t *testing.T) {
	f := backing.NewFaulty(backing.Heap())
	h := new(Heap)
	h.Init(Config{Size: 1 << 20, Source: f, Placement: placements["tlsf"], Few: few, Spans: true})
	mustFree(t, h, mustMalloc(t, h, 100))
	f.Fail(backing.OpUnmap, 1, syscall.EINVAL)
	if err := h.Trim(); err == nil {
		t.Error("the mapping went")
	}
	if h.maps.unmapAll(); f.Calls(backing.OpUnmap) != 2 {
		t.Error("not tried again")
	}
	if n, _ := f.Live(); n != 0 {
		t.Errorf("%d mappings are left", n)
	}
}

// TestResetLooksForStrips: a heap that was reset looks for a place for a strip at once.
func TestResetLooksForStrips(t *testing.T) {
	h := sharedOut(t, 100)
	h.dry = dryWait
	if err := h.Reset(); err != nil {
		t.Fatal(err)
	}
	if h.dry != 0 {
		t.Errorf("%d blocks before that", h.dry)
	}
}

// TestTrimmedChunksWereNeeded: chunks that went in a period are not among those that were
// empty all of it, so one that becomes empty later stays for the period.
func TestTrimmedChunksWereNeeded(t *testing.T) {
	const n = 1 << 20
	h := newHeap(n)
	h.ticking.Store(true) // by hand
	var blocks [4][]byte
	for i := range blocks {
		blocks[i] = mustMalloc(t, h, n)
	}
	mustFree(t, h, blocks[:2]...)
	h.low = h.nempty // a period begins
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	mustFree(t, h, blocks[2:]...)
	h.tick()
	if s := h.Stats(); s.Chunks != 2 || s.EmptyChunks != 2 {
		t.Errorf("%d chunks are left, %d of them empty", s.Chunks, s.EmptyChunks)
	}
	mustVerify(t, h)
}

// TestSpanMapForgets: regions without spans make no map larger.
func TestSpanMapForgets(t *testing.T) {
	m := newSpanMap(0)
	m = m.with(0)
	m.place(0).Store(exhausted)
	for i := range uintptr(400) {
		m = m.with((i + 1) << regionShift)
	}
	if n := len(m.regions); n > 64 {
		t.Errorf("%d entries for a region", n)
	}
	if place := m.place(0); place == nil || place.Load() != exhausted {
		t.Error("the region with a span is not there")
	}
}
