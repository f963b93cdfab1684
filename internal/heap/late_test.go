package heap

import (
	"math/bits"
	"testing"
)

// TestFreeThatSawTheSpanElsewhere: the owner gives a span without blocks back and
// places it anew while somebody with a free that is none looks into it. What he
// frees is no block at the new place, however far that is.
func TestFreeThatSawTheSpanElsewhere(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("no span is so far away")
	}
	h, _ := stripped(t)
	far := uint64(1) << 32 // where the place is the same in 32 bits
	for _, n := range []int{64, 8192, readSize} {
		b := mustMalloc(t, h, n)
		for ; h.spanAt(addressOf(b)) == nil; b = mustMalloc(t, h, n) {
		}
		sp, before := h.spanAt(addressOf(b)), h.Stats()
		if err, done := h.freeSlot(sp, addressOf(b)+uintptr(far), b); err == nil || !done {
			t.Errorf("%d bytes: freed from afar", n)
		}
		after := h.Stats()
		if after.Refused--; after != before {
			t.Errorf("%d bytes: %+v, before %+v", n, after, before)
		}
		mustFree(t, h, b)
		mustVerify(t, h)
	}
}
