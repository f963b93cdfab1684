package heap

import (
	"math/rand/v2"
	"testing"
)

// TestSmallHeapGrowsLittle: below 512 KiB a heap maps a quarter more than it needs, or a
// chunk of the first size, and not several times as much.
func TestSmallHeapGrowsLittle(t *testing.T) {
	const first = 64 << 10
	h, live := newHeap(first), 0
	for h.mapped < minChunk {
		live += len(mustMalloc(t, h, 1024))
		// Spans that are not cut yet, and what is in front of aligned ones.
		if most := live + max(live/4, first) + 5*spanUnit; h.mapped > most {
			t.Fatalf("%d bytes mapped for %d live, want at most %d", h.mapped, live, most)
		}
	}
}

// TestBlocksAboveAQuarter: blocks that are larger than what a small heap would grow by, and
// replace each other at random, do not leave one chunk each.
func TestBlocksAboveAQuarter(t *testing.T) {
	for _, load := range []struct{ largest, kept, most int }{
		{200 << 10, 1, 300 << 10}, {100 << 10, 1, 300 << 10}, {64 << 10, 4, 600 << 10}, {200 << 10, 4, 1200 << 10},
	} {
		h, rng := newHeap(64<<10), rand.New(rand.NewPCG(1, 2))
		kept := make([][]byte, load.kept)
		for range 2000 {
			i := rng.IntN(load.kept)
			h.Free(kept[i])
			kept[i] = mustMalloc(t, h, 1+rng.IntN(load.largest))
		}
		if s := h.Stats(); s.PeakBacking > load.most {
			t.Errorf("%d blocks of up to %d bytes: %d bytes were mapped, want at most %d", load.kept, load.largest, s.PeakBacking, load.most)
		}
	}
}

// TestChunksOfWholePages: whatever the first chunk was, those that follow are whole pages.
func TestChunksOfWholePages(t *testing.T) {
	for _, first := range []int{1, 100, 5000, 64<<10 + 1} {
		h := newHeap(first)
		for h.mapped < minChunk {
			mustMalloc(t, h, 500)
		}
		for _, c := range h.chunks[1:] {
			if len(c.raw)%pageSize != 0 {
				t.Errorf("first chunk of %d bytes: one of %d follows", first, len(c.raw))
			}
		}
	}
}
