package heap

import (
	"errors"
	"os"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/internal/guard"
)

// slotOf is the number of the slot that b is in.
func slotOf(t *testing.T, h *Heap, b []byte) int {
	t.Helper()
	i, ok := h.sampler.at(addressOf(b))
	if !ok {
		t.Fatal("not sampled")
	}
	return i
}

// sampleNext is a block of n bytes that is sampled.
func sampleNext(t *testing.T, h *Heap, n int) []byte {
	t.Helper()
	h.sampler.due.Store(1)
	return mustMalloc(t, h, n)
}

// TestSlotsServeInTurn: the slot that was freed first serves next, so that each block is
// watched as long as can be after its free.
func TestSlotsServeInTurn(t *testing.T) {
	h, _ := newSampled(t, Sample{Rate: 1000, Slots: 3})
	first, second, third := sampleNext(t, h, 100), sampleNext(t, h, 100), sampleNext(t, h, 100)
	want := []int{slotOf(t, h, second), slotOf(t, h, first), slotOf(t, h, third)}
	mustFree(t, h, second, first, third)
	for i := range want {
		b := sampleNext(t, h, 100)
		if got := slotOf(t, h, b); got != want[i] {
			t.Errorf("block %d is in slot %d, want %d", i, got, want[i])
		}
		defer mustFree(t, h, b)
	}
}

// TestSampleTellsOnce: of a block that is damaged again only the first damage is told.
func TestSampleTellsOnce(t *testing.T) {
	h, reports := newSampled(t, Sample{Rate: 1000})
	var b []byte
	for b == nil || addressOf(b)%uintptr(os.Getpagesize()) == 0 { // the byte before is in a wall
		if b != nil {
			mustFree(t, h, b)
		}
		b = sampleNext(t, h, 100)
	}
	damage := func() {
		// Safety: the byte is in a red zone.
		*(*byte)(unsafe.Add(unsafe.Pointer(&b[0]), -1))++
	}
	damage()
	mustFree(t, h, b[:50])
	damage()
	mustFree(t, h, b[50:])
	if len(*reports) != 1 || !errors.Is((*reports)[0], guard.ErrOverrun) {
		t.Errorf("reports %v", *reports)
	}
	if got := h.Stats().Damaged; got != 2 {
		t.Errorf("damaged %d times, want 2", got)
	}
}

// TestNothingIsOfferedToWhatIsOff: a guard that is switched off lets Malloc see the shards.
func TestNothingIsOfferedToWhatIsOff(t *testing.T) {
	for _, off := range []bool{false, true} {
		h, _ := newSampled(t, Sample{Rate: 1 << 30})
		h.sampler.due.Store(1 << 40)
		for range 2000 {
			mustFree(t, h, mustMalloc(t, h, 100))
		}
		h.mu.Lock()
		if off {
			h.stopSampling()
		}
		h.offer()
		h.mu.Unlock()
		if got := h.sampler.offered.Load() == 0 && h.front == h.shards; got != off {
			t.Errorf("off %v: Malloc sees the shards: %v", off, got)
		}
	}
}
