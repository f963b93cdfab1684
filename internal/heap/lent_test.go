package heap

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/offset"
)

// TestLentSlotStays: the span of a slot that is lent stays where it is, until the next
// allocation, be it one of the class or of its host, or a block that no slot serves.
func TestLentSlotStays(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, n := range []int{100, 128} {
		mustKeepLent(t, n, n)
		mustKeepLent(t, n, 1<<20)
	}
}

func mustKeepLent(t *testing.T, n, next int) {
	t.Helper()
	h := sharedOut(t, n)
	s := h.enter(here())
	if leave(s); s == noShard {
		t.Skip("sections see no shard, so slots are not lent")
	}
	other := h.Stats().Spans
	for left := firstWait(class(10*n)) + 1; left > 0; left-- {
		mustFree(t, h, mustMalloc(t, h, 10*n)) // a span that nobody needs
	}
	b := h.Borrow(n)
	sp := h.spanAt(addressOf(b))
	if sp == nil || sp.used() != 0 || h.Stats().Spans != other+1 {
		t.Fatalf("lent from %v, %d spans, %d before", sp, h.Stats().Spans, other)
	}
	for range 2 {
		if err := h.Trim(); err != nil {
			t.Fatal(err)
		}
		if h.spanAt(addressOf(b)) != sp || !h.Owns(b) {
			t.Fatal("what is lent was given back")
		}
		if got := h.Stats().Spans; got != 1 {
			t.Fatalf("%d spans, one is lent from", got)
		}
	}
	mustGoUnlent(t, h, next)
}

// mustGoUnlent checks that the next block of n bytes ends a loan, after which all of h,
// in which nothing else is live, goes.
func mustGoUnlent(t *testing.T, h *Heap, n int) {
	t.Helper()
	mustFree(t, h, mustMalloc(t, h, n))
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	if s := h.Stats(); s.Backing != 0 {
		t.Errorf("nothing is lent: %+v", s)
	}
	mustVerify(t, h)
}

// TestLentChunkStays: the same for a chunk that a larger block is lent from.
func TestLentChunkStays(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, next := range []int{100 << 10, 100} {
		mustKeepChunkLent(t, next)
	}
}

func mustKeepChunkLent(t *testing.T, next int) {
	t.Helper()
	const n = 100 << 10
	h := sharedOut(t, 100)
	slot := mustMalloc(t, h, 100) // so that there are others, and no span is placed
	b := h.Borrow(n)
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	if !h.Owns(b) {
		t.Fatal("what is lent was given back")
	}
	mustFree(t, h, mustMalloc(t, h, next), slot)
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	if s := h.Stats(); s.Backing != 0 {
		t.Errorf("nothing is lent: %+v", s)
	}
	mustVerify(t, h)
}

// TestLentSpanMelts: what is lent of a span stays when a part that is freed melts that.
func TestLentSpanMelts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, n := range []int{5000, 40_000} {
		h := sharedOut(t, n)
		block := mustMalloc(t, h, n)
		b := h.Borrow(n)
		mustFree(t, h, block[:n/2])
		if h.spanAt(addressOf(block)) != nil {
			t.Fatalf("the span of blocks of %d bytes is as it was", n)
		}
		mustFree(t, h, block[n/2:])
		if err := h.Trim(); err != nil {
			t.Fatal(err)
		}
		if !h.Owns(b) {
			t.Errorf("%d bytes that are lent were given back", n)
		}
		mustGoUnlent(t, h, n)
	}
}

// TestFewInChunkOfLargeBlock: the chunk of a large block has a placement for few, but
// not that of a span, be it the largest.
func TestFewInChunkOfLargeBlock(t *testing.T) {
	h := newHeap(1024)
	for _, n := range []int{1000, maxSpan, maxSpan + 1} {
		b := mustMalloc(t, h, n)
		c := h.chunkOf(b)
		if _, got := c.place.(*offset.Few); got != (n > maxSpan) {
			t.Errorf("the chunk of %d bytes has a %T", n, c.place)
		}
	}
}

// TestHighFades: what the most live bytes were of late is forgotten by and by.
func TestHighFades(t *testing.T) {
	h := newHeap(1024)
	h.high = 800
	if h.tick(); h.high != 700 {
		t.Errorf("%d of 800 bytes after a period", h.high)
	}
}

// TestSparesGoWithChunks: when chunks are given back so are the spans that are placed
// nowhere, also while the heap is in use.
func TestSparesGoWithChunks(t *testing.T) {
	needPins(t)
	h, _ := stripped(t)
	var live [][]byte
	for range 8 << 10 {
		live = append(live, mustMalloc(t, h, 1024))
	}
	mustFree(t, h, live...)
	if h.countSpares() == 0 {
		t.Fatal("no spans to be placed again")
	}
	h.low = h.nempty
	mustFree(t, h, mustMalloc(t, h, 1024)) // not quiet
	chunks := h.Stats().Chunks
	if h.tick(); h.Stats().Chunks == chunks || h.countSpares() > 0 {
		t.Errorf("%d chunks, %d before, and %d spans are kept", h.Stats().Chunks, chunks, h.countSpares())
	}
}

// TestMostlyDead: a strip is dead if it holds a quarter of its blocks, or an eighth of its
// bytes: of blocks that are whole, shortened or in parts.
func TestMostlyDead(t *testing.T) {
	const size, blocks = 16 << 10, maxSpan / (16 << 10)
	mem := make([]byte, maxSpan+maxSlot)
	part := new(parts)
	part.gone, part.stride = make([]uint64, maxSpan/64), 1
	for _, c := range []struct {
		used, left int // blocks, and bytes of each
		more       int // of the first
		want       bool
	}{
		{4, size, 0, true}, {5, size, 0, false},
		{16, maxSpan / 8 / 16, 0, true}, {16, maxSpan / 8 / 16, 1, false},
		{8, maxSpan / 8 / 8, 0, true}, {8, maxSpan / 8 / 8, 1, false},
	} {
		for _, state := range []uint32{stateCut, stateParts} {
			sp := newStrip(maxSpan)
			sp.base = unsafe.Pointer(&mem[0])
			for range blocks {
				sp.cut(size)
			}
			sp.most = blocks
			for i := range blocks {
				at := uint32(i * size / chunkUnit)
				left := uint32(c.left)
				if i == 0 {
					left += uint32(c.more)
				}
				switch {
				case i >= c.used:
					sp.uncut(at)
				case state == stateParts:
					sp.recs[at] = part.open(at, size)&^leftMask | left
				default:
					sp.recs[at] = stateCut | left
				}
			}
			if got := sp.mostlyDead(); got != c.want {
				t.Errorf("%d of %d blocks, %d bytes of each and %d: %v", c.used, blocks, c.left, c.more, got)
			}
		}
	}
}

// TestCrowded: a fifth more than the most that was live is too much.
func TestCrowded(t *testing.T) {
	h := newHeap(1024)
	h.mapped = 900
	for n, want := range map[int]bool{299: false, 300: false, 301: true} {
		if h.high = 1000; h.crowded(n) != want {
			t.Errorf("%d bytes more: %v", n, !want)
		}
	}
}

// TestDropFor: chunks that are empty make place for a larger one, the last first, but
// for one that is lent.
func TestDropFor(t *testing.T) {
	const n = 1 << 20
	h := newHeap(n)
	var blocks [5][]byte
	for i := range blocks {
		blocks[i] = mustMalloc(t, h, n)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := func(i int) *chunk { return h.table.find(addressOf(blocks[i])).c }
	gone, lent := at(1), at(4)
	h.giveBack(gone, 0, n)
	h.dropChunk(gone)
	h.giveBack(at(2), 0, n)
	h.giveBack(at(3), 0, n)
	h.giveBack(lent, 0, n)
	h.lend(lent)
	h.mapped += fewBytes // as a large heap
	if h.dropFor(3 * n) {
		t.Error("there was less")
	}
	h.mapped -= fewBytes
	if h.dropFor(5 * n) {
		t.Error("there was less than half")
	}
	for _, drop := range []struct {
		bytes int
		stays []bool
	}{
		{n, []bool{true, false, true, false, true}},
		{2 * n, []bool{true, false, false, false, true}}, // half, which is enough for a small heap
	} {
		if !h.dropFor(drop.bytes) {
			t.Error("there was enough")
		}
		for i, want := range drop.stays {
			if got := h.table.find(addressOf(blocks[i])) != nil; got != want {
				t.Errorf("chunk %d is there: %v", i, got)
			}
		}
	}
	if err := h.verify(); err != nil {
		t.Error(err)
	}
}
