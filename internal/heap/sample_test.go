package heap

import (
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/guard"
)

// newSampled returns a heap that samples every block that it can, and the list
// of what it reports.
func newSampled(t *testing.T, cfg Sample) (*Heap, *[]error) {
	h, reports := new(Heap), new([]error)
	cfg.Interval = -1
	h.Init(Config{
		Size: 1 << 16, Source: backing.Heap(), Placement: placements["tlsf"], Spans: true, Sample: &cfg,
		Misuse: func(err error) { *reports = append(*reports, err) },
	})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h, reports
}

// faults says whether f makes the processor fault, and where.
func faults(f func()) (addr uintptr, yes bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e, ok := recover().(interface{ Addr() uintptr }); ok {
			addr, yes = e.Addr(), true
		}
	}()
	f()
	return 0, false
}

// wantOverrun checks what is said of a fault at the byte at of b.
func wantOverrun(t *testing.T, h *Heap, addr uintptr, b []byte, at int) {
	t.Helper()
	first := uintptr(unsafe.Pointer(&b[0]))
	if runtime.GOARCH == "s390x" { // the processor tells the page alone
		at = int(addr - first)
	}
	e, ok := h.Explain(addr).(*guard.Error)
	if !ok || !errors.Is(e, ErrOverrun) || e.Addr != first || e.Size != len(b) || e.At != at {
		t.Fatalf("the fault beside %d bytes at %#x is explained by %v", len(b), first, h.Explain(addr))
	}
}

func needWalls(t *testing.T) {
	if _, ok := backing.Mmap().(backing.Protector); !ok {
		t.Skip("no guard pages here")
	}
}

func TestSampleFaults(t *testing.T) {
	needWalls(t)
	h, _ := newSampled(t, Sample{Rate: 1})
	atEnd, atFront := false, false
	for range 200 {
		b := mustMalloc(t, h, 64)
		if uintptr(unsafe.Pointer(&b[0]))%slotAlign != 0 {
			t.Fatalf("block at %p", &b[0])
		}
		atWall, end := faults(func() { beyond(b, 1)[64] = 1 })
		// Safety: the byte is behind a wall, or in a red zone.
		below, front := faults(func() { *(*byte)(unsafe.Add(unsafe.Pointer(&b[0]), -1)) = redZone })
		atEnd, atFront = atEnd || end, atFront || front
		if !end && !front {
			t.Fatal("neither end has a wall")
		}
		if end {
			wantOverrun(t, h, atWall, b, 64)
		} else {
			wantOverrun(t, h, below, b, -1)
		}
		first := &b[0]
		if !h.Free(b) {
			t.Fatal("refused")
		}
		addr, ok := faults(func() { *first = 1 })
		want := uintptr(unsafe.Pointer(first))
		if runtime.GOARCH == "s390x" { // the processor tells the page alone
			want &^= pageSize - 1
		}
		if !ok || addr != want {
			t.Fatalf("a use after free does not fault at %#x, but at %#x: %v", want, addr, ok)
		}
		if why := h.Explain(addr); why == nil {
			t.Fatal("nothing to explain")
		}
	}
	if !atEnd || !atFront {
		t.Errorf("walls at the end %v, at the front %v, want both", atEnd, atFront)
	}
	if s := h.Stats(); s.Sampled != 200 || s.Live != 0 || s.Damaged == 0 {
		t.Errorf("%+v", s)
	}
}

func TestSampleReportsOnce(t *testing.T) {
	h, reports := newSampled(t, Sample{Rate: 1, Slots: 2})
	b := mustMalloc(t, h, 100)
	h.Free(b[:50])
	for range 3 {
		if h.Free(b[20:30]) {
			t.Fatal("accepted")
		}
	}
	h.Free(b[50:])
	if h.Free(b) {
		t.Error("accepted")
	}
	if len(*reports) != 4 || !errors.Is((*reports)[0], ErrDoubleFree) {
		t.Errorf("reports %v", *reports)
	}
	if s := h.Stats(); s.Sampled != 1 || s.Refused != 4 || s.Malloced != 100 || s.Freed != 100 {
		t.Errorf("%+v", s)
	}
	// Two slots: the third block is an ordinary one.
	for range 3 {
		mustMalloc(t, h, 100)
	}
	if s := h.Stats(); s.Sampled != 3 {
		t.Errorf("%+v", s)
	}
	if h.Free(h.sampler.mem[:1]) {
		t.Error("Free of what was not handed out accepted")
	}
}

func TestSampleOff(t *testing.T) {
	h, _ := newSampled(t, Sample{Rate: 1})
	f := backing.NewFaulty(h.sampler.source)
	h.sampler.source = f
	f.Fail(backing.OpMap, 1, nil)
	for range 100 {
		h.Free(mustMalloc(t, h, 100))
	}
	if s := h.Stats(); s.Sampled != 0 || s.Unguarded != 1 || f.Calls(backing.OpMap) != 1 {
		t.Errorf("%+v after %d calls of Map", s, f.Calls(backing.OpMap))
	}
	h, _ = newSampled(t, Sample{Rate: 1})
	h.cfg.MaxBytes = 1 << 20
	for range 100 {
		mustMalloc(t, h, 100)
	}
	if s := h.Stats(); s.Backing > 1<<20 || s.Sampled != 0 || s.Unguarded != 1 {
		t.Errorf("%+v", s)
	}
}

// TestSampleRate: of the blocks that refills bring one in Rate is sampled.
func TestSampleRate(t *testing.T) {
	const rate, rounds, blocks = 100, 40, 5000
	h, _ := newSampled(t, Sample{Rate: rate})
	var all [blocks][]byte
	for range rounds {
		for i := range all {
			all[i] = mustMalloc(t, h, 1+i%200)
		}
		for _, b := range all {
			if !h.Free(b) {
				t.Fatal("refused")
			}
		}
		// A slot is taken for the rest of a round: give each round its own.
		if err := h.Verify(); err != nil {
			t.Fatal(err)
		}
	}
	// In each round the 16 slots are soon taken.
	got, want := h.Stats().Sampled, uint64(rounds*maxSlots)
	if got < want*8/10 || got > want {
		t.Errorf("%d of %d blocks sampled, want about %d", got, rounds*blocks, want)
	}
}

// TestSampleOffered: of blocks that no refill sees the clock offers some to the
// guard, which takes one in Rate, of whatever size.
func TestSampleOffered(t *testing.T) {
	const rate, offers = 50, 400
	h, _ := newSampled(t, Sample{Rate: rate})
	sizes, sampled := []int{64, 1000}, make(map[int]int)
	for i := range 2000 + 1000*offers {
		if i > 2000 && i%1000 == 0 {
			h.mu.Lock()
			h.offer()
			h.mu.Unlock()
		}
		n := sizes[i&1]
		b := h.Malloc(n)
		if _, in := h.sampler.at(uintptr(unsafe.Pointer(&b[0]))); in && i > 2000 {
			sampled[n]++
		}
		mustFree(t, h, b)
	}
	const want = offers * offerBlocks / rate / 2
	for _, n := range sizes {
		if got := sampled[n]; got < want*7/10 || got > want*13/10 {
			t.Errorf("%d blocks of %d bytes sampled, want about %d", got, n, want)
		}
	}
	// TryMalloc goes the slow way each time, and takes no slots but its own.
	before := h.Stats().Sampled
	for range 10_000 {
		mustFree(t, h, mustMalloc(t, h, 64))
	}
	if got := h.Stats().Sampled - before; got > 10_000/rate {
		t.Errorf("%d of 10000 blocks sampled, at most %d were asked for", got, 10_000/rate)
	}
}

// TestSampleAtRest: the blocks that follow a pause are offered, and wake the clock.
func TestSampleAtRest(t *testing.T) { synctest.Test(t, sampleAtRest) }

func sampleAtRest(t *testing.T) {
	h, _ := newSampled(t, Sample{})
	pairs := func(n int) {
		for range n {
			mustFree(t, h, h.Malloc(64))
		}
	}
	pairs(2000)
	mustMalloc(t, h, 64) // keeps the span
	until := time.Now().Add(20 * tickPeriod)
	for time.Now().Before(until) && (h.ticking.Load() || h.sampler.offered.Load() != offerBlocks) {
		pass(tickPeriod / 5)
	}
	pairs(offerBlocks - 1)
	if h.sampler.offered.Load() != 1 || h.front == h.shards {
		t.Errorf("%d blocks still offered", h.sampler.offered.Load())
	}
	pairs(1)
	if !h.ticking.Load() || h.front != h.shards {
		t.Error("the clock sleeps on, or Malloc sees no shards")
	}
}

// TestSampleDropped: an allocator that is dropped gives its slots back, but not
// under a block that somebody still has.
func TestSampleDropped(t *testing.T) {
	for _, keep := range []bool{false, true} {
		source := backing.NewFaulty(backing.Mmap())
		var kept []byte
		func() {
			h := new(Heap)
			h.Init(Config{
				Size: 1 << 16, Source: backing.Heap(), Placement: placements["tlsf"], Spans: true,
				Sample: &Sample{Rate: 1, Interval: -1},
			})
			h.sampler.source = source
			if b := mustMalloc(t, h, 100); keep {
				kept = b
			} else {
				h.Free(b)
			}
		}()
		until := time.Now().Add(30 * time.Second) // a collection may be slow in coming
		if keep {
			until = time.Now().Add(50 * time.Millisecond)
		}
		for time.Now().Before(until) && source.Calls(backing.OpUnmap) == 0 {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
		if n, _ := source.Live(); (n > 0) != keep {
			t.Errorf("%d mappings with a live block %v", n, keep)
		}
		if keep {
			kept[99]++
		}
	}
}

// TestSampleCountsOnce: a block that cannot be cut from a strip, and is placed otherwise, is
// one of those that were offered to the guard, not two.
func TestSampleCountsOnce(t *testing.T) {
	const n = 8000
	h, _ := newSampled(t, Sample{Rate: 1 << 30})
	h.sampler.due.Store(1 << 40)
	for range 6000 { // until strips serve
		b := mustMalloc(t, h, n)
		mustFree(t, h, b[1000:], b[:1000])
	}
	var kept [][]byte
	for range 400 {
		h.mu.Lock()
		h.offer()
		h.mu.Unlock()
		kept = append(kept, mustMalloc(t, h, n))
		if took := offerBlocks - h.sampler.offered.Load(); took > 1 {
			t.Fatalf("block %d took %d of those that were offered", len(kept), took)
		}
	}
	mustFree(t, h, kept...)
}
