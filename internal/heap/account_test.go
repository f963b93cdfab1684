package heap

import (
	"runtime"
	"testing"
	"weak"
)

// TestResetKeepsNothing: what a heap had mapped from the Go heap is the collector's
// when it was given back, also while there are no spans again, or never will be.
func TestResetKeepsNothing(t *testing.T) {
	for name, giveBack := range map[string]func(*Heap) error{"Reset": (*Heap).Reset, "Close": (*Heap).Close} {
		h := newHeap(1024)
		for h.Stats().Spans == 0 {
			mustMalloc(t, h, 100)
		}
		var mem []weak.Pointer[byte]
		for _, c := range h.chunks {
			mem = append(mem, weak.Make(&c.raw[0]))
		}
		if err := giveBack(h); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		for i, m := range mem {
			if m.Value() != nil {
				t.Errorf("%s: chunk %d of %d is kept", name, i, len(mem))
			}
		}
		runtime.KeepAlive(h)
	}
}

// TestBorrowNothing: a borrow that there is no room for changes no account but that of
// failures.
func TestBorrowNothing(t *testing.T) {
	h := newHeap(4096)
	h.cfg.MaxBytes = 4096
	mustMalloc(t, h, 4096)
	for _, closed := range []bool{false, true} {
		if closed {
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
		}
		before := h.Stats()
		for _, n := range []int{1, 100, 4096, maxSlot + 1} {
			if b := h.Borrow(n); b != nil {
				t.Errorf("borrowed %d bytes", n)
			}
			before.Failed++
		}
		if after := h.Stats(); after != before {
			t.Errorf("closed %v: %+v, before %+v", closed, after, before)
		}
	}
}

// TestPeakCountsGuards: the most that was mapped includes pages of guards, also when
// they or the chunks are gone.
func TestPeakCountsGuards(t *testing.T) {
	sampled, _ := newSampled(t, Sample{Rate: 1})
	paged := newHeap(4096)
	paged.Init(Config{Source: paged.cfg.Source, Placement: placements["tlsf"], Debug: &Debug{GuardPages: true, Quarantine: -1}})
	for name, h := range map[string]*Heap{"sample": sampled, "pages": paged} {
		a, b := mustMalloc(t, h, 100), mustMalloc(t, h, 10<<20)
		most := h.Stats().Backing
		mustFree(t, h, a)
		mustFree(t, h, b)
		for range 2 {
			h.tick()
		}
		if err := h.Trim(); err != nil {
			t.Fatal(err)
		}
		if s := h.Stats(); s.Backing >= most || s.PeakBacking != most {
			t.Errorf("%s: Backing %d, PeakBacking %d, once Backing was %d", name, s.Backing, s.PeakBacking, most)
		}
		if err := h.Reset(); err != nil || h.Stats().Backing != 0 {
			t.Errorf("%s: %v after a reset: %+v", name, err, h.Stats())
		}
	}
}

// TestSharedOutLate: a heap has shards from its 1,024th small block on.
func TestSharedOutLate(t *testing.T) {
	h := newHeap(1 << 20)
	for i := range 1024 {
		if h.set.Load() != nil {
			t.Fatalf("shared out after %d blocks", i)
		}
		mustFree(t, h, mustMalloc(t, h, 100))
	}
	if h.set.Load() == nil {
		t.Error("not shared out")
	}
}

// TestSlack: what is free in the chunks, or in use, is no slack; what is neither is.
func TestSlack(t *testing.T) {
	h := sharedOut(t, 1024)
	slack := func(want bool, what string) {
		t.Helper()
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.slack() != want {
			t.Errorf("with %s slack is %v", what, !want)
		}
	}
	mustMalloc(t, h, 8<<20)
	mustFree(t, h, mustMalloc(t, h, 8<<20))
	slack(false, "a chunk in use and one that is free")
	var live [][]byte
	for range 8 << 10 {
		live = append(live, mustMalloc(t, h, 1024))
	}
	slack(false, "slots in use")
	for i, b := range live {
		if i%32 > 0 {
			mustFree(t, h, b)
		}
	}
	slack(true, "slots that are free")
}
