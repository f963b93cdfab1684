package heap

import (
	"errors"
	"runtime"
	"testing"
)

// fillUp allocates blocks of n bytes until there is no room below the limit.
func fillUp(t *testing.T, h *Heap, n int) (blocks [][]byte) {
	t.Helper()
	for {
		b, err := h.TryMalloc(n)
		if err != nil {
			if !errors.Is(err, ErrLimit) {
				t.Fatal(err)
			}
			return blocks
		}
		blocks = append(blocks, b)
	}
}

// TestBorrowAtLimit: a heap that may map no more lends what a Malloc would return.
func TestBorrowAtLimit(t *testing.T) {
	needPins(t) // who allocates finds the slots that it freed
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, n := range []int{100, 3000, 20_000} {
		h := sharedOut(t, n)
		h.cfg.MaxBytes = 2 << 20
		blocks := fillUp(t, h, n)
		mustFree(t, h, blocks[len(blocks)/2])
		for range 3 {
			b := h.Borrow(n)
			if len(b) != n {
				t.Fatalf("%d of %d bytes lent where as many are free", len(b), n)
			}
			if got := h.Malloc(n); addressOf(got) != addressOf(b) {
				t.Errorf("%d bytes: at %p were lent, and %p allocated", n, b, got)
			} else {
				mustFree(t, h, got)
			}
		}
		mustFree(t, h, mustMalloc(t, h, n))
		mustVerify(t, h)
	}
}

// TestBorrowFromStrip: the same where blocks are cut from strips; the strip stays as
// long as it is lent from.
func TestBorrowFromStrip(t *testing.T) {
	needPins(t) // who allocates finds the slots that it freed
	h, _ := stripped(t)
	h.cfg.MaxBytes = h.Stats().Backing
	kept := mustMalloc(t, h, readSize)
	mustFree(t, h, kept[100:])
	fillUp(t, h, 256<<10)
	fillUp(t, h, 4096)
	b := h.Borrow(readSize)
	sp := stripOf(h, b)
	if len(b) != readSize || sp == nil {
		t.Fatalf("%d bytes lent, from strip %v", len(b), sp)
	}
	mustFree(t, h, kept[:100])
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	if stripOf(h, b) != sp {
		t.Error("the strip that is lent from was given back")
	}
	mustFree(t, h, mustMalloc(t, h, readSize))
	mustVerify(t, h)
}

// TestMallocTakesWhatIsHandedOver: at the limit the free slots of a processor that is
// quiet serve a request of another.
func TestMallocTakesWhatIsHandedOver(t *testing.T) {
	needPins(t) // who allocates finds the slots that it freed
	const n = 100
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, get := range map[string]func(h *Heap) []byte{
		"Malloc": func(h *Heap) []byte { return h.Malloc(n) },
		"Borrow": func(h *Heap) []byte { return h.Borrow(n) },
	} {
		h := sharedOut(t, n)
		h.cfg.MaxBytes = 2 << 20
		blocks := fillUp(t, h, n)
		mustFree(t, h, blocks[len(blocks)/2])
		quiet := newShard()
		h.mu.Lock()
		h.pause()
		old := h.set.Load()
		set := newShardSet(len(old.byID) + 1)
		for i, s := range old.byID {
			if set.byID[i] = s; s != noShard {
				quiet.takeOver(s)
			}
		}
		set.byID[len(old.byID)] = quiet
		h.set.Store(set)
		h.resume()
		h.mu.Unlock()
		if b := get(h); len(b) != n {
			t.Errorf("%s: %d bytes where %d are free", name, len(b), n)
		}
		mustVerify(t, h)
	}
}

// TestBorrowEndsAtLimit: the memory of a borrow serves a block for which there is no other
// below the limit.
func TestBorrowEndsAtLimit(t *testing.T) {
	for _, n := range []int{10, 5000, 60_000, 100_000} {
		for _, blocks := range []int{1, 5000} { // 1: no slot serves
			for _, size := range []int{384 << 10, 512 << 10} {
				h := newHeap(256 << 10)
				h.cfg.MaxBytes = 512 << 10
				live := make([][]byte, blocks)
				for i := range live {
					live[i] = mustMalloc(t, h, 20)
				}
				mustFree(t, h, live...)
				if h.Borrow(n) == nil {
					t.Fatalf("%d bytes: no borrow", n)
				}
				placed := h.placed
				if _, err := h.TryMalloc(600 << 10); !errors.Is(err, ErrLimit) || h.placed != placed {
					t.Errorf("more than the limit: %v, and borrows ended: %v", err, h.placed != placed)
				}
				b, err := h.TryMalloc(size)
				if err != nil {
					t.Errorf("%d bytes lent after %d blocks: %v", n, blocks, err)
				}
				mustFree(t, h, b)
				mustVerify(t, h)
			}
		}
	}
}
