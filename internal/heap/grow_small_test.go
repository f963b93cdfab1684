package heap

import "testing"

// TestSmallHeapGrowsLittle: below 512 KiB a heap maps a quarter more than it needs, or a
// chunk of the first size, and not several times as much.
func TestSmallHeapGrowsLittle(t *testing.T) {
	const first = 64 << 10
	h, live := newHeap(first), 0
	for h.mapped < minChunk {
		live += len(mustMalloc(t, h, 1024))
		// Two spans and what is in front of an aligned one are not cut yet.
		if most := live + max(live/4, first) + 3*spanUnit; h.mapped > most {
			t.Fatalf("%d bytes mapped for %d live, want at most %d", h.mapped, live, most)
		}
	}
}
