package heap

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

// TestBusyShardsShare: of the spans with free slots of a shard that is in use the half
// serves another that would have the heap grow. Else each shard would keep what the others
// need, where a goroutine goes from one P to the next.
func TestBusyShardsShare(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	h, _ := stripped(t)
	var live [][]byte
	for first := h.Stats().Spans; h.Stats().Spans < first+9; {
		live = append(live, mustMalloc(t, h, 2048))
	}
	c, perSpan := class(2048), 8 // or more
	for i := 0; i < len(live); i += perSpan {
		mustFree(t, h, live[i])
	}
	h.mu.Lock()
	me, busy := h.pinLocked(), newShard()
	unpin(me)
	set := newShardSet(2)
	set.byID[0], set.byID[1] = me, busy
	h.pause()
	busy.takeOver(me)
	first := busy.spans[c].front
	busy.spans[c].remove(first)
	busy.setCur(c, first)
	busy.seen = busy.malloced - 1
	h.set.Store(set)
	h.resume()
	h.reclaim()
	mine, its := me.spans[c].len(), busy.spans[c].len()
	if mine < 3 || mine > its || its > mine+1 || busy.cur[c] != first {
		t.Errorf("%d spans went to another shard, and %d stayed", mine, its)
	}
	busy.seen = busy.malloced
	h.reclaim()
	if n := me.spans[c].len(); n != mine+its+1 {
		t.Errorf("%d of %d spans are taken over from a shard that is quiet", n, mine+its+1)
	}
	h.mu.Unlock()
	mustVerify(t, h)
}

func (l *list) len() (n int) {
	for sp := l.front; sp != nil; sp = sp.next {
		n++
	}
	return n
}

// TestSparseSpansDrain: after a peak what is replaced gathers in few spans, and in the
// chunks that came first.
func TestSparseSpansDrain(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	h := newHeap(1 << 20)
	random := rand.New(rand.NewPCG(1, 2))
	live := make([][]byte, 200_000)
	for i := range live {
		live[i] = mustMalloc(t, h, 200)
	}
	random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	mustFree(t, h, live[len(live)/10:]...)
	live = live[:len(live)/10]
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	chunks := h.Stats().Chunks
	for range 30 * len(live) {
		i := random.IntN(len(live))
		mustFree(t, h, live[i])
		live[i] = mustMalloc(t, h, 200)
	}
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	s := h.Stats()
	h.mu.Lock()
	in := h.spanned[class(200)]
	h.mu.Unlock()
	if in > 5*len(live)*200/2 || s.Chunks > chunks*9/10 {
		t.Errorf("%d bytes are in spans of %d bytes, and in %d chunks of %d", len(live)*200, in, s.Chunks, chunks)
	}
	mustFree(t, h, live...)
	mustVerify(t, h)
}

// TestNextSpan: the span that has had free slots longest serves, unless it has few live
// ones and the one behind it is in an earlier chunk, or has more.
func TestNextSpan(t *testing.T) {
	early, late := &chunk{index: 0}, &chunk{index: 1}
	for _, c := range []struct {
		used     [2]uint32
		in       [2]*chunk
		turnover bool
	}{
		{[2]uint32{1, 20}, [2]*chunk{early, early}, true},
		{[2]uint32{1, 1}, [2]*chunk{early, early}, false},
		{[2]uint32{2, 1}, [2]*chunk{early, early}, false},
		{[2]uint32{2, 1}, [2]*chunk{late, early}, true},
		{[2]uint32{2, 20}, [2]*chunk{early, late}, false},
		{[2]uint32{30, 60}, [2]*chunk{late, early}, false}, // enough is live in the first
		{[2]uint32{1, 0}, [2]*chunk{late, early}, false},
		{[2]uint32{0, 0}, [2]*chunk{late, early}, false},
	} {
		var l list
		var spans [2]*span
		for i := range spans {
			sp := newSpan(0, 64*int(slotSize[0]))
			sp.chunk, sp.carved = c.in[i], 64
			for range c.used[i] {
				sp.left++
			}
			spans[i] = sp
			l.push(sp)
		}
		want := spans[0]
		if c.turnover {
			want = spans[1]
		}
		if got := l.next(); got != want {
			t.Errorf("%v of 64 slots in chunks %d and %d: the other serves", c.used, c.in[0].index, c.in[1].index)
		}
		if c.turnover && (l.back != spans[0] || l.front != spans[1]) {
			t.Error("the first does not wait behind the other")
		}
	}
	if new(list).next() != nil {
		t.Error("an empty list has a span")
	}
}
