package heap

import (
	"errors"
	"runtime"
	"testing"
	"unsafe"
)

const readSize = 16 << 10

// stripped returns a heap that cuts blocks of readSize from strips, and a list
// of what it refuses. Until the test ends there is one P, so that blocks come from
// one strip.
func stripped(t *testing.T) (*Heap, *[]error) {
	t.Helper()
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	h, reports := sharedOut(t, readSize), new([]error)
	h.cfg.Misuse = func(err error) { *reports = append(*reports, err) }
	for range 100 { // each shard has to learn it
		b := shortRead(t, h, 100)
		cut := stripOf(h, b) != nil
		if mustFree(t, h, b); cut {
			return h, reports
		}
	}
	t.Fatal("no strip")
	return nil, nil
}

// shortRead is a block of readSize of which the end goes back at once, if there is
// one. In the portable form blocks that are to lie in one strip have to come from
// calls of equal depth, as the shard is chosen by the stack.
func shortRead(t *testing.T, h *Heap, n int) []byte {
	t.Helper()
	b := mustMalloc(t, h, readSize)
	if !h.Free(b[n:]) {
		t.Fatalf("tail behind %d bytes refused", n)
	}
	return b[:n:n]
}

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// chunkOf is the chunk that b lies in.
func (h *Heap) chunkOf(b []byte) *chunk {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.table.find(addressOf(b)).c
}

// stripOf is the strip that b is cut from, nil if it is not.
func stripOf(h *Heap, b []byte) *span {
	if sp := h.spanAt(addressOf(b)); sp != nil && sp.class == stripClass {
		return sp
	}
	return nil
}

func mustFree(t *testing.T, h *Heap, blocks ...[]byte) {
	t.Helper()
	for _, b := range blocks {
		if !h.Free(b) {
			t.Fatalf("free of %d bytes refused", len(b))
		}
	}
}

func mustVerify(t *testing.T, h *Heap) {
	t.Helper()
	if err := h.Verify(); err != nil {
		t.Fatal(err)
	}
}

// TestShortReadsLieTogether: a read begins where the last one ends since it was
// trimmed, or began before it was freed.
func TestShortReadsLieTogether(t *testing.T) {
	h, _ := stripped(t)
	var reads [][]byte
	next := addressOf(shortRead(t, h, 1)) + chunkUnit
	for i := range 50 {
		b := shortRead(t, h, 1+i*20)
		if addressOf(b) != next {
			t.Fatalf("read %d is at %#x, want %#x", i, addressOf(b), next)
		}
		next += uintptr(granules(uint32(len(b)))) * chunkUnit
		reads = append(reads, b)
	}
	for _, n := range []int{1, 5000, readSize - 1} {
		b := shortRead(t, h, n)
		if addressOf(b) != next {
			t.Fatalf("after a free the next read is at %#x, want %#x", addressOf(b), next)
		}
		mustFree(t, h, b)
	}
	mustVerify(t, h)
	mustFree(t, h, reads...)
	mustVerify(t, h)
}

// TestStripEnds: a block is cut where it just fits, and not where a granule is
// missing.
func TestStripEnds(t *testing.T) {
	const need = readSize / chunkUnit
	for missing := range 2 {
		h, _ := stripped(t)
		b := shortRead(t, h, 1)
		sp := stripOf(h, b)
		for left := 1; left > 0; {
			if left = int(sp.end-sp.carved) - need + missing; left > 0 {
				b = shortRead(t, h, min(left, need)*chunkUnit)
			}
			if stripOf(h, b) != sp {
				t.Fatal("another strip too early")
			}
		}
		if b = shortRead(t, h, readSize); (stripOf(h, b) == sp) != (missing == 0) {
			t.Errorf("with %d granules missing: %v", missing, sp)
		}
		mustVerify(t, h)
	}
}

// TestReadsInTurnNeedNoLock: reads that are freed in the order in which they came
// are served by strips that empty and start over, without the mutex and without
// more memory.
func TestReadsInTurnNeedNoLock(t *testing.T) {
	h, _ := stripped(t)
	var ring [1000]stamped
	run := func(rounds int) {
		for i := range rounds {
			s := &ring[i%len(ring)]
			if s.b != nil {
				s.check(t)
				mustFree(t, h, s.b)
			}
			*s = stamped{shortRead(t, h, 1+i*37%1460), uint64(i) * hashFactor}
			s.fill()
		}
	}
	run(5 * len(ring))
	mustVerify(t, h)
	before, locked := h.Stats(), h.malloced
	run(50 * len(ring))
	mustVerify(t, h)
	if s := h.Stats(); s.Backing > before.Backing+minChunk {
		t.Errorf("grew from %d to %d", before.Backing, s.Backing)
	}
	if blocks := (h.malloced - locked) / readSize; blocks > 5*uint64(len(ring)) {
		t.Errorf("%d of %d blocks placed by themselves", blocks, 50*len(ring))
	}
	for _, s := range ring {
		s.check(t)
		mustFree(t, h, s.b)
	}
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, h)
	if s := h.Stats(); s.Live != 0 || s.Backing != 0 || s.Spans != 0 {
		t.Errorf("%+v after everything was freed", s)
	}
}

// TestStripRefuses: what is not live in a strip is refused, with the reason, and
// nothing changes.
func TestStripRefuses(t *testing.T) {
	h, reports := stripped(t)
	full, odd, freed, last := shortRead(t, h, 10*chunkUnit), shortRead(t, h, 1000), shortRead(t, h, 500), shortRead(t, h, readSize)
	mustFree(t, h, freed)
	sp := stripOf(h, last)
	if sp == nil || stripOf(h, full) != sp {
		t.Fatal("not in one strip")
	}
	// Safety: a slice is a pointer, length and capacity, and nobody looks at the
	// bytes. unsafe.Slice would notice.
	long := struct {
		first    *byte
		len, cap int
	}{&odd[0], stateCut | 1000, stateCut | 1000}
	before := h.Stats()
	for _, wrong := range []struct {
		what string
		b    []byte
		why  error
	}{
		{"a block twice", freed, ErrDoubleFree},
		{"an end twice", beyond(odd, 50)[len(odd):], ErrDoubleFree},
		{"a block and what is free behind it", beyond(odd, 1), ErrDoubleFree},
		{"an end and what is free behind it", beyond(odd, 1)[500:], ErrDoubleFree},
		{"a block and the next one", beyond(full, 1), ErrNotOwned},
		{"an end and the next block", beyond(full, 1)[63:], ErrNotOwned},
		{"inside a freed block", freed[100:200], ErrDoubleFree},
		{"what was not cut yet", beyond(last, 100)[readSize:], ErrDoubleFree},
		{"a block and what was not cut yet", beyond(last, 100), ErrDoubleFree},
		{"a length with bits of a state", *(*[]byte)(unsafe.Pointer(&long)), ErrDoubleFree},
	} {
		*reports = nil
		if h.Free(wrong.b) || len(*reports) != 1 || !errors.Is((*reports)[0], wrong.why) {
			t.Errorf("%s: %v, want %v", wrong.what, *reports, wrong.why)
		}
	}
	after := h.Stats()
	if after.Refused -= 10; after != before {
		t.Errorf("%+v, before %+v", after, before)
	}
	mustVerify(t, h)
	if h.spanAt(addressOf(last)) != sp {
		t.Error("a refused free melted the strip")
	}
	mustFree(t, h, full, odd, last)
	mustVerify(t, h)
}

// TestDeadStripsMelt: strips in which a few blocks stay are not lost: what is free
// between these serves others before the heap grows.
func TestDeadStripsMelt(t *testing.T) {
	h, _ := stripped(t)
	var kept []stamped
	keep := func(rounds int) {
		for i := range rounds {
			var reads [100][]byte
			for j := range reads {
				reads[j] = shortRead(t, h, 1400)
			}
			s := stamped{reads[50], uint64(i) * hashFactor}
			s.fill()
			kept = append(kept, s)
			reads[50] = nil
			for _, b := range reads {
				mustFree(t, h, b)
			}
		}
		mustVerify(t, h)
	}
	keep(300)
	// Each of those kept lies in some 140 KB that were used but for it.
	if s := h.Stats(); s.Backing > 8<<20 {
		t.Errorf("%d bytes mapped for %d live", s.Backing, s.Live)
	}
	// What no shard could see the end of is found by the others.
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, h)
	for _, sp := range h.shardList()[0].strips() {
		if sp.used() > 0 && sp.used()*deadPart <= sp.most {
			t.Errorf("%v, of once %d, did not melt", sp, sp.most)
		}
	}
	for _, s := range kept {
		s.check(t)
		mustFree(t, h, s.b)
	}
	mustVerify(t, h)
	if live := h.Stats().Live; live != 0 {
		t.Errorf("%d bytes live", live)
	}
}

func (s *shard) strips() (all []*span) {
	for sp := s.spans[stripClass].front; sp != nil; sp = sp.next {
		all = append(all, sp)
	}
	return all
}

// TestNoPlaceForAStrip: a heap that had none places some blocks one by one, and
// then looks again.
func TestNoPlaceForAStrip(t *testing.T) {
	h, _ := stripped(t)
	h.dry = 10
	alone := 0
	for range 30 { // a strip of 64 KiB holds fewer
		if stripOf(h, shortRead(t, h, 10_000)) == nil {
			alone++
		}
	}
	if alone != 10 {
		t.Errorf("%d blocks were placed one by one, want 10", alone)
	}
	mustVerify(t, h)
}

// TestUntrimmedClassLeavesStrips: a class of which no block is trimmed any more
// gets slots again.
func TestUntrimmedClassLeavesStrips(t *testing.T) {
	h, _ := stripped(t)
	for range 3 * cutWait { // as long as they are trimmed
		mustFree(t, h, shortRead(t, h, 100))
	}
	before := 0
	for ; before < 100*cutWait; before++ {
		b := mustMalloc(t, h, readSize)
		slot := h.spanAt(addressOf(b)) != nil && stripOf(h, b) == nil
		mustFree(t, h, b)
		if slot {
			break
		}
	}
	// On a P each, in the worst case.
	if most := (cutWait + dryWait) * len(h.shardList()); before < cutWait-1 || before > most {
		t.Errorf("slots after %d blocks, want %d to %d", before, cutWait, most)
	}
	mustVerify(t, h)
}

// TestLongBlocksAreNotCut: so long ones would leave much of a strip behind.
func TestLongBlocksAreNotCut(t *testing.T) {
	h := sharedOut(t, maxCut+1)
	for range 100 {
		b := mustMalloc(t, h, maxCut+1)
		mustFree(t, h, b[100:])
		if stripOf(h, b) != nil {
			t.Fatalf("%d bytes in a strip", len(b))
		}
	}
	mustVerify(t, h)
}
