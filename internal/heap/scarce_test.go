package heap

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// scarce is a source that has no large mappings.
type scarce struct {
	backing.Source
	most int // bytes
}

func (s *scarce) Map(size int) ([]byte, error) {
	if size > s.most {
		return nil, ErrOutOfMemory
	}
	return s.Source.Map(size)
}

// TestShortOfMemory: where there is no chunk of the usual size, one that just
// holds the request will do.
func TestShortOfMemory(t *testing.T) {
	source := &scarce{backing.Heap(), 1 << 30}
	h := new(Heap)
	h.Init(Config{Size: 1 << 20, Source: source, Placement: placements["tlsf"]})
	mustMalloc(t, h, 1<<20) // takes the first chunk whole
	source.most = 200 << 10
	before := h.Stats()
	mustMalloc(t, h, 100<<10)
	if s := h.Stats(); s.Chunks != before.Chunks+1 || s.Backing > before.Backing+source.most {
		t.Errorf("%+v after %+v", s, before)
	}
	before = h.Stats()
	if _, err := h.TryMalloc(300 << 10); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("a request that nothing can hold: %v", err)
	}
	before.Failed++
	if s := h.Stats(); s != before {
		t.Errorf("%+v after %+v", s, before)
	}
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
}

// TestCutTakesWhatIsHandedOver: the search for room may hand over spans with free slots,
// also where blocks of the class are cut.
func TestCutTakesWhatIsHandedOver(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const n = 8192
	h := pastWait(t, 1<<20)
	for h.spanAt(addressOf(mustMalloc(t, h, n))) == nil {
	}
	h.mu.Lock()
	me, other := h.pinLocked(), newShard() // that of another P, quiet for long
	unpin(me)
	set := newShardSet(2)
	set.byID[0], set.byID[1] = me, other
	h.pause()
	other.takeOver(me)
	h.set.Store(set)
	h.resume()
	for c, _ := h.takeMapped(64, 1); c != nil; c, _ = h.takeMapped(64, 1) {
	}
	h.cfg.MaxBytes = h.mapped
	me.cuts[class(n)-small] = cutWait
	h.mu.Unlock()
	if b, err := h.TryMalloc(n); b == nil {
		_, again := h.TryMalloc(n)
		t.Errorf("%v, and then %v", err, again)
	}
	mustVerify(t, h)
}

// finePages is a source whose pages are smaller than the system's.
type finePages struct{ backing.Source }

func (finePages) PageSize() int      { return 64 }
func (finePages) Unmap([]byte) error { return nil }

func (finePages) Map(size int) ([]byte, error) {
	mem := make([]byte, size+2*pageSize)
	skip := int(-addressOf(mem)&(pageSize-1)) + 64
	return mem[skip : skip+size : skip+size], nil
}

// TestAlignedInFinePages: a source of small pages has room for a block at a multiple of a
// large one, the first time, also behind chunks that are not aligned.
func TestAlignedInFinePages(t *testing.T) {
	for name, place := range placements {
		for _, spans := range []bool{false, true} {
			h := new(Heap)
			h.Init(Config{Size: 1000, Source: finePages{backing.Heap()}, Placement: place, Spans: spans})
			var large [][]byte
			for range 12 {
				large = append(large, mustMalloc(t, h, 1<<20))
			}
			for _, b := range large {
				mustFree(t, h, b)
			}
			chunks := h.Stats().Chunks
			for range 20 {
				b, err := h.MallocAligned(100, pageSize)
				if err != nil || addressOf(b)%pageSize != 0 {
					t.Fatalf("%s, spans %v: %v at %#x, %+v", name, spans, err, addressOf(b), h.Stats())
				}
			}
			if more := h.Stats().Chunks - chunks; more > 1 {
				t.Errorf("%s, spans %v: %d chunks for 20 blocks", name, spans, more)
			}
			mustVerify(t, h)
		}
	}
}

// TestFinePagesAreUsed: where nobody asks for more alignment, none of a chunk is lost.
func TestFinePagesAreUsed(t *testing.T) {
	const size, n = 4096, 64
	h := new(Heap)
	h.Init(Config{Size: size, MaxBytes: size, Source: finePages{backing.Heap()}, Placement: placements["tlsf"], Spans: true})
	blocks := 0
	for ; h.Malloc(n) != nil; blocks++ {
	}
	if blocks != size/n {
		t.Errorf("%d blocks of %d bytes in a chunk of %d", blocks, n, size)
	}
}

// shifted is a source whose mappings begin a page behind where spans can.
type shifted struct{ backing.Source }

func (shifted) Unmap([]byte) error { return nil }

func (shifted) PageSize() int { return pageSize }

func (shifted) Map(size int) ([]byte, error) {
	mem := make([]byte, size+2*spanUnit)
	skip := int(-addressOf(mem)&(spanUnit-1)) + pageSize
	return mem[skip : skip+size : skip+size], nil
}

// TestRoomForASpan: a chunk that is mapped for a span has room for it wherever it begins.
func TestRoomForASpan(t *testing.T) {
	for _, bytes := range []int{spanUnit, 2 * spanUnit, maxGrown} {
		h := new(Heap)
		h.Init(Config{Size: 1000, Source: shifted{backing.Heap()}, Placement: placements["tlsf"], Spans: true})
		h.mu.Lock()
		if _, _, err := h.take(bytes, spanUnit); err != nil || h.nchunks != 1 {
			t.Errorf("%d bytes: %v, in %d chunks", bytes, err, h.nchunks)
		}
		h.mu.Unlock()
	}
}

// TestLooksAtChunksAreFew: blocks that get a chunk each do not look at all others each time.
func TestLooksAtChunksAreFew(t *testing.T) {
	const n = 300 << 10
	h := sharedOut(t, 100)
	var live [][]byte
	looks := 0
	for range 400 {
		at := h.reclaimed
		live = append(live, mustMalloc(t, h, n))
		if h.reclaimed != at {
			looks++
		}
	}
	if looks == 0 || looks > 60 { // each at 400 chunks, at most 16 for a block, and those of a small heap
		t.Errorf("all chunks were looked at for %d of %d blocks", looks, len(live))
	}
	h.mu.Lock()
	h.reclaimed, _ = h.totals()
	h.reclaimed -= uint64(len(live)*n/looksForBlock) + 1
	worth, at := h.reclaimWorthwhile(n), h.reclaimed
	total, _ := h.totals()
	h.mu.Unlock()
	if worth || at != total {
		t.Errorf("nothing is to be gained, worthwhile: %v, looked: %v", worth, at == total)
	}
	mustFree(t, h, live...)
	mustVerify(t, h)
}

// TestEmptyChunksGoInOrder: those go first that nobody used in this period of the clock,
// and of these the newest; whichever one stays is still known.
func TestEmptyChunksGoInOrder(t *testing.T) {
	h := sharedOut(t, 100)
	var live [][]byte
	for range 6 {
		live = append(live, mustMalloc(t, h, 3<<20))
	}
	index := func(b []byte) int { return h.table.find(addressOf(b)).c.index }
	var want []int
	for _, i := range []int{2, 0, 5} { // unused in the period that comes
		want = append(want, index(live[i]))
		mustFree(t, h, live[i])
	}
	slices.Sort(want)
	slices.Reverse(want)
	h.mu.Lock()
	h.period++
	h.mu.Unlock()
	for _, i := range []int{4, 1, 3} {
		want = append(want, index(live[i]))
		mustFree(t, h, live[i])
	}
	slices.Sort(want[3:])
	slices.Reverse(want[3:])
	mustVerify(t, h)
	h.mu.Lock()
	for _, i := range want {
		c := h.chunks[i]
		if n := h.dropEmpty(1, false); n != 1 || h.chunks[i] == c {
			t.Errorf("%d chunks went, and not that at %d", n, i)
		}
	}
	h.mu.Unlock()
	mustVerify(t, h)
}
