package heap

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomem-go/gomem/backing"
)

// gated is a source whose Map and Unmap call back first, and which counts the bytes that
// are mapped.
type gated struct {
	backing.Source
	enter func(size int)
	leave func()

	calls, now, peak atomic.Int64
}

func (g *gated) Map(size int) ([]byte, error) {
	g.calls.Add(1)
	if g.enter != nil {
		g.enter(size)
	}
	now := g.now.Add(int64(size))
	for peak := g.peak.Load(); now > peak && !g.peak.CompareAndSwap(peak, now); {
		peak = g.peak.Load()
	}
	return g.Source.Map(size)
}

func (g *gated) Unmap(mem []byte) error {
	if g.leave != nil {
		g.leave()
	}
	g.now.Add(-int64(len(mem)))
	return g.Source.Unmap(mem)
}

// PageSize is the same on every system.
func (*gated) PageSize() int { return pageSize }

func gatedHeap(g *gated, maxBytes int) *Heap {
	g.Source = backing.Heap()
	h := new(Heap)
	h.Init(Config{Size: 1 << 20, MaxBytes: maxBytes, Source: g, Placement: placements["tlsf"], Few: few, Spans: true})
	return h
}

// TestGrowthLetsOthersWork: while the source maps, blocks that have room are
// allocated and freed. Those that have none wait, and share what is mapped next.
func TestGrowthLetsOthersWork(t *testing.T) {
	g := &gated{}
	h := gatedHeap(g, 0)
	mustFree(t, h, mustMalloc(t, h, 100)) // maps the first chunk, of 1 MiB
	kept := mustMalloc(t, h, 600<<10)
	mapping, goOn := make(chan bool), make(chan bool)
	var inside atomic.Int64
	g.enter = func(size int) {
		if inside.Add(1) > 1 {
			t.Error("two map at once")
		}
		if size > 4<<20 {
			close(mapping)
			<-goOn
		}
		inside.Add(-1)
	}
	var all sync.WaitGroup
	allocate := func(n int) {
		all.Go(func() {
			if b := h.Malloc(n); len(b) != n {
				t.Errorf("no %d bytes", n)
			}
		})
	}
	allocate(4 << 20)
	<-mapping
	mustFree(t, h, mustMalloc(t, h, 100<<10))
	mustFree(t, h, kept[:100])
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
	const more = 8
	for range more {
		allocate(200 << 10)
	}
	for h.Stats().Live < len(kept)-100+200<<10 { // one of them has what was left of the first chunk
		time.Sleep(time.Millisecond)
	}
	close(goOn)
	all.Wait()
	// A chunk of 512 KiB has two of the others.
	if calls := g.calls.Load(); calls > 2+more/2 {
		t.Errorf("%d mappings", calls)
	}
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
}

// TestCloseWhileGrowing: what comes too late goes back.
func TestCloseWhileGrowing(t *testing.T) {
	g := &gated{}
	h := gatedHeap(g, 0)
	mustMalloc(t, h, 100)
	g.enter = func(int) {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	if b, err := h.TryMalloc(4 << 20); b != nil || !errors.Is(err, ErrClosed) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if now := g.now.Load(); now != 0 {
		t.Errorf("%d bytes are left", now)
	}
}

// TestLimitAtOnce: goroutines that grow a heap at the same time, and drop what is
// empty, stay below its limit to the byte.
func TestLimitAtOnce(t *testing.T) {
	const seed, limit = 5, 20 << 20
	g := &gated{enter: func(int) { time.Sleep(50 * time.Microsecond) }}
	h := gatedHeap(g, limit)
	var all sync.WaitGroup
	var refused, served atomic.Int64
	for worker := range 6 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(worker)))
			var mine [][]byte
			for range 300 {
				if len(mine) > 3 {
					h.Free(mine[0])
					mine = mine[1:]
				}
				b, err := h.TryMalloc(1 + random.IntN(3<<20))
				switch {
				case err == nil:
					mine = append(mine, b)
					served.Add(1)
				case errors.Is(err, ErrLimit):
					refused.Add(1)
				default:
					t.Errorf("seed %d: %v", seed, err)
				}
			}
			for _, b := range mine {
				h.Free(b)
			}
		})
	}
	all.Wait()
	if peak := g.peak.Load(); peak > limit {
		t.Errorf("seed %d: %d bytes were mapped, limit %d", seed, peak, limit)
	}
	if refused.Load() == 0 || served.Load() < 300 {
		t.Errorf("seed %d: %d served, %d refused", seed, served.Load(), refused.Load())
	}
	if s := h.Stats(); s.Live != 0 {
		t.Errorf("seed %d: %+v", seed, s)
	}
	if err := h.Verify(); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
}

// TestLimitServesAll: a block as large as the limit fits.
func TestLimitServesAll(t *testing.T) {
	for _, n := range []int{1 << 20, 1<<20 + 4096, 300 << 10, 100 << 10} {
		h := gatedHeap(&gated{}, n)
		h.cfg.Size = 4096
		b := mustMalloc(t, h, n)
		if _, err := h.TryMalloc(1); !errors.Is(err, ErrLimit) {
			t.Errorf("limit %d: one byte more: %v", n, err)
		}
		mustFree(t, h, b)
		mustFree(t, h, mustMalloc(t, h, 100))
		if err := h.Verify(); err != nil {
			t.Error(err)
		}
	}
}

// TestChunkInUseStays: a chunk that is empty whenever the clock ticks, but not in
// between, stays; when it is not used any more it goes, however large.
func TestChunkInUseStays(t *testing.T) { synctest.Test(t, chunkInUseStays) }

func chunkInUseStays(t *testing.T) {
	g := &gated{}
	h := gatedHeap(g, 0)
	mustFree(t, h, mustMalloc(t, h, 100))
	for range 25 {
		mustFree(t, h, mustMalloc(t, h, 8<<20))
		pass(tickPeriod / 5)
	}
	// At the first tick one of two chunks goes, and both were used until then.
	if calls := g.calls.Load(); calls > 3 {
		t.Errorf("%d mappings for one block at a time", calls)
	}
	for end := time.Now().Add(10 * tickPeriod); h.Stats().Backing > 2<<20; pass(tickPeriod / 5) {
		if time.Now().After(end) {
			t.Fatalf("after %v without use: %+v", 10*tickPeriod, h.Stats())
		}
	}
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
}

// TestLargeChunkOfSpansGoes: a large chunk in which the last spans are goes too,
// after the quiet period in which the shards gave them back.
func TestLargeChunkOfSpansGoes(t *testing.T) { synctest.Test(t, largeChunkOfSpansGoes) }

func largeChunkOfSpansGoes(t *testing.T) {
	h := gatedHeap(&gated{}, 0)
	mustFree(t, h, mustMalloc(t, h, 8<<20))
	var blocks [][]byte
	for range 3000 {
		blocks = append(blocks, mustMalloc(t, h, 64))
	}
	if s := h.Stats(); s.Chunks != 1 || s.Spans == 0 {
		t.Fatalf("%+v", s)
	}
	mustFree(t, h, blocks...)
	for end := time.Now().Add(10 * tickPeriod); h.Stats().Backing > 0; pass(tickPeriod / 5) {
		if time.Now().After(end) {
			t.Fatalf("after %v without use: %+v", 10*tickPeriod, h.Stats())
		}
	}
}

// TestSpansShareChunks: also the largest spans do not get a mapping each.
func TestSpansShareChunks(t *testing.T) {
	h := gatedHeap(&gated{}, 0)
	for range 2000 {
		mustMalloc(t, h, 60<<10)
	}
	// Chunks that begin where spans do not hold one less.
	if s := h.Stats(); s.Chunks > 100 || s.Backing > s.Live/100*115 {
		t.Errorf("%+v", s)
	}
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
}

// TestTrimmedLargeBlocks: a block that has a chunk to itself and is cut short leaves
// one that has just no room for the next. Then a chunk serves many.
func TestTrimmedLargeBlocks(t *testing.T) {
	for name, place := range placements {
		for _, n := range []int{ownChunk, 300_000, 1 << 20, 4<<20 + 1} {
			for _, rest := range []int{100, n / 10} {
				h := new(Heap)
				h.Init(Config{Size: 1 << 20, Source: backing.Heap(), Placement: place, Few: few, Spans: name == "tlsf"})
				var blocks [][]byte
				for range 300 {
					b := mustMalloc(t, h, n)
					mustFree(t, h, b[rest:])
					blocks = append(blocks, b[:rest])
				}
				if s := h.Stats(); s.Backing > 2*s.Live+5*n+1<<20 {
					t.Errorf("%s, %d cut to %d: %d bytes mapped for %d live", name, n, rest, s.Backing, s.Live)
				}
				mustVerify(t, h)
				mustFree(t, h, blocks...)
			}
		}
	}
}

// trimming trims h and returns when g, its source, is unmapping; goOn lets that end.
func trimming(h *Heap, g *gated) (goOn func()) {
	unmapping, ended := make(chan bool, 1), make(chan bool)
	g.leave = func() {
		unmapping <- true
		<-ended
	}
	go func() { _ = h.Trim() }()
	<-unmapping
	return func() {
		g.leave = nil
		close(ended)
	}
}

// awaited returns what comes through result, but not before goOn.
func awaited(t *testing.T, result <-chan error, goOn func()) error {
	t.Helper()
	select {
	case err := <-result:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	goOn()
	return <-result
}

// TestGrowthAwaitsUnmapping: a block that has room within the limit once what is being
// unmapped has gone waits for that.
func TestGrowthAwaitsUnmapping(t *testing.T) {
	const limit, n = 8 << 20, 6 << 20
	g := &gated{}
	h := gatedHeap(g, limit)
	mustFree(t, h, mustMalloc(t, h, n))
	goOn := trimming(h, g)
	served := make(chan error)
	go func() {
		b, err := h.TryMalloc(n)
		h.Free(b)
		served <- err
	}()
	if err := awaited(t, served, goOn); err != nil {
		t.Error(err)
	}
	mustVerify(t, h)
}

// TestCloseAwaitsUnmapping: when Close returns, nobody is giving a mapping back any more,
// and what the source did not take is told.
func TestCloseAwaitsUnmapping(t *testing.T) {
	g := &gated{}
	h := gatedHeap(g, 0)
	mustFree(t, h, mustMalloc(t, h, 6<<20))
	goOn := trimming(h, g)
	closed := make(chan error)
	go func() { closed <- h.Close() }()
	if err := awaited(t, closed, goOn); err != nil || g.now.Load() != 0 {
		t.Errorf("%d bytes are mapped, %v", g.now.Load(), err)
	}
}

// TestLimitHoldsAllAgain: as many blocks as the limit has room for are served, however
// often their chunks are unmapped meanwhile.
func TestLimitHoldsAllAgain(t *testing.T) {
	for users := 1; users <= 4; users++ {
		limitHoldsAllAgain(t, users)
	}
}

func limitHoldsAllAgain(t *testing.T, users int) {
	const n = 300 << 10
	g := &gated{leave: runtime.Gosched, enter: func(int) { runtime.Gosched() }}
	h := gatedHeap(g, users*(n+spanUnit))
	stop := always(func() {
		if err := h.Trim(); err != nil {
			t.Error(err)
		}
	})
	var all sync.WaitGroup
	for range users {
		all.Go(func() {
			for range 100 {
				b, err := h.TryMalloc(n)
				if err != nil {
					t.Errorf("%d users: %v", users, err)
					return
				}
				runtime.Gosched()
				h.Free(b)
				runtime.Gosched()
			}
		})
	}
	all.Wait()
	stop()
	mustVerify(t, h)
}

// placedSource maps at multiples of the largest span, and skew bytes behind that.
type placedSource struct {
	backing.Source
	skew uintptr
}

func (s placedSource) Map(size int) ([]byte, error) {
	mem, err := s.Source.Map(size + 2*maxSpan)
	if err != nil {
		return nil, err
	}
	skip := -addressOf(mem)%maxSpan + s.skew
	return mem[skip:][:size:size], nil
}

func (placedSource) Unmap([]byte) error { return nil }

// PageSize is what skew may be a multiple of.
func (placedSource) PageSize() int { return pageSize }

// TestChunksOfWholeSpans: the chunks that the heap grows by have room for as many spans as
// their size says, wherever the Go heap maps them.
func TestChunksOfWholeSpans(t *testing.T) {
	for _, skew := range []uintptr{0, spanUnit / 2} {
		h := newHeap(1 << 20)
		h.cfg.Source = placedSource{backing.Heap(), skew}
		for h.mapped < 24<<20 {
			mustMalloc(t, h, 4096)
		}
		for _, c := range h.chunks[1:] {
			spans := len(c.mem) / maxGrown
			if got := len(c.raw) - spans*maxGrown; spans*maxGrown < minChunk || got > spanUnit/2 {
				t.Errorf("skew %d: %d bytes have room for %d spans", skew, len(c.raw), spans)
			}
		}
	}
}
