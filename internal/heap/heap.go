package heap

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/offset"
)

// Config is what a heap is made of; it does not change afterwards.
type Config struct {
	Size     int            // bytes of the first chunk, mapped at the first use
	MaxBytes int            // bound on mapped bytes; 0: none
	MaxChunk int            // most bytes that a placement can manage, at least 1 MiB; 0: no limit
	Source   backing.Source // of the chunks

	// Placement makes the placement of a chunk of size bytes.
	Placement func(size int) offset.Allocator
	// Few makes that of a chunk that is mapped for a single large block; nil: Placement.
	Few func(size int) offset.Allocator
	// Spans allows slots for small blocks, shared out to the Ps.
	Spans bool
	// Buddies says that Source takes powers of two out of larger mappings.
	Buddies bool
	// Misuse, if not nil, is called with each refused free, under no lock.
	Misuse func(error)

	Debug  *Debug  // nil: no watch over every block
	Sample *Sample // nil: no watch over a few

	Record Recorder // nil: nobody is told
}

// Heap is the engine of a growing allocator. Any goroutine may call any
// method. See the package comment for how the parts work together.
type Heap struct {
	// What the fast paths read; changed only under mu.
	shards unsafe.Pointer // *shardSet; noShards: not shared out, or paused
	front  unsafe.Pointer // what Malloc sees: shards, or noShards while blocks are offered to the sampled guard
	hints  hints          // changed by whoever is pinned, too
	guess  guesses
	spans  atomic.Pointer[spanMap]
	set    atomic.Pointer[shardSet] // what shards is unless the heap is paused; nil: not shared out

	cfg     Config
	ticking atomic.Bool   // a tick is on its way; changed only under mu
	refused atomic.Uint64 // frees that were refused
	debug   *debugger     // nil but in debug mode
	sampler *sampler      // nil but with a sampled guard

	// Who grows the heap holds growing. Nobody waits for it while holding mu.
	growing sync.Mutex

	mu                  sync.Mutex
	closed              bool
	lending             bool  // a shard had a borrower at the last reclaim
	pageShift           uint8 // log2 of what the source's mappings are aligned to
	releaseShift        uint8 // log2 of what it takes back while a chunk is in use; 0: nothing
	rest, rests         uint8 // periods until slack counts again, and of the next rest
	asked, clock        uint8 // times that the clock was found running, for overdue; number of the one started last
	chunks              []*chunk
	table               *table // of them by address
	fits                tourney
	last                *chunk    // the one that placed the last block; fits does not know what it has
	mapped              int       // bytes of all chunks
	peak                int       // most of mapped and guards
	failed              int       // requests for which there was no memory
	nchunks             int       // chunks
	nempty              int       // of them, without a block: as many as in maps.empty
	nspans              int       // spans in all of them
	low                 int       // least of nempty in this period of the clock
	period              uint32    // number of it
	lentAt              uint32    // low bits of malloced when lent was set
	high                int       // most bytes live when there was no room, fading
	ticked, tickedFreed uint64    // the totals at the last tick
	reclaimed           uint64    // malloced at the last reclaim
	*sharing                      // nil before the heap is shared out
	solo                uint32    // blocks of up to maxSlot placed before the heap is shared out
	placed              uint32    // counts the blocks placed, and the chunks lent: each ends the borrows before
	lent                *chunk    // where the last Borrow is that no slot serves; see loan
	dead                [][]byte  // mappings that unlock gives back
	stuck               [][]byte  // mappings that the source would not take back, for another try
	leave               int       // bytes of both, which still count towards the limit
	coming              int       // bytes that are being mapped, which count towards it, too
	maps                *mappings // all of them

	// Bytes requested and given back under mu: large blocks, and small ones
	// before the heap is shared out.
	malloced, freed uint64
	raced           uint64 // of shards that are gone

	guards int // bytes of mappings with guard pages
}

// heapBytes is the most that a Heap may have: with the runtime's header it fills a size
// class of the Go heap, and there may be thousands of heaps.
const heapBytes = 768 - 8

var _ [heapBytes - unsafe.Sizeof(Heap{})]byte

// Init prepares a zero Heap, which maps nothing yet.
func (h *Heap) Init(cfg Config) {
	h.cfg = cfg
	h.cfg.Size = min(max(cfg.Size, 1), math.MaxInt-1<<30)                  // so that sums with it are numbers
	h.pageShift = uint8(bits.Len(uint(max(cfg.Source.PageSize(), 1))) - 1) // asked under no lock
	h.publish(noShards)
	h.hints.forget()
	h.spans.Store(noSpans)
	h.guess.use(noGuess)
	h.table = &noChunks
	h.cfg.Spans = cfg.Spans && cfg.Record == nil
	switch {
	case cfg.Debug != nil:
		h.cfg.Spans = false // so that no block escapes the watch
		if cfg.Misuse == nil {
			h.cfg.Misuse = printReport
		}
		h.debug = newDebugger(h, cfg.Debug)
	case cfg.Sample != nil:
		h.sampler = newSampler(cfg.Sample)
		runtime.AddCleanup(h, (*sampler).drop, h.sampler)
	}
	if h.debug == nil { // which fills free memory
		h.releaseShift = releaseUnit(cfg.Source)
	}
	if h.cfg.Spans {
		prepareSections() // not where somebody waits for a block
	}
}

// mallocSection is Malloc: a section for a block that the P's shard has a free slot for.
//
//go:nosplit
//go:noinline
func (h *Heap) mallocSection(n int) []byte {
	at := here()
	if uint(n-1) < maxSlot && h != nil {
		c := classOf[uint(n+slotAlign-1)/slotAlign]
		s := h.enterFront(at)
		if sp := s.cur[c&127]; sp.head != noSlot {
			b := sp.take(n)
			s.malloced += uint64(n)
			leave(s)
			return b
		}
		leave(s)
	}
	return h.mallocAny(n)
}

// mallocAny is Malloc where no free slot is at hand: tryMalloc without the reason, and
// without the questions that a heap with spans need not ask.
//
//go:noinline
func (h *Heap) mallocAny(n int) []byte {
	if h != nil && h.cfg.Spans && uint(n-1) < math.MaxInt-1<<30 {
		b := h.cut(n)
		if b == nil {
			b, _ = h.watchedMalloc(n)
		}
		return b
	}
	b, err := h.tryMalloc(n)
	if err != nil {
		return nil
	}
	return b
}

// tryMalloc is TryMalloc in Go.
func (h *Heap) tryMalloc(n int) ([]byte, error) {
	if b := h.cut(n); b != nil {
		return b, nil
	}
	switch {
	case n <= 0:
		if n == 0 {
			return []byte{}, nil
		}
		return nil, fmt.Errorf("gomem: Malloc(%d): %w", n, ErrInvalidSize)
	case n > math.MaxInt-1<<30:
		return nil, fmt.Errorf("gomem: Malloc(%d): %w", n, ErrOutOfMemory)
	case h == nil:
		return makeBytes(n)
	case h.cfg.Record != nil:
		return h.cfg.Record.Malloc(func() ([]byte, error) { return h.watchedMalloc(n) })
	}
	return h.watchedMalloc(n)
}

// watchedMalloc is tryMalloc without a record.
func (h *Heap) watchedMalloc(n int) ([]byte, error) {
	switch {
	case h.debug != nil:
		return h.debugMalloc(n, 1)
	case h.sampler != nil && h.wants(n):
		if b := h.sampleMalloc(n); b != nil {
			return b, nil
		}
	}
	return h.malloc(n)
}

// makeBytes is make for a length that may be impossible.
func makeBytes(n int) (b []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			b, err = nil, fmt.Errorf("gomem: Malloc(%d): %w: %v", n, ErrOutOfMemory, r)
		}
	}()
	return make([]byte, n), nil
}

func (h *Heap) malloc(n int) ([]byte, error) {
	if n > maxSlot || !h.cfg.Spans {
		return h.mallocLarge(n, 1)
	}
	return h.mallocSlot(n, class(n), 1)
}

// mallocSlot takes a slot of class c, whose slots lie at multiples of align, or places the
// block if slots are not worthwhile.
func (h *Heap) mallocSlot(n, c, align int) ([]byte, error) {
	s := h.pin()
	h.note(s)
	if s != noShard && s.refill(c) {
		b := s.takeFor(n, c)
		s.bring(h.sampler)
		unpin(s)
		return b, nil
	}
	unpin(s)
	h.mu.Lock()
	for !h.closed && h.shareOut() {
		// The goroutine may be on another P each time around.
		s := h.pinLocked()
		if s.refill(c) {
			b := s.takeFor(n, c)
			s.bring(h.sampler)
			unpin(s)
			return b, h.unlock(nil)
		}
		of := s.lacks(c)
		unpin(s)
		if h.direct(of) {
			break
		}
		if c >= small && align <= chunkUnit {
			if b, err, ok := h.placeCut(n, c, align); ok {
				if err != nil {
					b, err = h.takeAny(n, c, err)
				}
				return b, h.unlock(err)
			}
		}
		sp := h.placeSpan(of)
		if sp == nil {
			break // there may be room for the block alone
		}
		s = h.pinLocked()
		s.adopt(sp)
		unpin(s)
	}
	b, err := h.placeBlock(n, align)
	if err != nil {
		b, err = h.takeAny(n, c, err)
	}
	return b, h.unlock(err)
}

// takeAny takes a slot where there is no room for anything else, which err says. The
// search for room may have handed over spans with free slots, and a guest gets those that
// its host has. Under mu.
func (h *Heap) takeAny(n, c int, err error) ([]byte, error) {
	if h.set.Load() == nil {
		return nil, h.fail(err)
	}
	s := h.pinLocked()
	defer unpin(s)
	if s.refill(c) || s.refillHost(c) {
		return s.takeFor(n, c), nil
	}
	return nil, h.fail(err)
}

// fail counts a request that err ends. Under mu.
func (h *Heap) fail(err error) error {
	h.failed++
	return err
}

func (s *shard) takeFor(n, c int) []byte {
	s.malloced += uint64(n)
	return s.cur[c].take(n)
}

// freeSection is Free: a section for a whole slot of the P's shard, or its tail.
//
//go:nosplit
//go:noinline
func (h *Heap) freeSection(b []byte) bool {
	at := here()
	if h == nil {
		return false
	}
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	sp := h.guess.of(addr).Load()
	s := h.enterOwner(sp, at)
	if s == noShard {
		leave(s)
		return h.freeForeign(b)
	}
	// If b is not in the span it is no slot, and not within one, either.
	i, within := sp.slot(addr - uintptr(sp.base))
	if i < uint(len(sp.recs)) {
		rec := &sp.recs[i]
		if within == 0 && uint(*rec) == stateLive+uint(len(b)) {
			sp.give(rec, uint32(i))
			s.freed += uint64(len(b))
			if sp.left == 0 {
				keep(s)
				return h.filed(s, sp)
			}
			leave(s)
			return true
		}
		// The tail: from now on the slot is that much shorter. Somebody else may
		// free a part of it meanwhile, so that b is all that is left: that is no tail.
		if n := uint(len(b)); sp.class < small && within-1 < uint(sp.size)-1 && n-1 < maxSmall &&
			atomic.CompareAndSwapUint32(rec, uint32(stateLive+within+n), uint32(stateLive+within)) {
			s.freed += uint64(n)
			leave(s)
			return true
		}
	}
	leave(s)
	return h.freeOther(sp, b)
}

// filed ends a free that gave a span its first free slot or freed its last
// live one: both move the span within the shard's lists.
//
//go:noinline
func (h *Heap) filed(s *shard, sp *span) bool {
	s.file(sp)
	full := s.idle > idleLimit
	unpin(s)
	if full {
		h.releaseIdle()
	}
	h.wake()
	return true
}

// spanAt returns the span that contains addr, or nil.
func (h *Heap) spanAt(addr uintptr) *span {
	if place := h.spans.Load().place(addr); place != nil {
		return place.Load()
	}
	return nil
}
