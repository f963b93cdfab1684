package heap

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

// TestMappedFitsAnInt: a heap without a bound maps no more than an int can count, which
// on a 32-bit system is less than there is.
func TestMappedFitsAnInt(t *testing.T) {
	const left = 4 << 20
	for name, fill := range map[string]func(h *Heap, n int){
		"chunks": func(h *Heap, n int) { h.mapped += n },
		"guards": func(h *Heap, n int) { h.guards += n },
		"leave":  func(h *Heap, n int) { h.leave += n },
	} {
		h := newHeap(4096)
		mustMalloc(t, h, 100)
		h.high = math.MaxInt - left
		before := h.mapped
		fill(h, math.MaxInt-left-before)
		for _, n := range []int{left + 1, 2 * left, math.MaxInt - 1<<30} {
			if b, err := h.TryMalloc(n); b != nil || !errors.Is(err, ErrOutOfMemory) || errors.Is(err, ErrLimit) {
				t.Errorf("%s: %d bytes where %d can be counted: %v", name, n, left, err)
			}
		}
		for failed := 0; failed < 2; {
			if _, err := h.TryMalloc(left / 4); errors.Is(err, ErrOutOfMemory) {
				failed++
			} else if err != nil {
				t.Fatal(err)
			}
			if s := h.Stats(); s.Backing < 0 || s.PeakBacking < s.Backing || s.Live < 0 || h.room() < 0 {
				t.Fatalf("%s: %+v, room for %d", name, s, h.room())
			}
		}
		if h.mapped+h.guards+h.leave < math.MaxInt-left/2 {
			t.Errorf("%s: room for %d, and refused", name, h.room())
		}
	}
}

// TestCrowdedCountsWell: the comparisons hold for as many bytes as an int can count.
func TestCrowdedCountsWell(t *testing.T) {
	h := newHeap(4096)
	for _, test := range []struct {
		mapped, high, n int
		crowded         bool
	}{
		{100, 100, 20, false},
		{100, 100, 21, true},
		{math.MaxInt / 8 * 7, math.MaxInt / 8 * 7, 1 << 20, false},
		{math.MaxInt / 8 * 7, math.MaxInt / 8, math.MaxInt / 2, true},
	} {
		h.mapped, h.high = test.mapped, test.high
		if crowded := h.crowded(test.n); crowded != test.crowded {
			t.Errorf("%+v: %v", test, crowded)
		}
	}
}

// TestLimitNamesWhatCounts: the error at the limit adds up.
func TestLimitNamesWhatCounts(t *testing.T) {
	h := newHeap(4096)
	h.cfg.MaxBytes = 1 << 20
	mustMalloc(t, h, 100)
	_, err := h.TryMalloc(1 << 20)
	want := fmt.Sprintf("gomem: growing by %d bytes: memory limit reached: %d bytes mapped, limit 1048576", 1<<20, h.mapped)
	if !errors.Is(err, ErrLimit) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	h.mu.Lock()
	h.guards, h.leave = 5000, 6000
	err = h.grow(1<<20, 1)
	h.guards, h.leave = 0, 0
	h.mu.Unlock()
	want = fmt.Sprintf("gomem: growing by %d bytes: memory limit reached: %d bytes mapped, 5000 between guard pages, 6000 being unmapped, limit 1048576",
		1<<20, h.mapped)
	if !errors.Is(err, ErrLimit) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
