package heap

import (
	"runtime"
	"testing"
)

// TestFewStripsAreLookedAt: however many strips hold reads that are kept, a shard that
// wants another looks at few of them, and finds those that are mostly dead in its turn.
func TestFewStripsAreLookedAt(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	h, _ := stripped(t)
	var kept [][]byte
	for range 60 * lookBatch {
		kept = append(kept, shortRead(t, h, readSize-64))
	}
	h.mu.Lock()
	s := h.pinLocked()
	unpin(s)
	strips := len(s.strips())
	if strips < 4*lookBatch {
		t.Fatalf("%d strips", strips)
	}
	seen := func() (n int) {
		for _, sp := range s.strips() {
			if sp.pass == h.pass {
				n++
			}
		}
		return n
	}
	h.pass++
	for calls := 1; calls <= 3; calls++ {
		if h.meltDead() {
			t.Error("a strip that is full of live blocks is mostly dead")
		}
		if n := seen(); n != calls*lookBatch {
			t.Errorf("after %d calls %d strips were looked at", calls, n)
		}
	}
	h.mu.Unlock()
	last := kept[len(kept)/2]
	sp := h.spanAt(addressOf(last))
	for _, b := range kept {
		if h.spanAt(addressOf(b)) == sp && addressOf(b) != addressOf(last) {
			mustFree(t, h, b)
		}
	}
	mustFree(t, h, last[:len(last)-100])
	h.mu.Lock()
	melted := false
	for calls := 0; !melted; calls++ {
		if calls > strips/lookBatch+2 {
			t.Fatal("a strip that is mostly dead is not found")
		}
		melted = h.meltDead()
	}
	h.mu.Unlock()
	if h.spanAt(addressOf(last)) == sp {
		t.Error("another strip melted")
	}
	mustVerify(t, h)
}
