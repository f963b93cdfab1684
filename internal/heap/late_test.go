package heap

import (
	"errors"
	"math/bits"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"
)

// givenBack frees b and has its span, which holds nothing else, given back. It returns the
// span and who owned it.
func givenBack(t *testing.T, h *Heap, b []byte) (sp *span, owner *shard) {
	t.Helper()
	if sp = h.spanAt(addressOf(b)); sp == nil {
		t.Fatal("neither in a slot nor in a strip")
	}
	owner = sp.owner.Load()
	mustFree(t, h, b)
	h.mu.Lock()
	h.reclaim()
	h.mu.Unlock()
	if sp.owner.Load() != nobody {
		t.Fatal("the span was not given back")
	}
	return sp, owner
}

// TestResetHearsLateAnnouncements: who queued a slot may come to announce its
// span when the owner has taken the slot in and given the span back. If everything
// is given back then, the span is heard of again when it serves anew.
func TestResetHearsLateAnnouncements(t *testing.T) {
	for _, n := range []int{64, readSize} {
		h, _ := stripped(t)
		for range 1024 { // slots of 64 bytes, too
			mustFree(t, h, mustMalloc(t, h, 64))
		}
		sp, owner := givenBack(t, h, mustMalloc(t, h, n))
		owner.announce(sp)
		mustVerify(t, h)
		if err := h.Reset(); err != nil {
			t.Fatal(err)
		}
		for used := false; !used; used = sp.owner.Load() != nobody {
			for range 1024 + 2*firstWait(class(readSize)) {
				mustFree(t, h, shortRead(t, h, 100))
				mustFree(t, h, mustMalloc(t, h, 64))
			}
		}
		if sp.notified != 0 {
			t.Errorf("%d bytes: nobody will hear of what others free in %v", n, sp)
		}
		mustVerify(t, h)
	}
}

// TestFreeThatSawTheSpanElsewhere: the owner gives a span without blocks back and
// places it anew while somebody with a free that is none looks into it. What he
// frees is no block at the new place, however far that is.
func TestFreeThatSawTheSpanElsewhere(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("no span is so far away")
	}
	h, _ := stripped(t)
	far := uint64(1) << 32 // where the place is the same in 32 bits
	for _, n := range []int{64, 8192, readSize} {
		b := mustMalloc(t, h, n)
		for ; h.spanAt(addressOf(b)) == nil; b = mustMalloc(t, h, n) {
		}
		sp, before := h.spanAt(addressOf(b)), h.Stats()
		afar := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(&b[0]), far)), n) // never looked at
		if h.freeOther(sp, afar) {
			t.Errorf("%d bytes: freed from afar", n)
		}
		after := h.Stats()
		if after.Refused--; after != before {
			t.Errorf("%d bytes: %+v, before %+v", n, after, before)
		}
		mustFree(t, h, b)
		mustVerify(t, h)
	}
}

// TestHeadAndTailAtOnce: a block of which one goroutine frees the head while another
// frees the rest is gone, all of it.
func TestHeadAndTailAtOnce(t *testing.T) {
	h := sharedOut(t, 64)
	type batch [64]struct {
		block []byte
		here  atomic.Int32 // goroutines that are about to free
	}
	each := func(batch *batch, part func(b []byte) []byte) (ok bool) {
		ok = true
		for i := range batch {
			turn := &batch[i]
			turn.here.Add(1)
			for spins := 1; turn.here.Load() < 2; spins++ {
				if spins%1000 == 0 {
					runtime.Gosched()
				}
			}
			ok = h.Free(part(turn.block)) && ok
		}
		return ok
	}
	batches, freed := make(chan *batch), make(chan bool)
	go func() {
		for batch := range batches {
			freed <- each(batch, func(b []byte) []byte { return b[:32] })
		}
		close(freed)
	}()
	for range 500 {
		batch := new(batch)
		for i := range batch {
			batch[i].block = mustMalloc(t, h, 64)
		}
		batches <- batch
		ok := each(batch, func(b []byte) []byte { return b[32:] })
		if !<-freed || !ok {
			t.Fatal("refused")
		}
	}
	close(batches)
	<-freed
	mustHoldNothing(t, h)
}

// TestLateFreeReadsNoPlace: whoever comes by way of a span that was given back at this
// moment looks at its owner first, and at nothing that changes with it. The race
// detector tells.
func TestLateFreeReadsNoPlace(t *testing.T) {
	for name, free := range map[string]func(*Heap, *span, []byte) bool{
		"foreign": func(h *Heap, sp *span, b []byte) bool {
			guess := h.guess.of(addressOf(b))
			guess.Store(sp)
			defer guess.Store(exhausted)
			return h.freeForeign(b)
		},
		"other": (*Heap).freeOther, "slow": (*Heap).freeSlow,
	} {
		h := sharedOut(t, 64)
		b := mustMalloc(t, h, 64)
		sp := h.spanAt(addressOf(b))
		mustFree(t, h, b)
		done := make(chan error)
		go func() { done <- h.Trim() }()
		for sp.owner.Load() != nobody {
			runtime.Gosched()
		}
		if free(h, sp, b) {
			t.Errorf("%s: a block was freed twice", name)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		mustVerify(t, h)
	}
}

// TestFreeThatSawNoSpan: who frees what is free already, and found no span there, may
// come to the chunk when a span has been placed meanwhile. Its bytes are not a block's.
func TestFreeThatSawNoSpan(t *testing.T) {
	h, reports := stripped(t)
	gone := mustMalloc(t, h, maxSpan)
	mustFree(t, h, gone)
	gone = gone[-addressOf(gone)&(spanUnit-1):][:spanUnit] // where a span begins
	h.mu.Lock()
	for h.cfg.MaxBytes = h.mapped; h.spanAt(addressOf(gone)) == nil; {
		sp := h.placeSpan(class(64))
		if sp == nil {
			t.Fatal("no span is placed there")
		}
		s := h.pinLocked()
		s.adopt(sp)
		unpin(s)
	}
	h.mu.Unlock()
	before := h.Stats()
	for _, b := range [][]byte{gone[:64], gone[100:200], gone} {
		if err := h.freeBlock(b); !errors.Is(err, ErrDoubleFree) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
	if after := h.Stats(); after.Refused != before.Refused+3 || after.Live != before.Live {
		t.Errorf("%+v, before %+v, %v", after, before, *reports)
	}
	mustVerify(t, h)
}

// TestSpareStripsKeepTheirSize: a strip that serves anew is as large as it was, so that
// no free which began before finds its bytes behind the end that it had.
func TestSpareStripsKeepTheirSize(t *testing.T) {
	h, _ := stripped(t)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reclaim()
	h.forgetSpares()
	size := make(map[*span]int)
	for _, mapped := range []int{minStrip, maxSpan / 2, maxSpan, minStrip, maxSpan} {
		really := h.mapped
		h.mapped = 16 * mapped
		h.dry = 0
		sp := h.placeStrip()
		h.mapped = really
		if sp == nil || sp.bytes() != mapped || int(sp.limit) != mapped || len(sp.recs) != mapped/chunkUnit {
			t.Fatalf("wanted a strip of %d bytes, got %v", mapped, sp)
		}
		if before := size[sp]; before != 0 && before != mapped {
			t.Errorf("%v had %d bytes before", sp, before)
		}
		size[sp] = mapped
		h.dropSpans(sp)
	}
	if len(size) != stripSizes {
		t.Errorf("%d strips of %d sizes: spares do not serve again", len(size), stripSizes)
	}
}

// TestTrimHearsLateAnnouncements: a span serves another shard anew while it is still on the
// stack of the one that gave it back, because somebody came late to announce it. What is
// freed in it is taken in at once nevertheless.
func TestTrimHearsLateAnnouncements(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	h := pastWait(t, 1<<20)
	h.mu.Lock()
	unpin(h.pinLocked())
	before := newShard() // of another P
	set := newShardSet(2)
	set.byID[0], set.byID[1] = h.set.Load().byID[0], before
	h.set.Store(set)
	h.publish(set)
	h.mu.Unlock()

	sp, _ := givenBack(t, h, mustMalloc(t, h, 64))
	before.announce(sp) // late

	b := mustMalloc(t, h, 64)
	for ; h.spanAt(addressOf(b)) != sp; b = mustMalloc(t, h, 64) {
		mustFree(t, h, b)
	}
	if end := before.free(sp, sp.base, uint32(addressOf(b)-uintptr(sp.base)), 64, false); end != freedRemote {
		t.Fatalf("ended as %d", end)
	}
	sp.owner.Load().announce(sp)
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	if s := h.Stats(); s.Live != 0 || s.Chunks != 0 {
		t.Errorf("nothing is live, but Trim left %+v", s)
	}
	mustVerify(t, h)
}

// TestSpanLines: what each free reads of a span fills one cache line, what its owner
// writes lies on others, and what other Ps write on another one again.
func TestSpanLines(t *testing.T) {
	const line = 64
	if unsafe.Sizeof(uintptr(0)) < 8 {
		t.Skip("laid out for 64 bits")
	}
	sp := newSpan(0, spanBytes[0])
	if at := uintptr(unsafe.Pointer(sp)) % line; at != 0 {
		t.Errorf("a span begins %d bytes into a line", at)
	}
	if at := unsafe.Offsetof(sp.class); at >= line {
		t.Errorf("what is read ends behind %d bytes", at)
	}
	if at := unsafe.Offsetof(sp.head); at != line {
		t.Errorf("what the owner writes begins at %d", at)
	}
	if own, others := unsafe.Offsetof(sp.parts)/line, unsafe.Offsetof(sp.notified)/line; own >= others || unsafe.Sizeof(*sp) > 4*line {
		t.Errorf("the owner's last line is %d, that of others %d, of %d bytes", own, others, unsafe.Sizeof(*sp))
	}
	var s shard
	if counters, p := unsafe.Offsetof(s.raced), unsafe.Offsetof(s.p); p < counters+line {
		t.Errorf("the counters end at %d, what others read begins at %d", counters, p)
	}
}
