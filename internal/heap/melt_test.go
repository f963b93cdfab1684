package heap

import (
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

// sharedOut returns a heap that gives slots for blocks of n bytes. Its clock stands,
// so that nothing goes back by itself where the machine is slow.
func sharedOut(t *testing.T, n int) *Heap {
	t.Helper()
	h := newHeap(1 << 20)
	h.ticking.Store(true)
	for range 1024 + firstWait(class(n)) {
		h.Free(mustMalloc(t, h, n))
	}
	h.Free(mustMalloc(t, h, n))
	if h.Stats().Spans == 0 {
		t.Fatalf("no slots for blocks of %d bytes", n)
	}
	return h
}

// TestTrimmedSlotsMelt: what is cut off blocks that lie in slots is free for
// requests of any size, to the granule.
func TestTrimmedSlotsMelt(t *testing.T) {
	for _, n := range []int{4097, 5000, 16 << 10, 17 << 10, 40_000, 64 << 10} {
		h := sharedOut(t, n)
		const keep = 1000
		var kept [][]byte
		for i := range 100 {
			b := mustMalloc(t, h, n)
			for j := range b[:keep] {
				b[j] = byte(i)
			}
			kept = append(kept, b)
		}
		for i, b := range kept {
			if !h.Free(b[keep:]) || h.Free(b[keep:]) {
				t.Fatalf("%d bytes: tail of block %d refused, or freed twice", n, i)
			}
			kept[i] = b[:keep]
		}
		if err := h.Verify(); err != nil {
			t.Fatal(err)
		}
		if s := h.Stats(); s.Live != len(kept)*keep {
			t.Fatalf("%d bytes: %d live, want %d", n, s.Live, len(kept)*keep)
		}
		// Room for small blocks between what is kept, and not in new chunks.
		before := h.Stats().Backing
		for filled := 0; filled < 90*(n-keep-2*chunkUnit)/2000*2000; filled += 2000 {
			mustMalloc(t, h, 2000)
		}
		if after := h.Stats().Backing; after > before+maxChunk {
			t.Errorf("%d bytes: grew from %d to %d with room between the blocks", n, before, after)
		}
		for i, b := range kept {
			for _, x := range b {
				if x != byte(i) {
					t.Fatalf("%d bytes: block %d was overwritten", n, i)
				}
			}
			if h.Free(b[:keep+1]) {
				t.Fatal("freed more than is live")
			}
			if !h.Free(b) || h.Free(b) {
				t.Fatalf("%d bytes: block %d refused, or freed twice", n, i)
			}
		}
	}
}

// TestMeltedSlotsAreApart: whole slots beside each other are blocks of their
// own afterwards; one free does not take both.
func TestMeltedSlotsAreApart(t *testing.T) {
	const n = 8192
	h := sharedOut(t, n)
	all := make(map[uintptr][]byte)
	var cut []byte // the block of which a part is freed
	for range 64 {
		cut = mustMalloc(t, h, n)
		all[uintptr(unsafe.Pointer(&cut[0]))] = cut
	}
	if !h.Free(cut[:100]) {
		t.Fatal("refused")
	}
	delete(all, uintptr(unsafe.Pointer(&cut[0])))
	pairs := 0
	for at, b := range all {
		if all[at+n] != nil && h.spanAt(at) == nil && h.spanAt(at+n) == nil {
			pairs++
			if h.Free(unsafe.Slice(&b[0], 2*n)) || h.Free(unsafe.Slice(&b[100], n)) {
				t.Fatal("a free reached into the next block")
			}
		}
	}
	if pairs == 0 {
		t.Fatal("no melted slots beside each other")
	}
	for _, b := range all {
		if !h.Free(b) {
			t.Fatal("refused")
		}
	}
	if !h.Free(cut[100:]) {
		t.Fatal("refused")
	}
	if err := h.Verify(); err != nil {
		t.Fatal(err)
	}
	if s := h.Stats(); s.Live != 0 || s.Refused != uint64(2*pairs) {
		t.Errorf("%+v after %d wrong frees", s, 2*pairs)
	}
}

// TestFreeThatSawTheSpan: who found the span before it melted, and comes to
// free a slot of it after, has to look again.
func TestFreeThatSawTheSpan(t *testing.T) {
	const n = 8192
	h := sharedOut(t, n)
	var b, c []byte
	var at uintptr
	var sp *span
	for before := (*span)(nil); sp == nil || sp != before; {
		before = sp
		b, c = c, mustMalloc(t, h, n)
		at = uintptr(unsafe.Pointer(&c[0]))
		sp = h.spanAt(at)
	}
	if !h.Free(b[n/2:]) || h.spanAt(at) != nil {
		t.Fatal("did not melt")
	}
	if !h.freeOther(sp, c) || h.Free(c) {
		t.Error("a free by way of the melted span was refused, or nothing was freed")
	}
	mustFree(t, h, b[:n/2])
}

// TestBeheadedClassWaits: a class too long for strips of which heads are freed
// gets no span for a while, and then tries again.
func TestBeheadedClassWaits(t *testing.T) {
	const n = 40 << 10
	h := sharedOut(t, n)
	behead := func() {
		b := mustMalloc(t, h, n)
		mustFree(t, h, b[:1000], b[1000:])
	}
	for range 100 {
		behead() // until no span is left
	}
	before := h.Stats().Spans // that other shards hold, if any
	for range meltWait - 200 {
		behead()
	}
	if w := h.wait[class(n)]; w == 0 || w > 200 {
		t.Fatalf("waits for %d more blocks", w)
	}
	if s := h.Stats(); s.Spans > before {
		t.Fatalf("%d spans, %d before", s.Spans, before)
	}
	for range 200 {
		h.Free(mustMalloc(t, h, n))
	}
	if s := h.Stats(); s.Spans <= before {
		t.Error("no span after the wait")
	}
}

// TestMeltConcurrent: goroutines free whole blocks, heads, middles and tails of
// blocks that others allocated, while the spans melt under them.
func TestMeltConcurrent(t *testing.T) {
	const workers, rounds, seed = 4, 300, 7
	h := newHeap(1 << 20)
	handOver := make(chan []byte, 64)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			free := func(b []byte) {
				if len(b) > 0 && !h.Free(b) {
					t.Errorf("seed %d: %d bytes refused", seed, len(b))
				}
			}
			for range rounds {
				n := 4097 + rng.IntN(60_000)
				if rng.IntN(2) == 0 {
					n = 16 << 10
				}
				for range 10 {
					b := h.Malloc(n)
					b[0], b[n-1] = 1, 1
					select {
					case handOver <- b:
					case other := <-handOver:
						if rng.IntN(20) > 0 {
							free(other)
						} else {
							cut := rng.IntN(len(other))
							more := cut + rng.IntN(len(other)-cut)
							free(other[cut:more])
							free(other[more:])
							free(other[:cut])
						}
						free(b)
					}
				}
			}
		})
	}
	group.Wait()
	close(handOver)
	for b := range handOver {
		h.Free(b)
	}
	mustHoldNothing(t, h)
	if s := h.Stats(); s.Live != 0 || s.Refused != 0 || s.Raced != 0 {
		t.Errorf("seed %d: %+v", seed, s)
	}
}

// TestNoRoomForASpan: where a whole span does not fit any more, the block
// alone may.
func TestNoRoomForASpan(t *testing.T) {
	const limit = 1 << 20
	h := new(Heap)
	h.Init(Config{
		Size:      limit,
		MaxBytes:  limit,
		Source:    backing.Heap(),
		Placement: placements["tlsf"],
		Few:       few,
		Spans:     true,
	})
	for range 1024 + firstWait(class(60_000)) {
		h.Free(mustMalloc(t, h, 60_000))
	}
	got := 0
	for {
		b, err := h.TryMalloc(60_000)
		if err != nil {
			break
		}
		got += len(b)
	}
	if got < limit*3/4 {
		t.Errorf("%d of %d bytes could be allocated", got, limit)
	}
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
}

// TestMeltInChunkOfOneBlock: spans that found room in the chunk of a large block melt
// as elsewhere, with few blocks in it and with many.
func TestMeltInChunkOfOneBlock(t *testing.T) {
	const large, n = 16 << 20, 40 << 10
	for _, spans := range []int{3, 40} {
		h := sharedOut(t, n)
		kept := mustMalloc(t, h, large)
		own := h.chunkOf(kept)
		tail := spans * spanBytes[class(n)]
		mustFree(t, h, kept[large-tail-spanUnit:])
		kept = kept[: large-tail-spanUnit : large-tail-spanUnit]
		var blocks [][]byte
		for filled := 0; own.nspans < 2; filled++ {
			if blocks = append(blocks, mustMalloc(t, h, n)); filled > 10_000 {
				t.Fatal("no span in the chunk of the large block")
			}
		}
		for own.place.Fits() >= spanBytes[class(n)]+spanUnit {
			blocks = append(blocks, mustMalloc(t, h, n))
		}
		for _, b := range blocks {
			mustFree(t, h, b[n/2:]) // the span melts
		}
		mustVerify(t, h)
		if err := h.Trim(); err != nil { // of spans that a P keeps where the test was before
			t.Error(err)
		}
		if own.nspans != 0 {
			t.Errorf("%d spans left", own.nspans)
		}
		for _, b := range blocks {
			mustFree(t, h, b[:n/2])
		}
		mustFree(t, h, kept)
		mustVerify(t, h)
		mustHoldNothing(t, h)
	}
}

// TestLargeBlocksReplaceEmptyChunks: the chunk of a large block takes the place
// of small ones that are empty, so that a program that alternates between the
// two does not map the sum.
func TestLargeBlocksReplaceEmptyChunks(t *testing.T) {
	h := newHeap(1 << 20)
	var blocks [][]byte
	for range 100 {
		blocks = append(blocks, mustMalloc(t, h, 200<<10))
	}
	for _, b := range blocks {
		h.Free(b)
	}
	before := h.Stats().Backing
	b := mustMalloc(t, h, 16<<20)
	if after := h.Stats().Backing; after > before+maxChunk {
		t.Errorf("%d bytes mapped, %d before", after, before)
	}
	h.Free(b)
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
}

// TestFewBlocksTakeNoSpans: a class with few blocks takes no span, however many
// classes there are. One more may be that of another P.
func TestFewBlocksTakeNoSpans(t *testing.T) {
	h := sharedOut(t, 100)
	before := h.Stats()
	live := 0
	for c := range slotSize[:small] {
		for range 10 {
			live += len(mustMalloc(t, h, int(slotSize[c])))
		}
	}
	mustVerify(t, h)
	if s := h.Stats(); s.Spans > before.Spans+1 || s.Backing > before.Backing+minChunk {
		t.Errorf("%d spans and %d bytes mapped for %d, %d and %d before", s.Spans, s.Backing, live, before.Spans, before.Backing)
	}
}
