package heap

import (
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// freeHook is a placement that calls back at each free.
type freeHook struct {
	offset.Allocator
	freed func()
}

func (p *freeHook) Free(off, n int) error {
	p.freed()
	return p.Allocator.Free(off, n)
}

// TestBorrowNeverCounts: a borrow counts at no moment, so that the totals never go down.
func TestBorrowNeverCounts(t *testing.T) {
	h := newHeap(1 << 20)
	frees := 0
	h.cfg.Placement = func(size int) offset.Allocator {
		return &freeHook{placements["tlsf"](size), func() {
			frees++
			if h.malloced != 0 {
				t.Errorf("%d bytes count", h.malloced)
			}
		}}
	}
	for _, n := range []int{1, 100, 5000, maxSlot} {
		if len(h.Borrow(n)) != n {
			t.Fatalf("no borrow of %d bytes", n)
		}
	}
	if frees != 4 {
		t.Errorf("%d frees", frees)
	}
}

// TestBorrowComesToHaveASlot: a program that only borrows is lent slots in the end.
func TestBorrowComesToHaveASlot(t *testing.T) {
	for _, n := range []int{100, 5000, 60_000} {
		h := newHeap(8 << 20)
		for range 10_000 {
			if len(h.Borrow(n)) != n {
				t.Fatalf("no borrow of %d bytes", n)
			}
		}
		if h.spanAt(addressOf(h.Borrow(n))) == nil {
			t.Errorf("%d bytes are lent of a chunk", n)
		}
		if malloced, freed := h.Totals(); malloced != 0 || freed != 0 {
			t.Errorf("%d bytes count, %d freed", malloced, freed)
		}
		mustVerify(t, h)
	}
}
