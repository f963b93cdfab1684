package heap

import (
	"runtime"
	"testing"
	"time"
)

// pending returns a heap whose shard has yet to take in that n slots were freed elsewhere.
func pending(t *testing.T, n int) (*Heap, *shard) {
	t.Helper()
	needPins(t)
	procs := runtime.GOMAXPROCS(1) // so that the goroutine stays with the shard
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
	h, other := sharedOut(t, 64), newShard()
	live := make([][]byte, n)
	for i := range live {
		live[i] = mustMalloc(t, h, 64)
	}
	atRest(h)
	h.ticking.Store(true) // and stays so: no tick takes in anything
	h.maps.armed = time.Time{}
	var owner *shard
	for _, b := range live {
		if sp := h.spanAt(addressOf(b)); sp != nil {
			freeElsewhere(t, h, other, b)
			owner = sp.owner.Load()
		} else { // one of the first of its class
			mustFree(t, h, b)
		}
	}
	return h, owner
}

// queued is how many slots the spans of h have that their owners have yet to take in.
func queued(h *Heap) (n int) {
	seen := make(map[*span]bool)
	for _, s := range h.shardList() {
		for _, sp := range []*span{s.announced, s.remote.Load()} {
			for ; sp != nil && !seen[sp]; sp = sp.remote {
				seen[sp] = true
				for _, r := range sp.recs[:sp.carved] {
					if r&stateMask == stateQueue {
						n++
					}
				}
			}
		}
	}
	return n
}

// TestOneSlotWaitsForFew: who needs a slot takes in only some of what others freed, and
// the rest as it is needed, before the heap grows.
func TestOneSlotWaitsForFew(t *testing.T) {
	h, owner := pending(t, 100_000)
	before, spans := queued(h), h.Stats().Spans
	for owner.announced == nil { // until the slots that the shard has are used up
		mustMalloc(t, h, 64)
	}
	most := gatherSlots + int(maxSpan/64)
	if took := before - queued(h); took == 0 || took > most {
		t.Errorf("one slot took in %d of %d, want at most %d", took, before, most)
	}
	mustVerify(t, h)
	for range before - most {
		mustMalloc(t, h, 64)
	}
	if s := h.Stats(); s.Spans > spans {
		t.Errorf("%d spans, %d before, and %d slots wait", s.Spans, spans, queued(h))
	}
	mustVerify(t, h)
}

// TestPauseTakesInSome: what others freed is taken in by several pauses if it is much.
func TestPauseTakesInSome(t *testing.T) {
	h, _ := pending(t, 4*pauseGathers*gatherSlots)
	before := queued(h)
	h.mu.Lock()
	h.pause()
	more := h.gather()
	took, most := before-queued(h), pauseGathers*(gatherSlots+int(maxSpan/64))
	h.resume()
	if !more || took == 0 || took > most {
		t.Errorf("a pause took in %d of %d, want at most %d; more: %v", took, before, most, more)
	}
	h.reclaim()
	h.mu.Unlock()
	if n := queued(h); n > 0 {
		t.Errorf("%d slots wait after a reclaim", n)
	}
	mustVerify(t, h)
}
