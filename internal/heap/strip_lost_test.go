package heap

import (
	"errors"
	"testing"
)

// TestDeadStripsMeltInBatches: however many strips are mostly dead, a block waits for a
// few of them to melt; Trim goes on to the last, and so does who is refused.
func TestDeadStripsMeltInBatches(t *testing.T) {
	for _, trim := range []bool{false, true} {
		deadStripsMelt(t, trim)
	}
}

func deadStripsMelt(t *testing.T, trim bool) {
	t.Helper()
	h, _ := stripped(t)
	h.ticking.Store(true)                    // nobody else melts any
	mustFree(t, h, mustMalloc(t, h, 40<<20)) // so that there is room for all
	var kept, reads [][]byte
	for range 4000 {
		reads = append(reads, shortRead(t, h, readSize-64))
	}
	for i, b := range reads {
		if i%20 == 0 {
			kept = append(kept, b)
		} else {
			mustFree(t, h, b)
		}
	}
	dead := func() (n int) {
		for _, s := range h.shardList() {
			for _, sp := range s.strips() {
				if sp.used() > 0 && sp.mostlyDead() {
					n++
				}
			}
		}
		return n
	}
	h.mu.Lock()
	for range 2 {
		before := dead()
		if before < 3*meltBatch {
			t.Fatalf("%d strips are mostly dead", before)
		}
		h.meltDead() // in the portable form of another shard, maybe
		if before-dead() > meltBatch {
			t.Errorf("of %d strips %d are left", before, dead())
		}
	}
	h.mu.Unlock()
	mustVerify(t, h)
	before := dead()
	h.mu.Lock()
	if !h.reclaim() || before-dead() != meltBatch {
		t.Errorf("of %d strips %d are left", before, dead())
	}
	h.unseen = 1 // as if others had begun to look at all anew, again and again
	if h.meltMore() {
		t.Error("the looks do not end")
	}
	h.mu.Unlock()
	if trim {
		if err := h.Trim(); err != nil || dead() > 0 {
			t.Errorf("%d strips did not melt: %v", dead(), err)
		}
	}
	h.cfg.MaxBytes = h.Stats().Backing
	if b, err := h.TryMalloc(h.cfg.MaxBytes); !errors.Is(err, ErrLimit) || dead() > 0 {
		t.Errorf("%d bytes, %v, where %d strips are mostly dead", len(b), err, dead())
	}
	mustVerify(t, h)
	for _, b := range kept {
		mustFree(t, h, b)
	}
}

// TestLostEndsEndCutting: where others are cut behind a block before it is
// trimmed its end is lost, and the class is placed one by one after some of those.
func TestLostEndsEndCutting(t *testing.T) {
	h, _ := stripped(t)
	const waiting = 8
	var held [waiting][]byte
	lost, place := 0, 0
	for i := range 400 {
		old := held[i%waiting]
		b := mustMalloc(t, h, readSize)
		if old != nil {
			if stripOf(h, old) != nil {
				lost++
			}
			mustFree(t, h, old[100:])
			mustFree(t, h, old[:100])
		}
		if held[i%waiting] = b; stripOf(h, b) == nil {
			place++
		}
	}
	if limit := 2 * maxLost / lostLoss; lost > limit || place < 300 {
		t.Errorf("%d ends lost, at most %d wanted; %d blocks placed by themselves", lost, limit, place)
	}
	if w := h.wait[class(readSize)]; w == 0 {
		t.Error("the class does not wait")
	}
	for _, b := range held {
		mustFree(t, h, b)
	}
	mustVerify(t, h)
}

// TestFewLostEnds: an end that is lost now and then does not end cutting.
func TestFewLostEnds(t *testing.T) {
	h, _ := stripped(t)
	for i := range 3000 {
		if i%20 > 0 {
			mustFree(t, h, shortRead(t, h, 1000))
			continue
		}
		a := mustMalloc(t, h, readSize)
		b := shortRead(t, h, 1000)
		if !h.Free(a[1000:]) {
			t.Fatal("refused")
		}
		mustFree(t, h, a[:1000], b)
	}
	b := shortRead(t, h, 1000)
	if stripOf(h, b) == nil {
		t.Error("no strip any more")
	}
	mustFree(t, h, b)
	mustVerify(t, h)
}
