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
	if h.vain.times == 0 {
		t.Error("nothing was in vain")
	}
	for range 20 { // in one piece each
		if _, err := h.TryMalloc(64 << 10); err != nil {
			t.Fatal(err)
		}
	}
	mustVerify(t, h)
}

// TestHopeless: after a reclaim in vain the next one waits until as much less is live as
// is needed, or, after more of them, a multiple, or until a quarter of a small heap was
// freed, or 1 MiB, or a 64th of a large one.
func TestHopeless(t *testing.T) {
	const n = 1000
	h := sharedOut(t, n)
	total, freed := h.totals()
	live, part := int64(total-freed), uint64(h.mapped/4)
	for _, c := range []struct {
		times int
		fewer int64
		freed uint64
		want  bool
	}{
		{0, 0, 0, false},
		{1, n - 1, part - 1, true}, {1, n, part - 1, false}, {1, 0, part, false},
		{4, n - 1, 0, true}, {4, n, 0, false},
		{5, 2*n - 1, 0, true}, {5, 2 * n, 0, false},
		{12, 256*n - 1, 0, true}, {12, 256 * n, 0, false}, {99, 256 * n, 0, false},
	} {
		h.vain = vain{times: c.times, live: live + c.fewer, freed: freed - c.freed}
		if got := h.hopeless(n); got != c.want {
			t.Errorf("%d in vain, %d bytes fewer, %d freed of %d: %v", c.times, c.fewer, c.freed, h.mapped, got)
		}
	}
	h.vain = vain{times: 1, live: live, freed: freed}
	if h.vain.freed -= part; !h.hopeless(h.mapped) {
		t.Error("there is hope for more than was freed")
	}
	for mapped, part := range map[int]uint64{2 << 20: 512 << 10, 32 << 20: 1 << 20, 128 << 20: 2 << 20} {
		h.mapped = mapped
		h.vain.freed = freed - part
		enough := h.hopeless(n)
		h.vain.freed++
		if enough || !h.hopeless(n) {
			t.Errorf("of %d bytes mapped it is not enough that %d were freed", mapped, part)
		}
	}
}

// TestHopelessFindsItsOwn: where a reclaim is hopeless, a span of the own shard that has
// become empty serves, be it the owner or another who freed its last block. What a reclaim
// brings gives hope again.
func TestHopelessFindsItsOwn(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const n, more = 100, 8000 // aligned, so that no slot serves
	for _, remote := range []bool{false, true} {
		h := sharedOut(t, n)
		h.cfg.MaxBytes = 2 << 20
		blocks := fillUp(t, h, n)
		nearlyEmpty := func(sp *span) (last []byte) { // but for one block
			for _, b := range blocks {
				if h.spanAt(addressOf(b)) != sp {
					continue
				}
				if last != nil {
					mustFree(t, h, last)
				}
				last = b
			}
			return last
		}
		first, second := h.spanAt(addressOf(blocks[len(blocks)/3])), h.spanAt(addressOf(blocks[len(blocks)*2/3]))
		last := nearlyEmpty(first)
		if _, err := h.MallocAligned(more, 64); !errors.Is(err, ErrLimit) {
			t.Fatal(err)
		}
		if remote {
			freeElsewhere(t, h, newShard(), last)
		} else {
			mustFree(t, h, last)
		}
		at := h.reclaimed
		if _, err := h.MallocAligned(more, 64); err != nil || h.reclaimed != at {
			t.Errorf("remote %v: %v, stopped %v", remote, err, h.reclaimed != at)
		}
		fillUp(t, h, more)
		mustFree(t, h, nearlyEmpty(second))
		h.vain.live = 1 << 40 // so there is hope
		if _, err := h.MallocAligned(more, 64); err != nil || h.reclaimed == at || h.vain.times != 0 {
			t.Errorf("remote %v: %v, stopped %v, %d times in vain before", remote, err, h.reclaimed != at, h.vain.times)
		}
		mustVerify(t, h)
	}
}
