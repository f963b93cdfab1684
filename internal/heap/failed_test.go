package heap

import (
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// TestFailedRequestsAreCounted: each request that finds no memory counts once, by whichever
// way it came, and none that was wrong or that was served.
func TestFailedRequestsAreCounted(t *testing.T) {
	for _, c := range []struct {
		name   string
		spans  bool
		debug  *Debug
		sample *Sample
	}{
		{name: "placed", spans: false},
		{name: "slots", spans: true},
		{name: "debug", debug: &Debug{}},
		{name: "sampled", spans: true, sample: &Sample{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := new(Heap)
			h.Init(Config{
				Size: 4096, MaxBytes: 300_000, Source: backing.Heap(), Placement: placements["tlsf"], Few: few,
				Spans: c.spans, Debug: c.debug, Sample: c.sample,
			})
			for range 2000 { // until slots serve
				mustFree(t, h, mustMalloc(t, h, 100))
			}
			var live [][]byte
			for _, n := range []int{50_000, 100} {
				for b := h.Malloc(n); b != nil; b = h.Malloc(n) {
					live = append(live, b)
				}
			}
			want := uint64(2)
			check := func(what string) {
				t.Helper()
				if got := h.Stats().Failed; got != want {
					t.Errorf("after %s: %d failed requests, not %d", what, got, want)
				}
			}
			check("filling it")
			h.Malloc(-1)
			h.Malloc(0)
			_, _ = h.TryMalloc(-1)
			check("invalid sizes")

			if _, err := h.TryMalloc(100); err == nil {
				t.Error("there is room")
			}
			want++
			check("TryMalloc")
			if _, err := h.MallocAligned(70_000, 64); err == nil {
				t.Error("there is room")
			}
			want++
			check("MallocAligned")
			for _, n := range []int{100, 70_000} {
				if h.Borrow(n) != nil {
					t.Error("there is room")
				}
				want++
				check("Borrow")
			}
			mustFree(t, h, live...)
			mustFree(t, h, mustMalloc(t, h, 100))
			check("frees")
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if h.Malloc(100) != nil || h.Malloc(100_000) != nil {
				t.Error("memory of a closed heap")
			}
			want += 2
			check("Close")
		})
	}
}
