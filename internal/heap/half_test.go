package heap

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

// TestFirstSpansAreHalf: a class of which there is little takes half a span, and
// one of which there is more whole ones.
func TestFirstSpansAreHalf(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	for c := range classes {
		if hostOf(c) != c {
			continue // TestGuestGetsItsOwn has them
		}
		n := int(slotSize[c])
		h := newHeap(8 << 20)
		for range 1023 + firstWait(c) {
			mustFree(t, h, mustMalloc(t, h, n))
		}
		if slots := halfBytes[c] / n; halfBytes[c] < spanBytes[c] && slots < 8 {
			t.Errorf("%d bytes: a half span has %d slots", n, slots)
		}
		for had := 0; had < 2*spanBytes[c]; {
			mustMalloc(t, h, n)
			want := spanBytes[c]
			if had < want {
				want = halfBytes[c]
			}
			got := h.bytesOfSpans()
			if got != had && got != had+want {
				t.Errorf("%d bytes: a span of %d bytes after %d bytes of spans", n, got-had, had)
			}
			had = got
		}
		mustVerify(t, h)
		if err := h.Reset(); err != nil {
			t.Error(err)
		}
		mustVerify(t, h)
	}
}

// TestHalfSpansFillTheRest: where no whole span finds room a half one does, before
// the heap grows.
func TestHalfSpansFillTheRest(t *testing.T) {
	needPins(t)                                     // else a stack that moves has another shard
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	const n = 64
	var odd, even bool // numbers of units; a chunk that does not begin at one has one fewer
	for size := 240 << 10; (!odd || !even) && size < 1<<20; size += spanUnit {
		h := newHeap(size)
		for range 1024 + firstWait(class(n)) {
			mustFree(t, h, mustMalloc(t, h, n))
		}
		mapped, got := h.Stats().Backing, 0
		for mustMalloc(t, h, n); h.Stats().Backing == mapped; mustMalloc(t, h, n) {
			got += n
		}
		units := len(h.chunks[0].mem) / spanUnit
		odd, even = odd || units%2 == 1, even || units%2 == 0
		if want := units * spanUnit; got != want {
			t.Errorf("the heap grew with %d bytes of blocks, there was room for %d", got, want)
		}
		mustVerify(t, h)
	}
}

// bytesOfSpans is the bytes of all spans.
func (h *Heap) bytesOfSpans() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.chunks {
		n += c.spanned
	}
	return n
}

// TestLargeSpansDoNotGrow: where there is no room for a span of large slots blocks are
// placed in what is free between others, and the heap grows when there is none for them.
// Then a span has room again.
func TestLargeSpansDoNotGrow(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	const n = 20_000
	h := newHeap(2 << 20)
	h.ticking.Store(true) // no clock: nothing is dropped
	for range 1023 + firstWait(class(n)) {
		mustFree(t, h, mustMalloc(t, h, n))
	}
	// Every second one of blocks that are no slots is free: the holes hold five blocks.
	const hole = 5*n + maxSlot
	var holes [][]byte
	for h.room0() >= 2*hole {
		holes = append(holes, mustMalloc(t, h, hole))
		mustMalloc(t, h, maxSlot+1)
	}
	mustMalloc(t, h, h.room0())
	mustFree(t, h, holes...)

	mapped, count := h.Stats().Backing, 0
	for ; h.Stats().Backing == mapped; count++ {
		mustMalloc(t, h, n)
	}
	if s := h.Stats(); s.Spans != 0 {
		t.Errorf("%d spans where there was no room for one", s.Spans)
	}
	if want := len(holes) * (hole / (n + chunkUnit)); count <= want {
		t.Errorf("the heap grew after %d blocks, there was room for %d", count, want)
	}
	for range aloneWait {
		mustMalloc(t, h, n)
	}
	mustMalloc(t, h, n)
	if s := h.Stats(); s.Spans != 1 {
		t.Errorf("%d spans where there is room again", s.Spans)
	}
	mustVerify(t, h)
}

// TestManyLargeSlotsGrow: blocks that keep coming where there is no room for a span of them
// get one after a while, also if there are never many at once.
func TestManyLargeSlotsGrow(t *testing.T) {
	for _, n := range []int{12_000, 16 << 10, 24_000, maxSlot} {
		h := newHeap(100)
		h.ticking.Store(true) // no clock: nothing is dropped
		alone := 1024 + firstWait(class(n)) + aloneWait*aloneTries
		for range alone {
			mustFree(t, h, mustMalloc(t, h, n))
		}
		if s := h.Stats(); s.Spans != 0 || s.Backing > 8*n {
			t.Errorf("%d bytes: %d spans and %d bytes mapped for one block at a time", n, s.Spans, s.Backing)
		}
		for range aloneTries {
			mustFree(t, h, mustMalloc(t, h, n))
		}
		if s := h.Stats(); s.Spans != 1 {
			t.Errorf("%d bytes: %d spans after %d blocks", n, s.Spans, alone+aloneTries)
		}
		for range halfBytes[class(n)] / n {
			mustMalloc(t, h, n) // all slots
		}
		for range 2 * (aloneWait + 1) * aloneTries {
			mustFree(t, h, mustMalloc(t, h, n))
		}
		if s := h.Stats(); s.Spans != 1 {
			t.Errorf("%d bytes: %d spans, as the first was full", n, s.Spans)
		}
		mustVerify(t, h)
	}
}

// TestLargeSlotsAtTheLimit: blocks have room where a span of them never can.
func TestLargeSlotsAtTheLimit(t *testing.T) {
	const n, limit = 12_000, 100_000
	h := new(Heap)
	h.Init(Config{Size: 100, MaxBytes: limit, Source: backing.Heap(), Placement: placements["tlsf"], Spans: true})
	h.ticking.Store(true)
	tried, before := 0, uint8(0)
	for range 4 * (1024 + firstWait(class(n)) + aloneWait*aloneTries) {
		mustFree(t, h, mustMalloc(t, h, n))
		if h.sharing != nil {
			if before == aloneTries && h.tries[class(n)] == 0 {
				tried++
			}
			before = h.tries[class(n)]
		}
	}
	if s := h.Stats(); s.Spans != 0 || s.PeakBacking > limit {
		t.Errorf("%d spans, %d bytes mapped", s.Spans, s.PeakBacking)
	}
	if tried < 2 || tried > 12 {
		t.Errorf("the heap was to grow %d times for a span that it cannot have", tried)
	}
	mustVerify(t, h)
}

// room0 is the largest block that has room in the first chunk.
func (h *Heap) room0() int { return h.chunks[0].place.Fits() }

// TestSpansOfManyAreDouble: a class of small requests that has many bytes takes spans
// twice as large, and whole ones again where there is no room for those.
func TestSpansOfManyAreDouble(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	for _, n := range []int{64, 1000, maxSmall, maxSmall + 1} {
		c, last := class(n), 0 // whole spans where there was no room for a double one
		for more := range 4 {  // units: the room behind the double spans varies
			h := newHeap(4<<20 + more*spanUnit)
			for range 1023 + firstWait(c) {
				mustFree(t, h, mustMalloc(t, h, n))
			}
			taken := map[int]int{} // number of spans of each size, while the heap had one chunk
			for had := 0; h.Stats().Chunks == 1; {
				mustMalloc(t, h, n)
				got := h.bytesOfSpans()
				if got != had && had >= busyBytes && h.Stats().Chunks == 1 {
					taken[got-had]++
				}
				had = got
			}
			if n > maxSmall {
				if len(taken) != 1 || taken[spanBytes[c]] == 0 {
					t.Errorf("%d bytes: spans of %v", n, taken)
				}
			} else if len(taken) > 3 || taken[2*spanBytes[c]] < 10 || taken[spanBytes[c]] > 1 || taken[halfBytes[c]] > 1 {
				t.Errorf("%d bytes: spans of %v", n, taken)
			}
			last += taken[spanBytes[c]]
			mustVerify(t, h)
			if err := h.Reset(); err != nil {
				t.Error(err)
			}
			mustVerify(t, h)
		}
		if last == 0 {
			t.Errorf("%d bytes: no whole span at the end of the room", n)
		}
	}
}

// TestRecordsBesideTheirSpan: the first records and what the fast paths read of a span
// have different last bits.
func TestRecordsBesideTheirSpan(t *testing.T) {
	const hot = unsafe.Offsetof(span{}.chunk)
	if hot > hotBytes {
		t.Errorf("the fast paths read %d bytes of a span", hot)
	}
	var keep []*span // so that each lies elsewhere
	for c := range classes {
		for range 50 {
			sp := newSpan(c, spanBytes[c])
			keep = append(keep, sp)
			if slots := spanBytes[c] / int(slotSize[c]); len(sp.recs) != slots || cap(sp.recs) != slots {
				t.Fatalf("class %d: %d records with room for %d, want %d", c, len(sp.recs), cap(sp.recs), slots)
			}
			for i := range min(len(sp.recs), firstBytes/4) {
				if at := uintptr(unsafe.Pointer(&sp.recs[i])) - uintptr(unsafe.Pointer(sp)); at%4096 < hot {
					t.Fatalf("class %d: record %d lies %d bytes behind the span", c, i, at)
				}
			}
		}
	}
	runtime.KeepAlive(keep)
}
