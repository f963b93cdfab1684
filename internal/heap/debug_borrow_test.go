package heap

import (
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// debugHeap is a heap in debug mode over g.
func debugHeap(g *gated, debug Debug) *Heap {
	g.Source = backing.Heap()
	h := new(Heap)
	h.Init(Config{Size: 1 << 20, Source: g, Placement: placements["tlsf"], Misuse: func(error) {}, Debug: &debug})
	return h
}

// TestDebugBorrowDuringGrowth: of two borrows, one of which has the heap grow meanwhile, the
// first ends as well.
func TestDebugBorrowDuringGrowth(t *testing.T) {
	g := &gated{}
	h := debugHeap(g, Debug{})
	mustFree(t, h, mustMalloc(t, h, 100)) // maps the first chunk
	var other []byte
	g.enter = func(int) {
		g.enter = nil
		done := make(chan struct{})
		go func() {
			other = h.Borrow(100)
			close(done)
		}()
		<-done
	}
	if b := h.Borrow(2 << 20); b == nil || other == nil {
		t.Fatalf("%d and %d bytes lent", len(b), len(other))
	}
	if h.Free(other) {
		t.Error("a free of what was lent was taken")
	}
	mustFree(t, h, mustMalloc(t, h, 100))
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
