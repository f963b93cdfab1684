package heap

import (
	"math/bits"
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
	Source   backing.Source // of the chunks

	// Placement makes the placement of a chunk of size bytes.
	Placement func(size int) offset.Allocator
	// Spans allows slots for small blocks, shared out to the Ps.
	Spans bool
}

// Heap is the engine of a growing allocator. Any goroutine may call any
// method. See the package comment for how the parts work together.
type Heap struct {
	// What the fast paths read; changed only under mu.
	shards atomic.Pointer[shardSet] // nil: not shared out, or paused
	table  atomic.Pointer[table]    // nil: no chunk

	cfg     Config
	refused atomic.Uint64 // frees that were not frees

	mu     sync.Mutex
	closed bool
	timer  bool // a tick is on its way
	set    *shardSet
	chunks []*chunk
	fits   tourney
	mapped int // bytes of all chunks
	peak   int // most of mapped
	nempty int // chunks without a block
	low    int // least of nempty since the last tick
	solo   int // small blocks placed without spans, for deciding when to share out
	spare  [classes]*span
	parts  map[uintptr]*part // slots in state part, by address
	dead   [][]byte          // mappings that unlock gives back
	maps   *mappings         // all of them

	// Bytes requested and given back under mu: large blocks, and small ones
	// before the heap is shared out.
	malloced, freed uint64
	raced           uint64 // of shards that are gone
}

// Init prepares a zero Heap, which maps nothing yet.
func (h *Heap) Init(cfg Config) { h.cfg = cfg }

// Malloc returns n bytes with cap == len, not zeroed, aligned to 16 bytes
// unless the placement is byte-exact. n must be positive.
func (h *Heap) Malloc(n int) ([]byte, error) {
	if uint(n-1) < maxSmall {
		c := int(classOf[uint(n+slotAlign-1)/slotAlign])
		if s := h.pin(); s != nil {
			if sp := s.cur[c&63]; sp.head != noSlot {
				b := sp.take(n)
				s.malloced += uint64(n)
				unpin(s)
				return b, nil
			}
			unpin(s)
		} else {
			unpin(s)
		}
		return h.mallocSmall(n, c)
	}
	return h.mallocLarge(n, 1)
}

// mallocSmall is Malloc when the current span of the class is exhausted or
// the heap is not shared out.
func (h *Heap) mallocSmall(n, c int) ([]byte, error) {
	s := h.pin()
	if s != nil && s.refill(c) {
		b := s.takeFor(n, c)
		unpin(s)
		return b, nil
	}
	unpin(s)
	h.mu.Lock()
	if h.closed || !h.shareOut() {
		b, err := h.placeBlock(n, 1)
		return b, h.unlock(err)
	}
	for {
		// The goroutine may be on another P each time around.
		s := h.pinLocked()
		if s.refill(c) {
			b := s.takeFor(n, c)
			unpin(s)
			return b, h.unlock(nil)
		}
		unpin(s)
		sp, err := h.placeSpan(c)
		if err != nil {
			return nil, h.unlock(err)
		}
		s = h.pinLocked()
		s.adopt(sp)
		unpin(s)
	}
}

func (s *shard) takeFor(n, c int) []byte {
	s.malloced += uint64(n)
	return s.cur[c].take(n)
}

// Free gives back b: a block or any part of one. The error is a *MisuseError
// and nothing changed if b is not live memory of this heap.
func (h *Heap) Free(b []byte) error {
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	if sp := h.spanAt(addr); sp != nil {
		s, local := h.pinFor(sp)
		if local {
			off := addr - uintptr(sp.base)
			i, within := sp.slot(uint32(off))
			if uint(i) < uint(len(sp.recs)) && within == 0 && sp.recs[i] == stateLive|uint32(len(b)) {
				was := sp.head
				sp.give(i)
				s.freed += uint64(len(b))
				if was == noSlot || sp.used == 0 {
					return h.filed(s, sp)
				}
				unpin(s)
				return nil
			}
		}
		unpin(s)
	}
	return h.freeSlow(b)
}

// filed ends a free that made the first free slot of a span or freed its last
// live one: both move it within the shard's lists.
func (h *Heap) filed(s *shard, sp *span) error {
	s.file(sp)
	full := s.idle > idleLimit
	unpin(s)
	if full {
		h.releaseIdle()
	}
	return nil
}

// spanAt returns the span whose pages contain addr, or nil.
func (h *Heap) spanAt(addr uintptr) *span {
	t := h.table.Load()
	if t == nil {
		return nil
	}
	if e := t.find(addr); e != nil {
		if p := (addr - e.base) >> pageShift; p < uintptr(len(e.pages)) {
			return e.pages[p].Load()
		}
	}
	return nil
}

// Borrow returns n bytes that are free now and stay so until the next
// allocation from the heap by anyone; nothing is taken.
func (h *Heap) Borrow(n int) ([]byte, error) {
	if uint(n-1) < maxSmall {
		s := h.pin()
		if s != nil {
			c := int(classOf[uint(n+slotAlign-1)/slotAlign])
			if sp := s.cur[c&63]; sp.head != noSlot {
				// Safety: the head is a slot of the span.
				p := (*byte)(unsafe.Add(sp.base, sp.head*sp.size))
				unpin(s)
				return unsafe.Slice(p, n), nil
			}
		}
		unpin(s)
	}
	b, err := h.Malloc(n)
	if err != nil {
		return nil, err
	}
	return b, h.uncount(b)
}

// uncount frees b and takes it out of the totals.
func (h *Heap) uncount(b []byte) error {
	err := h.Free(b)
	h.mu.Lock()
	h.malloced -= uint64(len(b))
	h.freed -= uint64(len(b))
	h.mu.Unlock()
	return err
}

// shareOut decides whether small blocks come from spans, and prepares for it.
// A heap with few small blocks places them in its chunks: it may be one of
// thousands, and spans take 16 KiB for each class.
func (h *Heap) shareOut() bool {
	const enough = 1024 // small blocks
	if h.set != nil {
		return true
	}
	h.solo++
	if !h.cfg.Spans || h.solo < enough {
		return false
	}
	set := make(shardSet, shardCount())
	h.set = &set
	h.shards.Store(h.set)
	return true
}

// pinLocked is pin for the holder of mu in a heap that is shared out; it makes
// the shard if the P has none yet.
func (h *Heap) pinLocked() *shard {
	for {
		if s := h.pin(); s != nil {
			return s
		}
		unpin(nil)
		id := pinIndex()
		set := make(shardSet, max(len(*h.set), id+1))
		copy(set, *h.set)
		if set[id] == nil {
			set[id] = newShard()
		}
		h.set = &set
		h.shards.Store(h.set)
	}
}

func trailingZeros(x uint32) int { return bits.TrailingZeros32(x) }
