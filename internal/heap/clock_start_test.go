package heap

import (
	"runtime"
	"testing"
)

// atRest stops the clock of h, and drops the tick that is on its way.
func atRest(h *Heap) {
	h.mu.Lock()
	h.clock++
	h.ticking.Store(false)
	h.mu.Unlock()
}

// TestFiledSlotStartsClock: so does the free of a slot that gives a span its first free one.
func TestFiledSlotStartsClock(t *testing.T) {
	needPins(t) // who frees is the owner
	const n = 1024
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	h := sharedOut(t, n)
	first := mustMalloc(t, h, n)
	sp := h.spanAt(addressOf(first))
	live := [][]byte{first}
	for sp.where != isFull {
		live = append(live, mustMalloc(t, h, n))
	}
	atRest(h)
	mustFree(t, h, first)
	if sp.where != isListed {
		t.Errorf("the span is not listed but %d", sp.where)
	}
	if !h.ticking.Load() {
		t.Error("the clock is at rest")
	}
	mustFree(t, h, live[1:]...)
	mustVerify(t, h)
}

// TestForeignSlotStartsClock: so does the free of another shard's slot.
func TestForeignSlotStartsClock(t *testing.T) {
	const n = 1024
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	h := sharedOut(t, n)
	b := mustMalloc(t, h, n)
	sp, other := h.spanAt(addressOf(b)), newShard()
	owner := sp.owner.Swap(other)
	atRest(h)
	if !h.freeForeign(b) {
		t.Error("refused")
	}
	if !h.ticking.Load() {
		t.Error("the clock is at rest")
	}
	sp.owner.Store(owner)
	other.drain() // passes on what is the owner's again
	mustVerify(t, h)
}

// TestClosedHeapStartsNoClock: nothing is left to do there.
func TestClosedHeapStartsNoClock(t *testing.T) {
	h := newHeap(1024)
	mustFree(t, h, mustMalloc(t, h, 100))
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	atRest(h)
	if h.startClock(); h.ticking.Load() {
		t.Error("the clock runs")
	}
}
