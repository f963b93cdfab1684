package heap

import (
	"sync/atomic"
	"testing"
)

// TestBusyIsOnesOwn: who was stopped after he had made a block busy, and meets the next
// block in the slot, busy for another shard, does not take that for his.
func TestBusyIsOnesOwn(t *testing.T) {
	const n = 1024
	late, other, sp := newShard(), newShard(), newSpan(class(n), spanBytes[class(n)])
	sp.place(&chunk{mem: make([]byte, sp.bytes())}, 0)
	sp.carve()
	sp.take(n)
	if !sp.mark(0, stateLive|n, late.busy, sp.base) {
		t.Fatal("not live")
	}
	sp.free(0) // the owner, by a plain store
	sp.take(n)
	if !sp.mark(0, stateLive|n, other.busy, sp.base) {
		t.Fatal("not live")
	}
	if sp.trim(0, late.busy, stateLive|1, false) || atomic.CompareAndSwapUint32(&sp.recs[0], late.busy, stateQueue) {
		t.Errorf("the record of another's block is %#x now", sp.recs[0])
	}
}

// TestNotQueuedBeforeTheSecondLook: a free of what a span had elsewhere never makes its
// block look queued, which a left-over bit would have the owner take in.
func TestNotQueuedBeforeTheSecondLook(t *testing.T) {
	const n = 1024
	s, sp := newShard(), newSpan(class(n), spanBytes[class(n)])
	old, mem := make([]byte, sp.bytes()), make([]byte, sp.bytes())
	sp.place(&chunk{mem: old}, 0)
	seen := sp.base
	sp.place(&chunk{mem: mem}, 0)
	sp.owner.Store(newShard())
	sp.carve()
	sp.take(n)
	var done, queued atomic.Bool
	var looks atomic.Int64 // thousands
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for ; !done.Load(); looks.Add(1) {
			for range 1000 {
				if atomic.LoadUint32(&sp.recs[0])&stateMask == stateQueue {
					queued.Store(true)
				}
			}
		}
	}()
	// Where the two do not run at once nobody would see it.
	const enough = 10_000
	for round := 0; round < 300_000 || looks.Load() < enough && round < 100*300_000; round++ {
		if end := s.free(sp, seen, 0, n, false); end != freeAgain {
			t.Fatalf("the free ended as %d", end)
		}
	}
	done.Store(true)
	<-watched
	if queued.Load() {
		t.Error("the block looked queued")
	}
	if sp.recs[0] != stateLive|n {
		t.Errorf("its record is %#x", sp.recs[0])
	}
}
