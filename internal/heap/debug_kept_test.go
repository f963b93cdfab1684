package heap

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/guard"
)

// TestQuarantineOfBorrows: what borrows leave in quarantine is bounded as what frees do.
func TestQuarantineOfBorrows(t *testing.T) {
	const limit = 1 << 20
	h := new(Heap)
	h.Init(Config{Size: 1 << 16, Source: backing.Heap(), Placement: placements["tlsf"], Spans: true, Debug: &Debug{Quarantine: limit}})
	for range 200 {
		if h.Borrow(64<<10) == nil {
			t.Fatal("no memory")
		}
	}
	if n := h.Stats().Backing; n > 4*limit {
		t.Errorf("%d bytes are mapped, with a quarantine of %d", n, limit)
	}
}

// TestQuarantineKeepsNothing: what left quarantine is not kept by the list that it was in.
func TestQuarantineKeepsNothing(t *testing.T) {
	h := new(Heap)
	h.Init(Config{Size: 1 << 16, Source: backing.Heap(), Placement: placements["tlsf"], Spans: true, Debug: &Debug{Quarantine: 1 << 30}})
	for range 10 {
		mustFree(t, h, mustMalloc(t, h, 1000))
	}
	list := h.debug.queue
	if len(list) != 10 {
		t.Fatalf("%d blocks are in quarantine", len(list))
	}
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	for i, q := range list {
		if q.w != nil {
			t.Errorf("block %d is kept", i)
		}
	}
}

// TestQuarantineGoesOn: as long as blocks are freed now and then, and few bytes are in
// quarantine, none of them is handed out again.
func TestQuarantineGoesOn(t *testing.T) {
	h := new(Heap)
	h.Init(Config{Size: 1 << 16, Source: backing.Heap(), Placement: placements["tlsf"], Spans: true, Debug: &Debug{Quarantine: 1 << 20}})
	h.ticking.Store(true) // by hand
	first := mustMalloc(t, h, 1000)
	mustFree(t, h, first)
	for range 10 {
		b := mustMalloc(t, h, 1000)
		if &b[0] == &first[0] {
			t.Fatal("a block left quarantine while others were freed")
		}
		mustFree(t, h, b)
		h.tick()
	}
	h.tick() // nothing was freed since
	if n := len(h.debug.queue); n != 0 {
		t.Errorf("%d blocks are in quarantine after a period in which nothing was freed", n)
	}
}

// TestStackNamesCaller: however small the depth, and however deep in the allocator, a
// stack begins with its caller.
func TestStackNamesCaller(t *testing.T) {
	for _, depth := range []int{1, 3, 8} {
		h, reports := new(Heap), new([]error)
		h.Init(Config{
			Size: 1 << 16, Source: backing.Heap(), Placement: placements["tlsf"], Spans: true, Debug: &Debug{StackDepth: depth},
			Misuse: func(err error) { *reports = append(*reports, err) },
		})
		b := mustMalloc(t, h, 100)
		mustFree(t, h, b[:50], b[50:])
		h.Free(b)
		if len(*reports) != 1 {
			t.Fatalf("%d reports", len(*reports))
		}
		parts := strings.Split((*reports)[0].Error(), " at\n")
		if len(parts) != 4 { // of the allocation, its free, and this free
			t.Errorf("depth %d: %q", depth, parts)
		}
		for _, part := range parts[1:] {
			if lines := strings.Count(part, "\t\t"); lines == 0 || lines > depth || !strings.Contains(part, "_test.go:") {
				t.Errorf("depth %d: a stack is %q", depth, part)
			}
		}
	}
}

// TestSampleTellsDamageAfterRefusal: a free that is refused does not hide that somebody
// wrote beside the block.
func TestSampleTellsDamageAfterRefusal(t *testing.T) {
	h, reports := newSampled(t, Sample{Rate: 1})
	for range 20 { // until one is not at the front of its page
		b := mustMalloc(t, h, 100)
		if h.Free(unsafe.Slice(&b[90], 11)) {
			t.Fatal("accepted")
		}
		if uintptr(unsafe.Pointer(&b[0]))%pageSize != 0 {
			// Safety: the byte is in a red zone.
			*(*byte)(unsafe.Add(unsafe.Pointer(&b[0]), -1)) = 7
			mustFree(t, h, b)
			if n := len(*reports); !errors.Is((*reports)[n-1], guard.ErrOverrun) {
				t.Errorf("reports %v", *reports)
			}
			return
		}
		mustFree(t, h, b)
	}
	t.Error("all blocks begin their page")
}

// TestDropUnmapsBorrow: a heap that is dropped leaves no mapping of a borrow behind.
func TestDropUnmapsBorrow(t *testing.T) {
	needWalls(t)
	h := new(Heap)
	h.Init(Config{Size: 1 << 16, Source: backing.Heap(), Placement: placements["tlsf"], Spans: true, Debug: &Debug{GuardPages: true}})
	if h.Borrow(100) == nil {
		t.Fatal("no memory")
	}
	w := h.debug.borrowed
	if w == nil || w.chunk != nil {
		t.Skip("a borrow has no guard pages here")
	}
	before := h.debug.paged.Load()
	h.debug.drop()
	if after := h.debug.paged.Load(); after != before-1 {
		t.Errorf("%d mappings are left of %d", after, before)
	}
}
