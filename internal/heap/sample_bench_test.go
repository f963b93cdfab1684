package heap

import (
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// BenchmarkSample is the price of the sampled guard: a block allocated and
// freed at once, which no refill sees, and a load that is refilled all the time.
func BenchmarkSample(b *testing.B) {
	for _, guard := range []string{"off", "on", "off again", "on again"} {
		h := new(Heap)
		cfg := Config{Size: 1 << 20, Source: backing.Heap(), Placement: placements["tlsf"], Spans: true}
		if guard == "on" || guard == "on again" {
			cfg.Sample = new(Sample)
		}
		h.Init(cfg)
		for range 2000 {
			h.Free(h.Malloc(64))
		}
		b.Run("load=pair/guard="+guard, func(b *testing.B) {
			for b.Loop() {
				h.Free(h.Malloc(64))
			}
		})
		var all [4000][]byte
		b.Run("load=refill/guard="+guard, func(b *testing.B) {
			for b.Loop() {
				for i := range all {
					all[i] = h.Malloc(64)
				}
				for _, m := range all {
					h.Free(m)
				}
			}
		})
	}
}
