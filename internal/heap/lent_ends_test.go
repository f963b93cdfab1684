package heap

import (
	"runtime"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// TestSpanEndsLoan: a span that is placed ends what was lent of a chunk, before a block is.
func TestSpanEndsLoan(t *testing.T) {
	h := newHeap(1 << 20)
	if h.Borrow(100<<10) == nil {
		t.Fatal("no borrow")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loan() == nil {
		t.Error("nothing is lent")
	}
	if c, _ := h.takeMapped(minStrip, spanUnit); c == nil || h.loan() != nil {
		t.Errorf("lent of %v, with a span in %v", h.loan(), c)
	}
}

// TestLentSpanIsNotTakenOver: a current span that is lent from stays with its shard, and goes
// to another with the next reclaim after that.
func TestLentSpanIsNotTakenOver(t *testing.T) {
	const n = 100
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	h := sharedOut(t, n)
	kept := mustMalloc(t, h, n)
	b := h.Borrow(n)
	sp := h.spanAt(addressOf(b))
	if sp == nil {
		t.Fatal("lent of a chunk")
	}
	other, owner := newShard(), sp.owner.Load()
	h.mu.Lock()
	h.pause()
	for _, lent := range []bool{true, false} {
		if !lent {
			owner.lent = 0
		}
		other.takeOver(owner)
		if got := sp.owner.Load() == owner && owner.own(int(sp.class)) == sp; got != lent {
			t.Errorf("lent %v: the span has stayed %v", lent, got)
		}
	}
	owner.takeOver(other)
	h.resume()
	h.mu.Unlock()
	mustFree(t, h, kept)
	mustVerify(t, h)
}

// TestDebugLentIsNoLeak: what is lent at Close is no leak, and keeps no chunk.
func TestDebugLentIsNoLeak(t *testing.T) {
	h := new(Heap)
	h.Init(Config{Size: 1 << 16, Source: backing.Heap(), Placement: placements["tlsf"], Debug: &Debug{}})
	if h.Borrow(100) == nil {
		t.Fatal("no borrow")
	}
	if live := h.debug.live(); len(live) != 0 {
		t.Errorf("%d chunks have live blocks", len(live))
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
