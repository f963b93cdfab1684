package heap

import (
	"errors"
	"math"
	"testing"
)

// TestTooLargeCostsNothing: a request that can never be served, and is made while a chunk is
// empty, leaves that where it is.
func TestTooLargeCostsNothing(t *testing.T) {
	const limit, most = 64 << 20, 16 << 20
	for name, test := range map[string]struct {
		maxBytes, maxChunk int
		n, align           int
		want               string
	}{
		"limit": {limit, 0, limit + 1, 1,
			"gomem: growing by 67108928 bytes: memory limit reached: 2097152 bytes mapped, limit 67108864"},
		"limit, aligned": {limit, 0, limit + 1, 2 * pageSize,
			"gomem: growing by 67117120 bytes: memory limit reached: 2097152 bytes mapped, limit 67108864"},
		"odd limit": {limit - 1, 0, limit - 63, 1,
			"gomem: growing by 67108864 bytes: memory limit reached: 2097152 bytes mapped, limit 67108863"},
		"chunk": {limit, most, most + 1, 1,
			"gomem: growing by 16777217 bytes: out of memory: more than a chunk can have"},
		"odd chunk": {0, most + 63, most + 1, pageSize,
			"gomem: growing by 16777217 bytes: out of memory: more than a chunk can have"},
		"number": {0, 0, math.MaxInt - math.MaxInt/32, 1, ""},
	} {
		g := &gated{}
		h := gatedHeap(g, test.maxBytes)
		h.cfg.Size, h.cfg.MaxChunk = 2<<20, test.maxChunk
		for range 10 {
			mustFree(t, h, mustMalloc(t, h, 100<<10))
			_, err := h.MallocAligned(test.n, test.align)
			if !errors.Is(err, ErrLimit) && !errors.Is(err, ErrOutOfMemory) || test.want != "" && err.Error() != test.want {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if maps, now := g.calls.Load(), g.now.Load(); maps != 1 || now != 2<<20 {
			t.Errorf("%s: %d bytes are mapped after %d calls of Map", name, now, maps)
		}
		mustVerify(t, h)
	}
}

// TestLargestIsNotTooLarge: what a chunk below the limit can just hold is served, also where
// others have to go before.
func TestLargestIsNotTooLarge(t *testing.T) {
	const limit = 4<<20 + 63
	for _, align := range []int{1, pageSize} {
		for _, maxChunk := range []int{0, limit} {
			h := gatedHeap(&gated{}, limit)
			h.cfg.MaxChunk = maxChunk
			mustFree(t, h, mustMalloc(t, h, 600<<10))
			for _, n := range []int{4 << 20, 4<<20 - 63} {
				b, err := h.MallocAligned(n, align)
				if err != nil {
					t.Fatalf("%d bytes at a multiple of %d: %v", n, align, err)
				}
				mustFree(t, h, b)
			}
			mustVerify(t, h)
		}
	}
}

// TestDebugTooLargeCostsNothing: nor does it end the quarantine, or more than the borrow.
func TestDebugTooLargeCostsNothing(t *testing.T) {
	const limit = 4 << 20
	g := &gated{}
	h := debugHeap(g, Debug{})
	h.cfg.MaxBytes = limit
	for range 10 {
		mustFree(t, h, mustMalloc(t, h, 1000))
		if _, err := h.TryMalloc(limit + 1); !errors.Is(err, ErrLimit) {
			t.Fatal(err)
		}
	}
	if maps, held := g.calls.Load(), h.debug.held; maps != 1 || held != 10_000 {
		t.Errorf("%d bytes are in quarantine after %d calls of Map", held, maps)
	}
	mustVerify(t, h)
}
