package heap

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
)

// TestRefusalsRarelyStop: a cache at its limit, which frees its oldest block whenever it is
// refused one, does not stop the world each time, and a refusal makes little garbage.
func TestRefusalsRarelyStop(t *testing.T) {
	const limit, rounds = 8 << 20, 4000
	for name, sizes := range map[string][]int{"small": {100}, "pages": {4096}, "cut": {16 << 10}, "mixed": {64, 700, 4096, 9000}} {
		t.Run(name, func(t *testing.T) {
			h := newHeap(256 << 10)
			h.cfg.MaxBytes = limit
			rng := rand.New(rand.NewPCG(1, uint64(len(sizes))))
			var cache [][]byte
			stops, refused, freed := 0, 0, 0
			put := func() {
				n := sizes[rng.IntN(len(sizes))]
				for {
					at := h.reclaimed
					b, err := h.TryMalloc(n)
					if h.reclaimed != at {
						stops++
					}
					if err == nil {
						cache = append(cache, b)
						return
					}
					if !errors.Is(err, ErrLimit) || len(cache) == 0 {
						t.Fatalf("%d blocks live: %v", len(cache), err)
					}
					refused++
					freed += len(cache[0])
					mustFree(t, h, cache[0])
					cache = cache[1:]
				}
			}
			for refused < 1000 {
				put()
			}
			stops, refused, freed = 0, 0, 0
			for range rounds {
				put()
			}
			most := 2*freed/(limit/64) + rounds/100 // some find a span that the cache has emptied
			if refused < rounds/4 || stops > most {
				t.Errorf("%d blocks, %d refused, %d bytes freed: the world stopped %d times, want at most %d",
					rounds, refused, freed, stops, most)
			}
			if live := h.Stats().Live; live < limit/2 {
				t.Errorf("%d bytes live at a limit of %d", live, limit)
			}
			mustVerify(t, h)
			if n := testing.AllocsPerRun(100, func() { _, _ = h.TryMalloc(1 << 20) }); n > 12 { // 2, or 11 without optimization
				t.Errorf("a refusal allocates %v times", n)
			}
		})
	}
}

// TestRefusedUntilFreed: a heap that was refused memory many times finds it as soon as
// so much was freed elsewhere.
func TestRefusedUntilFreed(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const n = 100
	h := sharedOut(t, n)
	h.cfg.MaxBytes = 2 << 20
	blocks := fillUp(t, h, n)
	for range 100 {
		if b, err := h.TryMalloc(64 << 10); err == nil {
			t.Fatalf("%d bytes at the limit", len(b))
		}
	}
	mustFree(t, h, blocks...)
	for range 20 { // in one piece each
		if _, err := h.TryMalloc(64 << 10); err != nil {
			t.Fatal(err)
		}
	}
	mustVerify(t, h)
}
