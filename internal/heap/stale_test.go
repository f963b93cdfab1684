package heap

import (
	"slices"
	"testing"
	"time"
	"unsafe"
)

// kindOf is a kind of blocks: a span, and how a block is taken in it.
type kindOf struct {
	sp  *span
	cut func(sp *span, n int) []byte
}

// kindsOf returns a span of slots for n bytes, and a strip.
func kindsOf(n int) map[string]kindOf {
	return map[string]kindOf{
		"slot": {newSpan(class(n), spanBytes[class(n)]), (*span).take},
		"cut":  {newStrip(minStrip), (*span).cut},
	}
}

// TestSecondFreeMeetsAnotherBlock: who frees a block a second time may have seen where its
// span was, and wait until the owner has given the span back and it serves elsewhere, with
// a block of the same length at the same place. That block is not his.
func TestSecondFreeMeetsAnotherBlock(t *testing.T) {
	const n = 1024
	for kind, test := range kindsOf(n) {
		old, mem := make([]byte, test.sp.bytes()), make([]byte, test.sp.bytes())
		for part, from := range map[string][2]uint32{"whole": {0, n}, "tail": {10, n}, "head": {0, 10}, "middle": {10, 20}} {
			s, owner, sp := newShard(), newShard(), test.sp
			sp.place(&chunk{mem: old}, 0)
			seen := sp.base
			clear(sp.recs)
			sp.parts.Store(&parts{gone: make([]uint64, len(sp.recs)*int(granules(n))), stride: granules(min(sp.size, n))})
			sp.place(&chunk{mem: mem}, 0)
			sp.owner.Store(owner)
			if sp.class != stripClass {
				sp.carve()
			}
			test.cut(sp, n)
			before := slices.Clone(sp.recs)
			if end := s.free(sp, seen, from[0], from[1]-from[0], false); end != freeAgain {
				t.Errorf("%s of a %s: ended as %d", part, kind, end)
			}
			if !slices.Equal(sp.recs, before) || s.freed != 0 || slices.Max(sp.bits) != 0 {
				t.Errorf("%s of a %s: record %#x, was %#x, %d bytes freed, bits %b", part, kind, sp.recs[0], before[0], s.freed, sp.bits)
			}
			if end := s.free(sp, sp.base, from[0], from[1]-from[0], false); end == freeAgain || end == freeRefused {
				t.Errorf("%s of a %s: its own free ended as %d", part, kind, end)
			}
			clear(sp.bits)
			clear(sp.begins)
		}
	}
}

// TestFreeMeetsAMarkThatGoes: until the owner is told of a slot that is marked as queued
// the mark may be taken back, so a free of the block and a melt look again.
func TestFreeMeetsAMarkThatGoes(t *testing.T) {
	const n = 8192
	s, sp := newShard(), newSpan(class(n), spanBytes[class(n)])
	sp.place(&chunk{mem: make([]byte, sp.bytes())}, 0)
	sp.carve()
	sp.take(n)
	if !sp.mark(0, stateLive|n, stateQueue, sp.base) {
		t.Fatal("not live")
	}
	for _, local := range []bool{true, false} {
		if end := s.free(sp, sp.base, 0, n, local); end != freeAgain {
			t.Errorf("local %v: a free beside the mark ended as %d", local, end)
		}
	}
	if sp.makeGone(0) {
		t.Error("the melt did not wait")
	}
	s.post(sp, 0)
	if end := s.free(sp, sp.base, 0, n, false); end != freeRefused {
		t.Errorf("a second free ended as %d", end)
	}
	if !sp.makeGone(0) {
		t.Error("the melt waits for a slot that is free")
	}
	if sp.mark(0, stateQueue, stateLive|n, unsafe.Pointer(&sp.recs[0])) || sp.recs[0] != stateQueue {
		t.Errorf("a mark elsewhere left record %#x", sp.recs[0])
	}
}

// TestSecondFreeMeetsASpanThatGoes: the P that owned an empty span may free what was in it
// a second time while the span goes. It must not take it for its own: it may be another's a
// moment later.
func TestSecondFreeMeetsASpanThatGoes(t *testing.T) {
	const n = 1024
	h := sharedOut(t, n)
	blocks := make([][]byte, 64)
	for i := range blocks {
		blocks[i] = mustMalloc(t, h, n)
	}
	mustFree(t, h, blocks...)
	h.mu.Lock()
	s := h.pinLocked()
	idle := s.takeIdle()
	unpin(s)
	if idle == nil {
		t.Error("no span is empty")
	}
	for sp := idle; sp != nil; sp = sp.next {
		if sp.owner.Load() != nobody {
			t.Errorf("%v has an owner", sp)
		}
	}
	taken := make(chan bool)
	go func() {
		for _, b := range blocks {
			taken <- h.Free(b)
		}
		close(taken)
	}()
	select {
	case <-taken:
		t.Error("a free did not wait until the span had gone")
	case <-time.After(10 * time.Millisecond):
	}
	h.dropSpans(idle)
	_ = h.unlock(nil)
	for ok := range taken {
		if ok {
			t.Error("a second free was taken")
		}
	}
	mustVerify(t, h)
}
