package heap

import (
	"errors"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// TestFreeAfterClose: whatever watches the blocks, who frees one after Close is told that, and
// before it nobody is. What is still allowed is in the tests of package gomem.
func TestFreeAfterClose(t *testing.T) {
	for name, cfg := range map[string]Config{
		"plain":   {},
		"sampled": {Sample: &Sample{Rate: 1, Interval: -1}},
		"debug":   {Debug: &Debug{}},
	} {
		var last error
		cfg.Size, cfg.Source, cfg.Placement, cfg.Spans = 1<<16, backing.Heap(), placements["tlsf"], true
		cfg.Misuse = func(err error) { last = err }
		h := new(Heap)
		h.Init(cfg)
		b, freed := mustMalloc(t, h, 100), mustMalloc(t, h, 100)
		mustFree(t, h, freed)
		for _, strange := range [][]byte{freed, make([]byte, 100)} {
			if last = nil; h.Free(strange) || last == nil || errors.Is(last, ErrClosed) {
				t.Errorf("%s: before Close: %v", name, last)
			}
		}
		_ = h.Close() // debug mode tells of the leak
		for _, gone := range [][]byte{b, freed, b[10:20]} {
			if last = nil; h.Free(gone) || !errors.Is(last, ErrClosed) || !errors.Is(last, ErrNotOwned) {
				t.Errorf("%s: after Close: %v", name, last)
			}
		}
	}
}
