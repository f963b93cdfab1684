package heap

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomem-go/gomem/backing"
)

// sourcePanics calls f, in which the source panics.
func sourcePanics(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if r := recover(); r != "source" {
			t.Errorf("recovered %v", r)
		}
	}()
	f()
}

// TestSourcePanics: the heap works on if the source panics.
func TestSourcePanics(t *testing.T) {
	g := &gated{}
	h := gatedHeap(g, 8<<20)
	mustMalloc(t, h, 100)
	g.enter = func(int) { panic("source") }
	sourcePanics(t, func() { h.Malloc(6 << 20) })
	g.enter = nil
	mustFree(t, h, mustMalloc(t, h, 6<<20)) // nothing counts towards the limit
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
}

// TestSourceUnmapPanics: the same where it unmaps; the mapping counts until it takes it.
func TestSourceUnmapPanics(t *testing.T) {
	g := &gated{}
	h := gatedHeap(g, 8<<20)
	mustFree(t, h, mustMalloc(t, h, 2<<20), mustMalloc(t, h, 3<<20))
	g.leave = func() { panic("source") }
	for range 2 {
		sourcePanics(t, func() { _ = h.Trim() })
	}
	sourcePanics(t, func() { h.Malloc(4 << 20) }) // there is no room for it else
	g.leave = nil
	mustFree(t, h, mustMalloc(t, h, 6<<20))
	mustVerify(t, h)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if now := g.now.Load(); now != 0 {
		t.Errorf("%d bytes are left", now)
	}
}

// otherLength is a source whose mappings are shorter or longer than they should be.
type otherLength struct {
	backing.Source
	by, maps int
}

func (s *otherLength) Map(size int) ([]byte, error) {
	if size+s.by > 0 {
		s.maps++
	}
	mem, err := s.Source.Map(max(size, size+s.by))
	return mem[:max(size+s.by, 0)], err
}

func (s *otherLength) Unmap(mem []byte) error {
	s.maps--
	return s.Source.Unmap(mem)
}

// TestSourceMapsOtherLength: such a mapping is refused, and goes back.
func TestSourceMapsOtherLength(t *testing.T) {
	for _, by := range []int{-4096, -1, 1, 4096} {
		src := &otherLength{Source: backing.Heap(), by: by}
		h := new(Heap)
		h.Init(Config{Size: 1 << 20, Source: src, Placement: placements["tlsf"], Few: few, Spans: true})
		if b, err := h.TryMalloc(100); b != nil || !errors.Is(err, ErrOutOfMemory) {
			t.Errorf("%d bytes more: %d bytes, %v", by, len(b), err)
		}
		if s := h.Stats(); s.Backing != 0 || src.maps != 0 {
			t.Errorf("%d bytes more: %d mappings are left, %+v", by, src.maps, s)
		}
		src.by = 0
		mustFree(t, h, mustMalloc(t, h, 100))
		mustVerify(t, h)
	}
}

// TestFlushAcrossBubbles: a goroutine in a bubble of testing/synctest waits for one that
// is in none to give a mapping back, and the other way round.
func TestFlushAcrossBubbles(t *testing.T) {
	bubble := func(f func()) { synctest.Test(t, func(*testing.T) { f() }) }
	plain := func(f func()) { f() }
	for name, in := range map[string][2]func(func()){"waiter": {plain, bubble}, "flusher": {bubble, plain}} {
		t.Run(name, func(t *testing.T) {
			g := &gated{}
			h := gatedHeap(g, 8<<20)
			mustFree(t, h, mustMalloc(t, h, 5<<20))
			var leaving, waits atomic.Bool
			g.leave = func() {
				leaving.Store(true)
				for !waits.Load() {
					runtime.Gosched()
				}
			}
			await := func() bool {
				h.mu.Lock()
				defer h.mu.Unlock()
				// Whoever grows waits for the flush as soon as it lets go of mu.
				if h.growing.TryLock() {
					h.growing.Unlock()
					return false
				}
				return true
			}
			var others sync.WaitGroup
			others.Go(func() { in[0](func() { _ = h.Trim() }) })
			for !leaving.Load() {
				runtime.Gosched()
			}
			others.Go(func() {
				for !await() {
					runtime.Gosched()
				}
				time.Sleep(time.Millisecond)
				waits.Store(true)
			})
			in[1](func() { mustFree(t, h, mustMalloc(t, h, 5<<20)) })
			others.Wait()
			mustVerify(t, h)
		})
	}
}

// TestGreatestSize: a first chunk as large as a number can be is cut to the limit, and
// stays as any other.
func TestGreatestSize(t *testing.T) {
	for _, size := range []int{math.MinInt, -1, math.MaxInt - 64, math.MaxInt - 62, math.MaxInt} {
		g := &gated{Source: backing.Heap()}
		h := new(Heap)
		h.Init(Config{Size: size, MaxBytes: 1 << 20, Source: g, Placement: placements["tlsf"], Few: few, Spans: true})
		mustFree(t, h, mustMalloc(t, h, 10))
		first := h.Stats().Backing
		for range 10 {
			h.tick()
		}
		if got := h.Stats().Backing; size > 0 && first != 1<<20 || first < 64 || got != first {
			t.Errorf("size %d: first %d bytes are mapped, later %d", size, first, got)
		}
		mustVerify(t, h)
	}
}

// asking is a source that is asked for its pages while the heap is in use.
type asking struct {
	backing.Source
	h *Heap
}

func (s *asking) PageSize() int {
	if s.h != nil {
		s.h.Verify()
	}
	return s.Source.PageSize()
}

// TestPageSizeUnderNoLock: a source may look at the heap when it is asked for its pages.
func TestPageSizeUnderNoLock(t *testing.T) {
	src := &asking{Source: backing.Heap()}
	h := new(Heap)
	h.Init(Config{Source: src, Placement: placements["tlsf"], Spans: true})
	src.h = h
	for _, align := range []int{64, 1024, 4096} {
		b, err := h.MallocAligned(100, align)
		if err != nil {
			t.Fatal(err)
		}
		mustFree(t, h, b)
	}
}
