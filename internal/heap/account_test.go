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
