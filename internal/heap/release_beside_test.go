package heap

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// releasing trims h, where something is free, and returns when its source is releasing it.
func releasing(h *Heap, w *wiping) (goOn func()) {
	begun, ended := make(chan bool, 1), make(chan bool)
	w.during = func() {
		begun <- true
		<-ended
	}
	go func() { _ = h.Trim() }()
	<-begun
	w.during = nil
	return func() { close(ended) }
}

// TestReleaseIsAwaited: no chunk is unmapped while its pages are released; who finds no
// room meanwhile waits if what is being released would do, and so does who lists what is
// free.
func TestReleaseIsAwaited(t *testing.T) {
	const limit, n = 4 << 20, 1 << 20
	for name, call := range map[string]func(h *Heap) error{
		"Close": func(h *Heap) error { return h.Close() },
		"Reset": func(h *Heap) error { return h.Reset() },
		"TryMalloc": func(h *Heap) error {
			_, err := h.TryMalloc(n)
			return err
		},
		"Chunks": func(h *Heap) error {
			for range h.Chunks() {
			}
			return nil
		},
	} {
		for _, most := range []int{limit, 0} {
			w := &wiping{}
			h := wipingHeap(w, most)
			first := mustMalloc(t, h, limit-3*n/2)
			mustFree(t, h, first[n/4:])
			chunks, goOn := h.Stats().Chunks, releasing(h, w)
			done := make(chan error)
			go func() { done <- call(h) }()
			if err := awaited(t, done, goOn); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if s := h.Stats(); s.Chunks > chunks || w.early.Load() {
				t.Errorf("%s: the heap grew to %d chunks; unmapped while pages were released: %v", name, s.Chunks, w.early.Load())
			}
			mustVerify(t, h)
		}
	}
}

// TestReleaseIsCutShort: once somebody waits, the rest of the pages stay, in that chunk
// and in others, until the next time.
func TestReleaseIsCutShort(t *testing.T) {
	w := &wiping{}
	h := wipingHeap(w, 0)
	peaked(t, h, 100<<10, 100, 2)
	goOn := releasing(h, w)
	c := h.table.find(addressOf(*w.busy.Load())).c
	done := make(chan error)
	go func() {
		for range h.Chunks() {
		}
		done <- nil
	}()
	for h.maps.waiting.Load() == 0 {
		runtime.Gosched()
	}
	_ = awaited(t, done, goOn)
	first := w.released.Load()
	if s := h.Stats(); first == 0 || int(first) > (s.Backing-s.Live)/4 {
		t.Errorf("%d bytes were released while somebody waited, %+v", first, s)
	}
	again := 0 // in the chunk that was cut short
	w.during = func() {
		if b := *w.busy.Load(); addressOf(b)-c.addr() < uintptr(len(c.mem)) {
			again += len(b)
		}
	}
	if err := h.Trim(); err != nil || again < 2*int(first) || w.released.Load() < 4*first {
		t.Errorf("%d bytes were released later, %d of them in the same chunk, %v", w.released.Load()-first, again, err)
	}
	mustVerify(t, h)
}

// TestFreeOfWhatIsReleased: a range looks taken while its pages go, and yet none of it
// can be freed.
func TestFreeOfWhatIsReleased(t *testing.T) {
	for _, n := range []int{100 << 10, 150 << 10, 600 << 10} { // among others, and in a chunk of its own
		w := &wiping{}
		h := wipingHeap(w, 0)
		if n == 150<<10 { // a placement that knows no ends
			h.cfg.Placement, h.cfg.Spans = placements["twotree"], false
		}
		live, old, end := mustMalloc(t, h, n), mustMalloc(t, h, n), mustMalloc(t, h, n)
		mustFree(t, h, old, live[n/2:])
		goOn := releasing(h, w)
		for name, b := range map[string][]byte{"whole": old, "part": old[n/4 : n/2], "tail": live[n/2:], "over the end": live} {
			if h.Free(b) {
				t.Errorf("%s of %d bytes: freed a second time", name, n)
			}
		}
		if got := h.Stats().Refused; got != 4 {
			t.Errorf("%d frees were refused, not 4", got)
		}
		h.mu.Lock()
		if h.slack() {
			t.Error("what is being released counts as slack")
		}
		h.mu.Unlock()
		mustFree(t, h, live[n/4:n/2])
		goOn()
		for h.awaits() {
			runtime.Gosched()
		}
		mustFree(t, h, live[:n/4], end)
		mustVerify(t, h)
	}
}

// awaits waits for a release, and says whether there was one.
func (h *Heap) awaits() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.awaitRelease()
}

// TestReleaseKeepsFewFew: the array of the live blocks of a large chunk has room for only
// so many ranges; tables as large as the chunk are not made for more.
func TestReleaseKeepsFewFew(t *testing.T) {
	const n = 64 << 20
	w := &wiping{}
	h := wipingHeap(w, 0)
	b := mustMalloc(t, h, n)
	for i := range 20 {
		mustFree(t, h, b[n/20*i+1000:n/20*(i+1)])
	}
	if err := h.Trim(); err != nil || w.released.Load() < n/3 {
		t.Errorf("%d bytes were released, %v", w.released.Load(), err)
	}
	if room := h.chunks[0].place.(*offset.Few).Room(); room > 31 {
		t.Errorf("room for %d blocks", room)
	}
	mustVerify(t, h)
}

// TestCloseBesideReleases: whenever it comes, while the clock releases the pages of many
// chunks one after the other.
func TestCloseBesideReleases(t *testing.T) {
	for round := range 30 {
		w := &wiping{during: runtime.Gosched}
		h := wipingHeap(w, 0)
		var all [60][]byte
		for i := range all {
			all[i] = mustMalloc(t, h, 300<<10)
		}
		for i, b := range all {
			if i%4 > 0 {
				mustFree(t, h, b)
			}
		}
		h.period += coldPeriods + 1
		var ticks sync.WaitGroup
		ticks.Go(h.tick)
		for i := 0; w.released.Load() < int64(round)*200<<10 && i < 1_000_000; i++ {
			runtime.Gosched()
		}
		if round%2 == 0 {
			_ = h.Close()
		} else if err := h.Reset(); err == nil {
			mustFree(t, h, mustMalloc(t, h, 100<<10))
		}
		if ticks.Wait(); w.early.Load() {
			t.Error("unmapped while pages were released")
		}
		mustVerify(t, h)
	}
}

// always has another goroutine call f again and again until stop, which waits for its end.
func always(f func()) (stop func()) {
	var done atomic.Bool
	var calls sync.WaitGroup
	calls.Go(func() {
		for !done.Load() {
			f()
			runtime.Gosched()
		}
	})
	return func() {
		done.Store(true)
		calls.Wait()
	}
}

// TestNobodyStarves: Close comes to its turn, and a block at the limit to its memory,
// however many others trim all the time.
func TestNobodyStarves(t *testing.T) {
	w := &wiping{during: runtime.Gosched}
	h := wipingHeap(w, 8<<20)
	mustMalloc(t, h, 1<<20)
	for range 3 {
		defer always(func() {
			_ = h.Trim()
			h.Free(h.Malloc(1 << 20))
		})()
	}
	for range 50 {
		mustFree(t, h, mustMalloc(t, h, 3<<20))
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
