package heap

import (
	"math/bits"
	"sync/atomic"
)

// What other shards free in a span waits in its bitmap until the owner takes it in: see
// doc.go. This is both sides of that.

// drain takes in the slots that other shards freed in this shard's spans.
func (s *shard) drain() {
	for s.gather() {
	}
}

// gatherSlots is after how many slots gather leaves the other spans to the next time, so
// that who waits for one slot does not wait for millions.
const gatherSlots = 1024

// gather is drain for some of the spans; false if there was none.
func (s *shard) gather() bool {
	if s.announced == nil {
		if s.remote.Load() == nil {
			return false
		}
		s.announced = s.remote.Swap(nil)
	}
	for took := 0; s.announced != nil && took < gatherSlots; took++ {
		sp := s.announced
		s.announced, sp.remote = sp.remote, nil
		// From here on the next remote free announces the span again.
		atomic.StoreUint32(&sp.notified, 0)
		switch owner := sp.owner.Load(); owner {
		case s:
			took += s.collect(sp)
		case nobody: // given back meanwhile, so nothing is queued in it
		default:
			owner.announce(sp) // it changed hands meanwhile
		}
	}
	return true
}

// collect moves the queued slots of sp to its free list, and returns how many.
func (s *shard) collect(sp *span) (took int) {
	for w := range sp.bits {
		if atomic.LoadUint32(&sp.bits[w]) == 0 {
			continue
		}
		for set := atomic.SwapUint32(&sp.bits[w], 0); set != 0; set &= set - 1 {
			i := uint32(w*32 + bits.TrailingZeros32(set))
			if atomic.LoadUint32(&sp.recs[i])&stateMask != stateQueue {
				// Both counted its bytes, and how many they were went with the record.
				s.raced++
				continue
			}
			sp.free(i)
			took++
		}
	}
	if took > 0 {
		s.file(sp)
	}
	return took
}

// announce puts sp on the stack of spans to drain, once.
//
//go:noinline
func (s *shard) announce(sp *span) {
	if atomic.LoadUint32(&sp.notified) != 0 || atomic.SwapUint32(&sp.notified, 1) != 0 {
		return
	}
	for {
		top := s.remote.Load()
		sp.remote = top
		if s.remote.CompareAndSwap(top, sp) {
			return
		}
	}
}

// post has the owner of sp take in slot i, which the caller marked as queued. s counts
// the races.
func (s *shard) post(sp *span, i uint32) {
	word, bit := &sp.bits[i/32], uint32(1)<<(i%32)
	// Not atomic.OrUint32, which is a call on most processors.
	for old := atomic.LoadUint32(word); ; old = atomic.LoadUint32(word) {
		if old&bit != 0 {
			s.raced++ // somebody queued it, and the owner freed it, at once
			return
		}
		if atomic.CompareAndSwapUint32(word, old, old|bit) {
			return
		}
	}
}

// pauseGathers is how often gather is called during one pause: of slots of 64 bytes that is
// a fraction of a millisecond, of 16 bytes about one.
const pauseGathers = 32

// gather takes in what was freed remotely, and says whether there may be more. What is
// another shard's by now is passed on to that. Under mu, with the heap paused.
func (h *Heap) gather() (more bool) {
	left := pauseGathers
	for again := true; again; {
		again = false
		for _, s := range h.set.Load().byID {
			for s.gather() {
				if again, left = true, left-1; left == 0 {
					return true
				}
			}
		}
	}
	return false
}
