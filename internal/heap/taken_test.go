package heap

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

// needPins skips a test that is of shards that belong to Ps: in the portable form the
// stack chooses the shard, and every free is of its owner.
func needPins(t *testing.T) {
	t.Helper()
	if unsafe.Sizeof(shardLock{}) > 0 {
		t.Skip("shards belong to nobody")
	}
}

// queue frees slot i, whose record is r, for the owner to take in.
func (s *shard) queue(sp *span, i, r uint32) bool {
	if !sp.mark(i, r, stateQueue, sp.base) {
		return false
	}
	s.post(sp, i)
	return true
}

// freeElsewhere frees b, a whole block in a span, as another P does.
func freeElsewhere(t *testing.T, h *Heap, other *shard, b []byte) {
	t.Helper()
	sp := h.spanAt(addressOf(b))
	i, _ := sp.slot(addressOf(b) - uintptr(sp.base))
	if !other.queue(sp, uint32(i), sp.whole()|uint32(len(b))) {
		t.Fatalf("free of %d bytes refused", len(b))
	}
	owner := sp.owner.Load()
	owner.freed += uint64(len(b))
	owner.announce(sp)
}

// TestOthersFreesServeFirst: what other Ps freed serves again before a shard asks for
// another span or strip.
func TestOthersFreesServeFirst(t *testing.T) {
	needPins(t)
	h, _ := stripped(t)
	other := newShard()
	for name, alloc := range map[string]func() []byte{
		"slots":  func() []byte { return mustMalloc(t, h, 2048) },
		"strips": func() []byte { return shortRead(t, h, 12<<10) },
	} {
		var live [][]byte
		for first := h.Stats().Spans; h.Stats().Spans < first+3; {
			b := alloc()
			live = append(live, b)
			if sp := h.spanAt(addressOf(b)); sp == nil { // one of the first of its class
				first = h.Stats().Spans
				mustFree(t, h, b)
				live = live[:len(live)-1]
			}
		}
		before := h.Stats()
		for range 5 {
			for _, b := range live {
				freeElsewhere(t, h, other, b)
			}
			for i := range live {
				live[i] = alloc()
			}
			mustVerify(t, h)
		}
		if got := h.Stats(); got.Spans > before.Spans+1 || got.Backing > before.Backing {
			t.Errorf("%s: %+v, before %+v", name, got, before)
		}
	}
}

// TestShardsGiveBeforeGrowth: the heap does not grow while shards hold as much without
// need.
func TestShardsGiveBeforeGrowth(t *testing.T) {
	h, _ := stripped(t)
	other := newShard()
	var live [][]byte
	for range 8 << 10 {
		live = append(live, mustMalloc(t, h, 1024))
	}
	for _, b := range live {
		if h.spanAt(addressOf(b)) == nil { // one of the first of its class
			mustFree(t, h, b)
		} else {
			freeElsewhere(t, h, other, b)
		}
	}
	mapped := h.Stats().Backing
	for range 4 << 20 / maxSpan {
		mustMalloc(t, h, maxSpan)
	}
	if got := h.Stats().Backing; got != mapped {
		t.Errorf("%d bytes mapped, %d before", got, mapped)
	}
	mustVerify(t, h)
}

// TestShardsKeepLittle: of what a load leaves empty a shard keeps a few spans, and
// gives the others back at once.
func TestShardsKeepLittle(t *testing.T) {
	needPins(t)
	h, _ := stripped(t) // its clock stands
	var live [][]byte
	for range 8 << 10 {
		live = append(live, mustMalloc(t, h, 1024))
	}
	mustFree(t, h, live...)
	if got := h.bytesOfSpans(); got > idleLimit*spanUnit+2*maxSpan {
		t.Errorf("%d bytes of spans are kept", got)
	}
	mustVerify(t, h)
}

// TestStockOfAUsedSpan: the slots that count for the sampled guard are those that were
// free when the span became the current one.
func TestStockOfAUsedSpan(t *testing.T) {
	s, sp := newShard(), newSpan(0, spanBytes[0])
	sp.owner.Store(s)
	sp.carve()
	for range 50 {
		i := sp.head
		sp.head, sp.recs[i] = sp.recs[i], stateLive|1
		sp.left++
	}
	s.file(sp)
	if !s.refill(0) || s.cur[0] != sp || sp.stock != sp.carved-50 {
		t.Errorf("%d slots of %d count, 50 were in use", sp.stock, sp.carved)
	}
}

// TestStockOfWhatComesBack: slots that others free while a span is the current one count
// for the sampled guard as those before do, once all of these are used up.
func TestStockOfWhatComesBack(t *testing.T) {
	for _, c := range []int{0, 3} { // a guest and its host
		s, other, sp := newShard(), newShard(), newSpan(3, spanBytes[3])
		sp.owner.Store(s)
		sp.carve()
		sp.recs = sp.recs[:sp.carved] // with slots left to carve, what comes back would wait
		s.file(sp)
		if !s.refill(c) {
			t.Fatal("no slot")
		}
		first := sp.stock
		for round := range 3 {
			for i := sp.head; i != noSlot; i = sp.head { // as take does; the span has no memory
				sp.head, sp.recs[i] = sp.recs[i], stateLive|1
				sp.left++
			}
			for i := range uint32(10) {
				if !other.queue(sp, i, stateLive|1) {
					t.Fatal("not live")
				}
			}
			s.announce(sp)
			want := int64(first) + int64(10*round)
			if !s.refill(c) || s.cur[c] != sp || s.unsampled != want || sp.stock != 10 {
				t.Errorf("class %d, round %d: %d blocks count, not %d, and %d in stock", c, round, s.unsampled, want, sp.stock)
			}
		}
	}
}

// TestWhatComesBackWaits: what others free is taken in when the shard has no slot of its
// own left, and then at once, so that no span is placed for want of it.
func TestWhatComesBackWaits(t *testing.T) {
	for _, c := range []int{0, 3} {
		s, other, sp := newShard(), newShard(), newSpan(3, spanBytes[3])
		sp.owner.Store(s)
		sp.carve()
		s.file(sp)
		used := 0
		for s.refill(c) {
			for i := sp.head; i != noSlot; i = sp.head {
				sp.head, sp.recs[i] = sp.recs[i], stateLive|1
				sp.left++
				if used++; used%10 == 0 && used <= len(sp.recs) {
					if !other.queue(sp, i, stateLive|1) {
						t.Fatal("not live")
					}
					s.announce(sp)
				}
			}
			if waits := s.remote.Load() != nil; waits != (used <= len(sp.recs)) {
				t.Fatalf("class %d: after %d of %d slots what others freed waits: %v", c, used, len(sp.recs), waits)
			}
		}
		if want := len(sp.recs) + len(sp.recs)/10; used != want {
			t.Errorf("class %d: %d slots served, not %d", c, used, want)
		}
	}
}

// TestStockOfAStrip: a block that is cut counts for the sampled guard by itself.
func TestStockOfAStrip(t *testing.T) {
	s, sp, mem := newShard(), newStrip(maxSpan), make([]byte, maxSpan)
	sp.base = unsafe.Pointer(&mem[0])
	s.cuts[0] = 10
	for n := range 5 {
		if b := s.cut(sp, maxSmall+n, 0); len(b) != maxSmall+n || s.unsampled != int64(n+1) || s.cuts[0] != uint32(9-n) {
			t.Errorf("block %d of %d bytes: %d count, %d more will be cut", n, len(b), s.unsampled, s.cuts[0])
		}
	}
}

// TestAnnouncedInPassing: an owner that finds a span of another's on its stack passes
// it on.
func TestAnnouncedInPassing(t *testing.T) {
	before, after := newShard(), newShard()
	sp := newSpan(0, spanBytes[0])
	before.announce(sp)
	sp.owner.Store(after)
	before.drain()
	if after.remote.Load() != sp || sp.remote != nil || sp.notified != 1 {
		t.Errorf("the new owner's stack begins with %v", after.remote.Load())
	}
}

// TestRacesCount: a bit without a record that is queued is what is left of two frees
// at one moment, whoever finds it.
func TestRacesCount(t *testing.T) {
	owner, other := newShard(), newShard()
	sp := newSpan(0, spanBytes[0])
	sp.owner.Store(owner)
	sp.carve()
	sp.recs[0] = stateLive | 16
	sp.bits[0] = 1
	owner.collect(sp)
	if owner.raced != 1 || sp.recs[0] != stateLive|16 || sp.bits[0] != 0 {
		t.Errorf("found by the owner: %d races, record %#x, bits %b", owner.raced, sp.recs[0], sp.bits[0])
	}
	sp.bits[0] = 1
	if !other.queue(sp, 0, stateLive|16) || other.raced != 1 {
		t.Errorf("found by who frees: %d races", other.raced)
	}
}

// TestAlignedRoomIsFound: a chunk with room for a block wherever it begins is found
// behind any number of chunks of which the room is at the wrong places.
func TestAlignedRoomIsFound(t *testing.T) {
	const n, size, chunks = 4096, 8192, 10
	h := newHeap(size)
	h.cfg.MaxBytes = (chunks + 1) * size
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range chunks + 1 {
		mem, err := backing.Heap().Map(size)
		if err != nil {
			t.Fatal(err)
		}
		if h.addChunk(mem, size, 1); i == chunks {
			break
		}
		// Room from the first granule to the last one.
		c := h.chunks[i]
		for _, n := range []int{chunkUnit, size - 2*chunkUnit, chunkUnit} {
			if h.takeFrom(c, n, 1) < 0 {
				t.Fatal("no room")
			}
		}
		h.giveBack(c, chunkUnit, n)
		h.last = nil
		h.fits.set(c.index, c.place.Fits())
	}
	if c, off, err := h.take(n, n); err != nil || c.index != chunks || off != 0 {
		t.Errorf("%d bytes at %d, %v", n, off, err)
	}
}

// TestQuietShardsHandOver: what a shard has that nobody allocates from any more serves
// another.
func TestQuietShardsHandOver(t *testing.T) {
	h, _ := stripped(t)
	var live [][]byte
	for first := h.Stats().Spans; h.Stats().Spans < first+3; {
		live = append(live, mustMalloc(t, h, 2048))
	}
	live = append(live, mustMalloc(t, h, 1900)) // a guest
	h.mu.Lock()
	set := newShardSet(len(h.set.Load().byID) + 1)
	copy(set.byID, h.set.Load().byID)
	gone := newShard()
	set.byID[len(set.byID)-1] = gone
	h.set.Store(set)
	h.publish(set)
	from := h.spanAt(addressOf(live[len(live)-1])).owner.Load()
	from.seen = from.malloced - 1 // not quiet
	gone.takeOver(from)
	h.mu.Unlock()
	mustVerify(t, h)
	h.mu.Lock()
	h.reclaim()
	h.mu.Unlock()
	mustVerify(t, h)
	for c := range gone.spans {
		if gone.cur[c] != exhausted || gone.spans[c].front != nil {
			t.Errorf("class %d stays with a shard that is quiet", c)
		}
	}
	mustFree(t, h, live...)
	mustVerify(t, h)
}

// TestShardBeyondTheSet: a P with a number beyond those that there were gets a shard.
func TestShardBeyondTheSet(t *testing.T) {
	h, _ := stripped(t)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set.Store(newShardSet(0))
	h.publish(h.set.Load())
	s := h.pinLocked()
	unpin(s)
	if s == noShard || len(h.set.Load().byID) == 0 {
		t.Errorf("%d shards", len(h.set.Load().byID))
	}
}

// TestCurrentSpansGoIdle: when a shard gives back what is empty, the spans that it
// allocates from go as well, and do not stand alone in chunks that are empty otherwise.
func TestCurrentSpansGoIdle(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	h := pastWait(t, 1<<20)
	for host := 3; host < small; host += 4 {
		mustFree(t, h, mustMalloc(t, h, int(slotSize[host])))
	}
	if got := h.Stats().Spans; got != small/4 {
		t.Fatalf("%d spans, there are %d hosts", got, small/4)
	}
	var live [][]byte
	for range 8 << 10 {
		live = append(live, mustMalloc(t, h, 1024))
	}
	left := len(live) - 1
	for spans := h.Stats().Spans; h.Stats().Spans >= spans; left-- { // until it gives back
		mustFree(t, h, live[left])
	}
	for _, s := range h.shardList() {
		for c := range s.cur {
			if sp := s.cur[c]; sp != exhausted && sp.used() == 0 {
				t.Errorf("%v stays", sp)
			}
		}
	}
	mustVerify(t, h)
}

// TestEarlierChunkServesAgain: in a heap of few bytes blocks go to the first chunk that
// has room again, however much there is in the one of the last block.
func TestEarlierChunkServesAgain(t *testing.T) {
	const n = 100 << 10
	for _, few := range []bool{true, false} {
		h := newHeap(1 << 20)
		h.ticking.Store(true) // no clock: nothing is taken back
		first := mustMalloc(t, h, n)
		for h.Stats().Chunks < 2 {
			mustMalloc(t, h, n)
		}
		if !few {
			mustMalloc(t, h, fewBytes)
			mustMalloc(t, h, n) // in the second chunk
		}
		mustFree(t, h, first)
		got := h.chunkOf(mustMalloc(t, h, n)).index
		if (got == 0) != few {
			t.Errorf("few bytes %v: the next block is in chunk %d", few, got)
		}
		mustVerify(t, h)
	}
}

// TestListOrder: spans with live slots come in the order in which they got free ones, and
// empty ones behind them.
func TestListOrder(t *testing.T) {
	var l list
	spans := make([]*span, 6)
	for i, used := range []uint32{1, 0, 1, 0, 1, 1} {
		spans[i] = newSpan(0, spanBytes[0])
		spans[i].left = used
		l.push(spans[i])
	}
	order := func(want ...int) {
		t.Helper()
		sp, prev := l.front, (*span)(nil)
		for _, i := range want {
			if sp != spans[i] || sp.prev != prev {
				t.Fatalf("not in the order %v", want)
			}
			sp, prev = sp.next, sp
		}
		if sp != nil || l.back != prev {
			t.Fatalf("more than %v", want)
		}
	}
	order(0, 2, 4, 5, 1, 3)
	l.remove(spans[0])
	l.remove(spans[5])
	l.remove(spans[3])
	order(2, 4, 1)
	l.remove(spans[2])
	l.remove(spans[4])
	spans[0].left = 1
	l.push(spans[0])
	order(0, 1)
}
