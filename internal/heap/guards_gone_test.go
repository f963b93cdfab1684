package heap

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// mustCloseLate checks that Close tells that a mapping of f does not go, as often as it
// does not, and that what is left goes with the Close after that.
func mustCloseLate(t *testing.T, h *Heap, f *backing.Faulty) {
	t.Helper()
	f.FailFrom(backing.OpUnmap, 1, syscall.EINVAL)
	for range 2 {
		if err := h.Close(); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("Close, with a mapping that does not go: %v", err)
		}
	}
	f.FailFrom(backing.OpUnmap, 0, nil)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := h.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("Close when everything has gone: %v", err)
	}
	if n, bytes := f.Live(); n != 0 || h.leave != 0 || h.Stats().Backing != 0 {
		t.Errorf("%d mappings of %d bytes are left; %d bytes count, %d of them as mapped", n, bytes, h.leave, h.Stats().Backing)
	}
}

// pagedHeap is a heap in debug mode without quarantine, with guard pages of f.
func pagedHeap() (h *Heap, f *backing.Faulty, reports *[]error) {
	h, reports = new(Heap), new([]error)
	h.Init(Config{
		Source: backing.Heap(), Placement: placements["tlsf"], Debug: &Debug{GuardPages: true, Quarantine: -1},
		Misuse: func(err error) { *reports = append(*reports, err) },
	})
	f = backing.NewFaulty(h.debug.pages)
	h.debug.pages, h.debug.paged = f, new(atomic.Int64)
	return h, f, reports
}

// TestGuardPagesTriedAgain: the mapping of a block that the system does not take back counts
// until it does, is no damage, and goes with the next ones.
func TestGuardPagesTriedAgain(t *testing.T) {
	h, f, reports := pagedHeap()
	f.FailFrom(backing.OpUnmap, 1, syscall.EINVAL)
	mustFree(t, h, mustMalloc(t, h, 100))
	_, bytes := f.Live()
	if s := h.Stats(); bytes == 0 || h.leave != bytes || s.Backing != 0 || h.debug.paged.Load() != 1 {
		t.Errorf("of %d bytes %d count, and %d as mapped; %d blocks have pages", bytes, h.leave, s.Backing, h.debug.paged.Load())
	}
	if err := h.Trim(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Trim: %v", err)
	}
	f.FailFrom(backing.OpUnmap, 0, nil)
	if err := h.Trim(); err != nil {
		t.Error(err)
	}
	if n, _ := f.Live(); n != 0 || h.leave != 0 || h.debug.paged.Load() != 0 {
		t.Errorf("%d mappings are left, %d bytes count, %d blocks have pages", n, h.leave, h.debug.paged.Load())
	}
	mustFree(t, h, mustMalloc(t, h, 100))
	if h.Borrow(100) == nil {
		t.Error("no borrow")
	}
	mustCloseLate(t, h, f)
	if s := h.Stats(); s.Damaged != 0 || len(*reports) != 0 || h.debug.paged.Load() != 0 {
		t.Errorf("%+v, reports %v, %d blocks have pages", s, *reports, h.debug.paged.Load())
	}
}

// TestGuardPagesGoBeforeTheNext: what a borrow had makes place for the next block below
// the limit.
func TestGuardPagesGoBeforeTheNext(t *testing.T) {
	h, f, _ := pagedHeap()
	if h.Borrow(100) == nil {
		t.Fatal("no borrow")
	}
	_, h.cfg.MaxBytes = f.Live()
	mustFree(t, h, mustMalloc(t, h, 100))
	if s := h.Stats(); s.Unguarded != 0 || s.Chunks != 0 || f.Calls(backing.OpMap) != 2 {
		t.Errorf("%+v after %d calls of Map", s, f.Calls(backing.OpMap))
	}
}

// sampledHeap is a heap with a sampled guard, which takes the next block, with slots of source.
func sampledHeap(source backing.Source) *Heap {
	h := new(Heap)
	h.Init(Config{Source: backing.Heap(), Placement: placements["tlsf"], Spans: true, Sample: &Sample{Rate: 1, Interval: -1}})
	h.sampler.source = source
	return h
}

// TestSlotsTriedAgain: the same for the slots of the sampled guard, at Close.
func TestSlotsTriedAgain(t *testing.T) {
	f := backing.NewFaulty(backing.Mmap())
	h := sampledHeap(f)
	mustFree(t, h, mustMalloc(t, h, 100))
	if n, _ := f.Live(); n != 1 {
		t.Fatalf("%d mappings", n)
	}
	mustCloseLate(t, h, f)
}

// noWalls is a source that cannot protect.
type noWalls struct{ *backing.Faulty }

func (noWalls) Protect([]byte) error { return syscall.EPERM }

// TestSlotsWithoutWallsTriedAgain: the same where the slots cannot be protected.
func TestSlotsWithoutWallsTriedAgain(t *testing.T) {
	f := backing.NewFaulty(backing.Heap())
	h := sampledHeap(noWalls{f})
	f.FailFrom(backing.OpUnmap, 1, syscall.EINVAL)
	mustFree(t, h, mustMalloc(t, h, 100))
	if _, bytes := f.Live(); bytes == 0 || h.leave != bytes || h.guards != 0 {
		t.Errorf("of %d bytes %d count, and %d as mapped", bytes, h.leave, h.guards)
	}
	if s := h.Stats(); s.Sampled != 0 || s.Unguarded != 1 {
		t.Errorf("%+v", s)
	}
	mustCloseLate(t, h, f)
}
