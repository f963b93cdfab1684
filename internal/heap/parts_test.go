package heap

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestPartsLeaveNoRecord: the record of a slot that was freed in part is there
// while it is needed, and no longer.
func TestPartsLeaveNoRecord(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	h := newHeap(1 << 16)
	for range 2000 { // until it is shared out
		h.Free(mustMalloc(t, h, 100))
	}
	for round := range 200 {
		b := mustMalloc(t, h, 3+rng.IntN(2000))
		cut := 1 + rng.IntN(len(b)-2)
		if !h.Free(b[:cut]) || len(h.parts) != 1 {
			t.Fatalf("seed %d, round %d: %d records after the head was freed", seed, round, len(h.parts))
		}
		middle := cut + rng.IntN(len(b)-cut)
		if middle > cut && !h.Free(b[middle:]) || middle == cut && !h.Free(b[cut:]) {
			t.Fatalf("seed %d, round %d: refused", seed, round)
		}
		if middle > cut && !h.Free(b[cut:middle]) {
			t.Fatalf("seed %d, round %d: refused", seed, round)
		}
		if len(h.parts) != 0 {
			t.Fatalf("seed %d, round %d: %d records after everything was freed", seed, round, len(h.parts))
		}
	}
}

// TestRestIsAligned: what is left of a block behind its freed head is freed
// like any block, but does not serve the next request of its size: it may start
// anywhere.
func TestRestIsAligned(t *testing.T) {
	for head := 1; head < 200; head += 7 {
		h := newHeap(1 << 20)
		b := mustMalloc(t, h, 5000+head)
		if !h.Free(b[:head]) || !h.Free(b[head:]) {
			t.Fatal("refused")
		}
		if at := uintptr(unsafe.Pointer(&mustMalloc(t, h, 5000)[0])); at%slotAlign != 0 {
			t.Fatalf("after a head of %d bytes was freed the next block is at %#x", head, at)
		}
		if err := h.Verify(); err != nil {
			t.Fatal(err)
		}
	}
}
