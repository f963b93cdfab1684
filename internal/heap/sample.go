package heap

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/guard"
)

// Sample puts a few blocks of a heap into slots between guard pages.
type Sample struct {
	Rate  int // one block in Rate is sampled; 0: 5,000; above 2^40: 2^40
	Slots int // at most 16, which is also what 0 means
	// Interval is the least time between two samples, which bounds the cost.
	// 0: 20 ms, negative: none.
	Interval time.Duration
}

const (
	defaultRate     = 5000
	maxRate         = 1 << 40
	defaultInterval = 20 * time.Millisecond
	maxSlots        = 16
	slotBytes       = 64 << 10 // a larger block is not sampled
	wallBytes       = 64 << 10 // a multiple of every system's page
	keptBytes       = 8 << 10  // of a slot that is not in use
	offerBlocks     = 64       // as many as a refill brings at most
	sampleDepth     = 16
)

// sampler is the sampled guard. Whether to sample is decided when a processor has
// run out of slots of a class, not on the fast path. It counts the slots that
// were used up, blocks that are placed one by one and, a batch at a time, those
// that are cut from strips. Blocks that are freed and allocated again before the
// slots are used up do not count. To give them a chance, too, each tick of the
// clock offers some to the guard: Malloc sees no shards until offerBlocks have
// taken the slow path and been counted one by one.
//
//	|wall|slot 0|wall|slot 1|wall| …
type sampler struct {
	rate     int64
	slots    int
	interval time.Duration
	batch    int64        // blocks that a shard counts by itself
	due      atomic.Int64 // blocks until the next sample, that one included
	offered  atomic.Int64 // blocks until Malloc sees the shards again; not above 0: it does
	off      atomic.Bool  // for good

	guardFigures
	sampled atomic.Uint64 // blocks that went to a slot

	// Under Heap.mu.
	source backing.Source
	walls  backing.Protector // nil if the source cannot protect
	mem    []byte
	slot   [maxSlots]sampledSlot
	free   []int // slots, those that were freed first in front
	last   time.Time
}

type sampledSlot struct {
	guard.Block
	reported bool
}

func newSampler(cfg *Sample) *sampler {
	s := &sampler{rate: min(int64(cfg.Rate), maxRate), slots: cfg.Slots, interval: cfg.Interval}
	if s.rate <= 0 {
		s.rate = defaultRate
	}
	if s.slots <= 0 || s.slots > maxSlots {
		s.slots = maxSlots
	}
	if s.interval == 0 {
		s.interval = defaultInterval
	}
	s.batch = max(1, s.rate/64)
	s.source = backing.Mmap()
	s.due.Store(1)
	s.again()
	return s
}

// drop gives back the slots of a heap that is garbage, unless there are live
// bytes in them: somebody may still use them.
func (s *sampler) drop() {
	if s.mem == nil {
		return
	}
	for i := range s.slot {
		if s.slot[i].Left > 0 {
			return
		}
	}
	// Nobody is left to tell.
	_ = s.source.Unmap(s.mem)
}

// again sets when the next sample is due: at random, the rate on average, so
// that no rhythm of the program hides a block from it.
func (s *sampler) again() { s.due.Add(rand.Int64N(2*s.rate - 1)) }

// isDue says whether the next block is to be sampled, if it has n bytes.
func (s *sampler) isDue(n int) bool {
	return s.due.Load() <= 1 && !s.off.Load() && n <= slotBytes
}

// wants says whether a request that came to the slow path is the one to sample. The
// last one of those that were offered ends the offer.
func (h *Heap) wants(n int) bool {
	s := h.sampler
	yes := s.isDue(n)
	if s.offered.Load() > 0 {
		s.due.Add(-1)
		if s.offered.Add(-1) == 0 {
			h.mu.Lock()
			h.resume()
			h.arm()
			h.mu.Unlock()
		}
	}
	return yes
}

// offer has the next blocks come to the slow path, whatever slots there are. It
// stands until they come, also while the clock is at rest. Under mu.
func (h *Heap) offer() {
	if h.set.Load() != nil && !h.sampler.off.Load() {
		h.sampler.offered.Store(offerBlocks)
		h.resume()
	}
}

// sampleMalloc serves such a request, nil if it cannot.
func (h *Heap) sampleMalloc(n int) []byte {
	h.sampler.again()
	h.mu.Lock()
	b := h.sample(n)
	_ = h.unlock(nil)
	return b
}

// sample takes a slot. Under mu.
func (h *Heap) sample(n int) []byte {
	s := h.sampler
	now := time.Now()
	if h.closed || now.Sub(s.last) < s.interval || s.mem == nil && !h.mapSlots() || len(s.free) == 0 {
		return nil
	}
	i := s.free[0]
	mem := s.bytes(i)
	if s.walls != nil && s.walls.Unprotect(mem) != nil {
		h.stopSampling()
		return nil
	}
	s.free = s.free[1:]
	s.last = now
	// At the end of the slot an overrun faults at once, at the front an underrun.
	start := 0
	if rand.IntN(4) > 0 {
		start = (slotBytes - n) &^ (slotAlign - 1)
	}
	from, to := start&^(pageSize-1), min(start+n+redZone, slotBytes)
	s.slot[i] = sampledSlot{Block: guard.Watch(mem[from:to:to], start-from, n, guard.Callers(sampleDepth))}
	h.malloced += uint64(n)
	s.sampled.Add(1)
	return s.slot[i].Bytes()
}

// bytes is the memory of slot i.
func (s *sampler) bytes(i int) []byte {
	at := wallBytes + i*(slotBytes+wallBytes)
	return s.mem[at : at+slotBytes]
}

// mapSlots makes the slots, all inaccessible, or switches the guard off. Under
// mu.
func (h *Heap) mapSlots() bool {
	s := h.sampler
	size := wallBytes + s.slots*(slotBytes+wallBytes)
	if size > h.room() {
		h.stopSampling()
		return false
	}
	mem, err := s.source.Map(size)
	if err != nil {
		h.stopSampling()
		return false
	}
	h.guards += size
	h.notePeak()
	// Without walls, as under the race detector, the red zones remain.
	if p, ok := s.source.(backing.Protector); ok {
		if err := p.Protect(mem); err == nil {
			s.walls = p
		} else if !errors.Is(err, errors.ErrUnsupported) {
			h.buryGuards(mem, s.source)
			h.stopSampling()
			return false
		}
	}
	s.mem = mem
	for i := range s.slots {
		s.free = append(s.free, i)
	}
	return true
}

// stopSampling switches the guard off, for good. Under mu.
func (h *Heap) stopSampling() {
	h.sampler.off.Store(true)
	h.sampler.unguarded.Add(1)
}

// at is the index of the slot whose block, in use or not, has the byte at addr; ok is
// false if there is none. Under mu.
func (s *sampler) at(addr uintptr) (i int, ok bool) {
	if s.mem == nil {
		return 0, false
	}
	at := addr - uintptr(unsafe.Pointer(unsafe.SliceData(s.mem)))
	if at >= uintptr(len(s.mem)) || at < wallBytes {
		return 0, false
	}
	i = int(at-wallBytes) / (slotBytes + wallBytes)
	return i, s.slot[i].Mem != nil && s.slot[i].Holds(addr)
}

// beside is the block of the slot that addr is in or, if it is in a wall, nearest to;
// nil if that had none.
func (s *sampler) beside(addr uintptr) *guard.Block {
	// Safety: used as a number only.
	at := addr - uintptr(unsafe.Pointer(unsafe.SliceData(s.mem)))
	if at >= uintptr(len(s.mem)) {
		return nil
	}
	i := max(int(at)-wallBytes/2, 0) / (slotBytes + wallBytes)
	if b := &s.slot[min(i, s.slots-1)].Block; b.Mem != nil {
		return b
	}
	return nil
}

// sampleFree frees b, which is in no chunk, if it is in a slot. It is called
// with mu held, and lets go of it. Of the damage and the refused frees of a block it tells
// the first; the function for misuse gets every refused free from the caller.
func (h *Heap) sampleFree(b []byte, addr uintptr) error {
	s := h.sampler
	i, ok := s.at(addr)
	if !ok {
		return h.unlock(h.misuse(h.notOwned(), b))
	}
	slot := &s.slot[i]
	var damage error
	_, _, err := slot.Free(addr, len(b), guard.Callers(sampleDepth))
	if err != nil {
		err = h.misuse(err, b)
	} else {
		h.freed += uint64(len(b))
		if damage = slot.CheckAll(); damage != nil {
			s.damaged.Add(1)
		}
		if slot.Left == 0 {
			h.releaseSlot(i)
		}
	}
	first := !slot.reported
	slot.reported = slot.reported || damage != nil
	_ = h.unlock(nil)
	if first && damage != nil {
		h.tell(damage)
	}
	if first && err != nil && h.cfg.Misuse == nil {
		printReport(err)
	}
	return err
}

// tell hands over a report, or prints it if nobody asked for reports.
func (h *Heap) tell(report error) {
	if h.cfg.Misuse != nil {
		h.cfg.Misuse(report)
	} else {
		printReport(report)
	}
}

// releaseSlot puts a wall around a slot without live bytes, and puts it behind
// those that were freed before. Under mu.
func (h *Heap) releaseSlot(i int) {
	s := h.sampler
	if s.walls != nil {
		mem := s.bytes(i)
		// A page or two stay in memory: to give them back and to have others
		// mapped costs as much as all the rest of a sample.
		if len(s.slot[i].Mem) > keptBytes {
			_ = s.source.Release(mem)
		}
		if s.walls.Protect(mem) != nil {
			h.stopSampling()
			return
		}
	}
	s.free = append(s.free, i)
}

// resetSamples frees every slot; unlock unmaps them. Under mu.
func (h *Heap) resetSamples() {
	s := h.sampler
	if s.mem != nil {
		h.buryGuards(s.mem, s.source)
		s.mem, s.free, s.slot = nil, nil, [maxSlots]sampledSlot{}
	}
}

// bring tells the guard of the blocks that count. The shard adds them up, so that
// not every refill pays for an atomic instruction.
func (s *shard) bring(g *sampler) {
	if g != nil && s.unsampled >= g.batch {
		g.due.Add(-s.unsampled)
		s.unsampled = 0
	}
}
