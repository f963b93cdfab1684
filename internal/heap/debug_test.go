package heap

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/guard"
	"github.com/gomem-go/gomem/offset"
)

var placements = map[string]func(size int) offset.Allocator{
	"tlsf":       func(size int) offset.Allocator { return offset.NewTLSF(size, 64) },
	"singletree": func(size int) offset.Allocator { return offset.NewSingleTree(size) },
	"twotree":    func(size int) offset.Allocator { return offset.NewTwoTree(size) },
}

// eachDebug runs f on a heap in debug mode for each placement, with guard pages
// and without. What the heap reports is appended to reports.
func eachDebug(t *testing.T, d Debug, f func(t *testing.T, h *Heap, reports *[]error)) {
	for name, placement := range placements {
		for _, pages := range []bool{false, true} {
			if pages {
				name += "+pages"
			}
			t.Run(name, func(t *testing.T) {
				d := d
				d.GuardPages = pages
				h, reports := new(Heap), new([]error)
				h.Init(Config{
					Size: 1 << 16, Source: backing.Heap(), Placement: placement, Spans: true, Debug: &d,
					Misuse: func(err error) { *reports = append(*reports, err) },
				})
				f(t, h, reports)
			})
		}
	}
}

func mustMalloc(t *testing.T, h *Heap, n int) []byte {
	t.Helper()
	b, err := h.TryMalloc(n)
	if err != nil || len(b) != n || cap(b) != n {
		t.Fatalf("TryMalloc(%d) = len %d, cap %d, %v", n, len(b), cap(b), err)
	}
	return b
}

// beyond is b with more bytes at the end than it owns, which only unsafe makes.
func beyond(b []byte, more int) []byte { return unsafe.Slice(unsafe.SliceData(b), len(b)+more) }

func TestDebugRandom(t *testing.T) {
	eachDebug(t, Debug{Quarantine: 20_000}, func(t *testing.T, h *Heap, reports *[]error) {
		rng := rand.New(rand.NewPCG(1, 2))
		t.Log("seed 1, 2")
		var live []stamped
		bytes := 0
		for op := range 3000 {
			if len(live) < 30 || rng.IntN(2) == 0 && len(live) < 400 {
				n := 1 + rng.IntN(300)
				if rng.IntN(8) == 0 {
					n = 1 + rng.IntN(9000)
				}
				s := stamped{mustMalloc(t, h, n), rng.Uint64()}
				if uintptr(unsafe.Pointer(&s.b[0]))%slotAlign != 0 {
					t.Fatalf("op %d: block at %p", op, &s.b[0])
				}
				s.fill()
				live = append(live, s)
				bytes += n
				continue
			}
			i := rng.IntN(len(live))
			s := live[i]
			s.check(t)
			from, to := 0, len(s.b)
			if rng.IntN(3) == 0 {
				from = rng.IntN(len(s.b))
				to = from + 1 + rng.IntN(len(s.b)-from)
			}
			if !h.Free(s.b[from:to]) || h.Free(s.b[from:to]) {
				t.Fatalf("op %d: [%d,%d) of %d: not freed, or twice", op, from, to, len(s.b))
			}
			if len(*reports) != 1 || !errors.Is((*reports)[0], ErrDoubleFree) {
				t.Fatalf("op %d: reports %v", op, *reports)
			}
			*reports = nil
			bytes -= to - from
			live = slices.Delete(live, i, i+1)
			if from > 0 {
				live = append(live, stamped{s.b[:from], s.mark})
			}
			if to < len(s.b) {
				r := to & 7
				live = append(live, stamped{s.b[to:], s.mark>>(8*r) | s.mark<<(64-8*r)})
			}
			if op%200 == 0 {
				if err := h.Verify(); err != nil {
					t.Fatalf("op %d: %v", op, err)
				}
				if got := h.Stats().Live; got != bytes {
					t.Fatalf("op %d: live %d, want %d", op, got, bytes)
				}
			}
		}
		for _, s := range live {
			s.check(t)
			if !h.Free(s.b) {
				t.Fatal("refused")
			}
		}
		if err := h.Trim(); err != nil {
			t.Fatal(err)
		}
		if s := h.Stats(); s.Live != 0 || s.Backing != 0 || s.Chunks != 0 || len(*reports) != 0 {
			t.Fatalf("after everything was freed: %+v, %v", s, *reports)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// oneReport checks that there is one report, that it is why, and that it lists
// the events, and returns it.
func oneReport(t *testing.T, reports *[]error, why error, at int, events ...string) *guard.Error {
	t.Helper()
	if len(*reports) != 1 || !errors.Is((*reports)[0], why) {
		t.Fatalf("reports %v, want one: %v", *reports, why)
	}
	e, ok := errors.AsType[*guard.Error]((*reports)[0])
	if !ok || e.At != at {
		t.Fatalf("report %v, want %+d", (*reports)[0], at)
	}
	var got []string
	for _, ev := range e.Events {
		got = append(got, ev.What)
		if !strings.Contains(ev.Stack.String(), "TestDebug") {
			t.Errorf("%s at\n%v\nwhich is not in the test", ev.What, ev.Stack)
		}
	}
	if !slices.Equal(got, events) {
		t.Errorf("events %q, want %q", got, events)
	}
	*reports = nil
	return e
}

func TestDebugDoubleFree(t *testing.T) {
	eachDebug(t, Debug{}, func(t *testing.T, h *Heap, reports *[]error) {
		b := mustMalloc(t, h, 100)
		h.Free(b[20:60])
		if h.Free(b[10:30]) {
			t.Error("accepted")
		}
		oneReport(t, reports, ErrDoubleFree, 20, "allocated", "first freed", "this free")
		h.Free(b[:20])
		h.Free(b[60:])
		// Memory that was freed is not reused at once, so the free is found out.
		for range 10 {
			mustMalloc(t, h, 100)
		}
		if h.Free(b) {
			t.Error("accepted")
		}
		oneReport(t, reports, ErrDoubleFree, 0, "allocated", "first freed", "this free")
	})
}

func TestDebugTooLong(t *testing.T) {
	eachDebug(t, Debug{}, func(t *testing.T, h *Heap, reports *[]error) {
		b, c := mustMalloc(t, h, 100), mustMalloc(t, h, 100)
		for more, at := range map[int]int{1: 100, 8: 100} {
			if h.Free(beyond(b, more)) {
				t.Error("accepted")
			}
			oneReport(t, reports, ErrNotOwned, at, "allocated", "this free")
		}
		if !h.Free(b) || !h.Free(c) {
			t.Error("refused")
		}
	})
}

func TestDebugOverflow(t *testing.T) {
	eachDebug(t, Debug{}, func(t *testing.T, h *Heap, reports *[]error) {
		for _, at := range []int{-1, -16, 100, 111} {
			b := mustMalloc(t, h, 100)
			// Safety: the byte is in the red zone.
			*(*byte)(unsafe.Add(unsafe.Pointer(&b[0]), at)) = 7
			if err := h.Verify(); !errors.Is(err, ErrOverrun) {
				t.Errorf("Verify: %v", err)
			}
			*(*byte)(unsafe.Add(unsafe.Pointer(&b[0]), at)) = 7
			if !h.Free(b) {
				t.Error("refused")
			}
			oneReport(t, reports, ErrOverrun, at, "allocated")
		}
		if n := h.Stats().Damaged; n != 8 {
			t.Errorf("%d damages counted, want 8", n)
		}
	})
}

// A fault in a guard page is explained by the block that the page is for.
func TestDebugExplainsGuardPages(t *testing.T) {
	needWalls(t)
	h := new(Heap)
	h.Init(Config{Source: backing.Heap(), Placement: placements["tlsf"], Debug: &Debug{GuardPages: true, Quiet: true}})
	defer h.Close()
	for _, n := range []int{16, 4096, 70000} {
		b := mustMalloc(t, h, n)
		mustMalloc(t, h, n) // its guard pages may lie beside those of b
		behind, ok := faults(func() { beyond(b, 1)[n] = 1 })
		if !ok {
			t.Fatalf("no page behind %d bytes", n)
		}
		wantOverrun(t, h, behind, b, n)
		w := h.debug.find(uintptr(unsafe.Pointer(&b[0])))
		front := -len(w.Mem) + n - 1 // the last byte of the page in front
		wantOverrun(t, h, uintptr(unsafe.Pointer(&b[0]))+uintptr(front), b, front)
	}
	for _, addr := range []uintptr{0, ^uintptr(0)} {
		if err := h.Explain(addr); err != nil {
			t.Errorf("nothing is at %#x: %v", addr, err)
		}
	}
}

// TestDebugPagesAreBounded: the system has a bound on mappings, and a process that
// reaches it ends. At the bound the quarantine goes first.
func TestDebugPagesAreBounded(t *testing.T) {
	needWalls(t)
	const others, room = mostPaged - 4, 4
	h := new(Heap)
	h.Init(Config{Source: backing.Heap(), Placement: placements["tlsf"], Debug: &Debug{GuardPages: true, Quiet: true}})
	h.debug.paged = new(atomic.Int64)
	h.debug.paged.Store(others)
	malloc := func(unguarded uint64) []byte {
		t.Helper()
		b := mustMalloc(t, h, 100)
		if got := h.Stats().Unguarded; got != unguarded {
			t.Fatalf("%d blocks have no guard pages, want %d", got, unguarded)
		}
		return b
	}
	first := malloc(0)
	for range room - 1 {
		malloc(0)
	}
	malloc(1)
	malloc(2)
	mustFree(t, h, first) // into quarantine, from where the next block takes its mapping
	malloc(2)
	mustFree(t, h, malloc(3)) // has no mapping to give
	held := h.debug.held
	malloc(4)
	if h.debug.held != held {
		t.Errorf("the quarantine went from %d bytes to %d for nothing", held, h.debug.held)
	}
	mustVerify(t, h)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if n := h.debug.paged.Load(); n != others {
		t.Errorf("%d blocks have guard pages in the end, %d before", n, others)
	}
}

func TestDebugUseAfterFree(t *testing.T) {
	eachDebug(t, Debug{}, func(t *testing.T, h *Heap, reports *[]error) {
		b := mustMalloc(t, h, 3000)
		h.Free(b[1000:])
		b[1000+500] = 1 // the head keeps the block's pages accessible
		if err := h.Trim(); err != nil {
			t.Fatal(err)
		}
		oneReport(t, reports, ErrUseAfterFree, 1500, "allocated", "freed")
		h.Free(b[:1000])
	})
}

func TestDebugBorrow(t *testing.T) {
	eachDebug(t, Debug{}, func(t *testing.T, h *Heap, reports *[]error) {
		b := h.Borrow(50)
		b[0], b[49] = 1, 2
		if s := h.Stats(); len(b) != 50 || s.Malloced != 0 || s.Live != 0 {
			t.Errorf("a borrow of %d bytes counts: %+v", len(b), s)
		}
		if h.Free(b) {
			t.Error("Free of a borrow accepted")
		}
		*reports = nil
		h.Free(mustMalloc(t, h, 10))
		if err := h.Trim(); err != nil || len(*reports) != 0 {
			t.Error(err, *reports)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestDebugLeaks(t *testing.T) {
	eachDebug(t, Debug{}, func(t *testing.T, h *Heap, _ *[]error) {
		for range 3 {
			mustMalloc(t, h, 1000)
		}
		h.Free(mustMalloc(t, h, 10)[:4])
		err := h.Close()
		e, ok := errors.AsType[*guard.LeakError](err)
		if !ok || e.Blocks != 4 || e.Bytes != 3006 || len(e.Leaks) != 2 || e.Leaks[0].Blocks != 3 || e.Leaks[1].Bytes != 6 {
			t.Fatalf("Close: %v", err)
		}
		if !strings.Contains(err.Error(), "debug_test.go") {
			t.Errorf("no place in %v", err)
		}
		if err := h.Close(); !errors.Is(err, ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
	})
	h := new(Heap)
	h.Init(Config{Size: 1 << 12, Source: backing.Heap(), Placement: placements["tlsf"], Debug: &Debug{Quiet: true}})
	mustMalloc(t, h, 10)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// TestDebugLimit: what fits without debug mode fits with it, and the limit
// holds.
func TestDebugLimit(t *testing.T) {
	eachDebug(t, Debug{}, func(t *testing.T, h *Heap, _ *[]error) {
		h.cfg.MaxBytes = 1 << 16
		for range 20 {
			b := mustMalloc(t, h, 1<<16)
			if got := h.Stats().Backing; got > 1<<16 {
				t.Fatalf("%d bytes mapped", got)
			}
			h.Free(b)
		}
		for range 4 {
			mustMalloc(t, h, 5000)
		}
		if got := h.Stats().Backing; got > 1<<16 {
			t.Fatalf("%d bytes mapped", got)
		}
		if _, err := h.TryMalloc(1 << 16); !errors.Is(err, ErrLimit) {
			t.Error(err)
		}
		if err := h.Reset(); err != nil || h.cfg.MaxBytes != 1<<16 {
			t.Error(err, h.cfg.MaxBytes)
		}
	})
}

// TestDebugQuarantineEnds: without more frees the memory comes back by itself.
func TestDebugQuarantineEnds(t *testing.T) {
	eachDebug(t, Debug{}, func(t *testing.T, h *Heap, _ *[]error) {
		synctest.Test(t, func(t *testing.T) {
			var all [][]byte
			for range 200 {
				all = append(all, mustMalloc(t, h, 3000))
			}
			for _, b := range all {
				h.Free(b)
			}
			for until := time.Now().Add(5 * time.Second); ; pass(tickPeriod) {
				if s := h.Stats(); s.Chunks <= 1 && s.Backing <= maxChunk {
					break
				} else if time.Now().After(until) {
					t.Fatalf("still there: %+v", s)
				}
			}
		})
	})
}
