package heap

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/gomem-go/gomem/backing"
)

// pass has d pass in the bubble of the test, and the clock do what it does then.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestDrainIsNoticed: memory goes back by itself also when the last blocks are
// slots or lie in strips, and are freed without touching a chunk, by goroutines
// that allocate nothing, long after the last allocation.
func TestDrainIsNoticed(t *testing.T) {
	for _, size := range [][2]int{{64, 64}, {3000, 3000}, {16 << 10, 16 << 10}, {16 << 10, 1400}} {
		synctest.Test(t, func(t *testing.T) { drainIsNoticed(t, size[0], size[1]) })
	}
}

func drainIsNoticed(t *testing.T, n, keep int) {
	h := newHeap(1 << 20)
	var blocks [][]byte
	for held := 0; held < 16<<20; held += keep {
		b := mustMalloc(t, h, n)
		mustFree(t, h, b[keep:])
		blocks = append(blocks, b[:keep])
	}
	for h.ticking.Load() { // nothing happens, so the clock stops
		pass(tickPeriod / 5)
	}
	done := make(chan bool)
	for w := range 4 {
		go func() {
			ok := true
			for i := w; i < len(blocks); i += 4 {
				ok = h.Free(blocks[i]) && ok
			}
			done <- ok
		}()
	}
	for range 4 {
		if !<-done {
			t.Fatal("refused")
		}
	}
	for end := time.Now().Add(20 * tickPeriod); h.Stats().Chunks > 1 && time.Now().Before(end); {
		pass(tickPeriod / 5)
	}
	if s := h.Stats(); s.Chunks > 1 || s.Live != 0 {
		t.Errorf("blocks of %d bytes: %+v", keep, s)
	}
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
	for h.ticking.Load() { // the last period is a quiet one
		pass(tickPeriod / 5)
	}
	if n := h.countSpares(); n > 0 {
		t.Errorf("blocks of %d bytes: %d spans are kept", keep, n)
	}
}

// TestLastingSlack: a heap in use whose slack no pause can end is paused seldom; where
// there is something to gain it is paused again each time.
func TestLastingSlack(t *testing.T) {
	h := sharedOut(t, 1024)
	var live [][]byte
	for range 8 << 10 {
		live = append(live, mustMalloc(t, h, 1024))
	}
	for i, b := range live {
		if i%32 > 0 {
			mustFree(t, h, b)
		}
	}
	pauses := func(periods int) (n int) {
		for range periods {
			mustFree(t, h, mustMalloc(t, h, 1024))
			before := h.reclaimed
			if h.tick(); h.reclaimed != before {
				n++
			}
		}
		return n
	}
	if h.tick(); !h.slack() {
		t.Fatal("no slack")
	}
	if n := pauses(64); n > 10 || n < 4 {
		t.Errorf("%d pauses in 64 periods", n)
	}
	for i, b := range live {
		if i%32 == 0 {
			mustFree(t, h, b)
		}
	}
	chunks := h.Stats().Chunks
	if pauses(maxRests + 3); h.Stats().Chunks >= chunks/2 {
		t.Errorf("%d of %d chunks are left", h.Stats().Chunks, chunks)
	}
}

// TestRests: rests double up to a bound, and a pause that gains something ends them.
func TestRests(t *testing.T) {
	h := newHeap(1024)
	for i, want := range []uint8{1, 3, 7, 15, 15, 0, 1} {
		if h.looked(i == 5); h.rest != want {
			t.Errorf("look %d: %d periods of rest, want %d", i, h.rest, want)
		}
	}
}

// TestQuietChunksOfSpansGo: what the shards keep is little, but several chunks are in it;
// all go but one, and for that alone nobody is paused.
func TestQuietChunksOfSpansGo(t *testing.T) {
	h := newHeap(32 << 10)
	// What is in front of the first span of each chunk is no slack.
	h.cfg.Source = placedSource{backing.Heap(), spanUnit / 2}
	h.ticking.Store(true) // by hand
	var blocks [][]byte
	for h.Stats().Spans < 8 {
		blocks = append(blocks, mustMalloc(t, h, 64))
	}
	mustFree(t, h, blocks...)
	if s := h.Stats(); h.slack() || s.Chunks < 2 || s.EmptyChunks == s.Chunks {
		t.Fatalf("slack %v, %+v", h.slack(), s)
	}
	for range 4 {
		h.tick()
	}
	if s := h.Stats(); s.Chunks != 1 {
		t.Errorf("%+v", s)
	}
	mustVerify(t, h)
	for h.Stats().Spans == 0 {
		mustFree(t, h, mustMalloc(t, h, 64))
	}
	if s := h.Stats(); s.Chunks != 1 || s.EmptyChunks != 0 || s.Live != 0 {
		t.Fatalf("%+v", s)
	}
	h.tick() // not quiet
	before := h.reclaimed
	if h.tick(); h.reclaimed != before {
		t.Error("paused for a chunk that stays")
	}
}

// TestSpansStartTheClock: what a load without a free leaves in a shard is looked at.
func TestSpansStartTheClock(t *testing.T) {
	h := sharedOut(t, 64)
	h.ticking.Store(false)
	for spans := h.Stats().Spans; h.Stats().Spans == spans; {
		mustMalloc(t, h, 64)
	}
	if !h.ticking.Load() {
		t.Error("the clock stands")
	}
}

// countSpares is how many spans are placed nowhere.
func (h *Heap) countSpares() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, sp := range h.spare {
		for ; sp != nil; sp = sp.next {
			n++
		}
	}
	return n
}

// TestTrimKeepsNoSpans: what a span needs beside the memory goes with it.
func TestTrimKeepsNoSpans(t *testing.T) {
	for _, end := range []func(*Heap) error{(*Heap).Trim, (*Heap).Close} {
		h := newHeap(1 << 20)
		var blocks [][]byte
		for range 20_000 {
			blocks = append(blocks, mustMalloc(t, h, 100))
		}
		mustFree(t, h, blocks...)
		h.mu.Lock()
		h.reclaim() // also what other Ps have
		h.mu.Unlock()
		if h.countSpares() == 0 {
			t.Error("no span was given back")
		}
		if err := end(h); err != nil {
			t.Error(err)
		}
		if n := h.countSpares(); n > 0 {
			t.Errorf("%d spans are kept", n)
		}
	}
}

// TestClockKeepsNoHeap: a heap that nobody has any more is collected while its clock
// runs, with all that it holds.
func TestClockKeepsNoHeap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dropped := func() weak.Pointer[Heap] {
			h := newHeap(1 << 20)
			mustFree(t, h, mustMalloc(t, h, 100))
			if !h.ticking.Load() {
				t.Fatal("the clock does not run")
			}
			return weak.Make(h)
		}()
		for range 3 {
			runtime.GC()
		}
		if dropped.Value() != nil {
			t.Error("a heap that was dropped is still there")
		}
		pass(2 * tickPeriod) // the clock finds nothing
	})
}

// TestClockAfterABubble: a clock that was started in a bubble, which ended, runs again.
func TestClockAfterABubble(t *testing.T) {
	h := newHeap(1 << 16)
	burst := func() {
		var all [][]byte
		for range 100 {
			all = append(all, mustMalloc(t, h, 1<<20))
		}
		for _, b := range all {
			mustFree(t, h, b)
		}
	}
	synctest.Test(t, func(*testing.T) { burst() })
	burst()
	h.mu.Lock()
	defer h.mu.Unlock()
	if armed := h.maps.armed; !h.ticking.Load() || time.Since(armed) > time.Hour {
		t.Errorf("the clock runs since %v", armed)
	}
}

// TestOneClock: a clock that was taken for lost, as after a step of the wall clock, does
// not run beside the next one.
func TestOneClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeap(1 << 16)
		busy := func(periods int) {
			for range 200 * periods {
				mustFree(t, h, mustMalloc(t, h, 1<<20))
				time.Sleep(tickPeriod / 200)
			}
		}
		for range 3 {
			busy(1)
			h.mu.Lock()
			h.maps.armed = h.maps.armed.Add(-time.Hour)
			h.mu.Unlock()
		}
		periods := func() uint32 {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.period
		}
		busy(1)
		before := periods()
		busy(10)
		if n := periods() - before; n < 9 || n > 11 {
			t.Errorf("%d periods, want 10", n)
		}
	})
}
