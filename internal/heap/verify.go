package heap

import (
	"fmt"
	"sync/atomic"
)

// Verify checks every invariant of the heap and returns the first that does
// not hold. It pauses the heap; O(everything).
func (h *Heap) Verify() error {
	h.mu.Lock()
	h.pause()
	err := h.verify()
	h.resume()
	if err == nil {
		err = h.guardCheck()
	}
	return h.unlock(err)
}

func (h *Heap) verify() error {
	mapped, chunks, empty, regions := 0, 0, 0, 0
	spans := make(map[*span]bool)
	for i, c := range h.chunks {
		if c == nil {
			if h.fits.node[h.fits.leaves()+i] != 0 {
				return fmt.Errorf("heap: no chunk %d, but the tourney has room there", i)
			}
			continue
		}
		if c.index != i {
			return fmt.Errorf("heap: chunk %d believes to be %d", i, c.index)
		}
		if err := c.place.Verify(); err != nil {
			return fmt.Errorf("heap: chunk %d: %w", i, err)
		}
		if got, want := h.fits.node[h.fits.leaves()+i], c.place.Fits(); got != want && c != h.last {
			return fmt.Errorf("heap: chunk %d fits %d, the tourney says %d", i, want, got)
		}
		for at := 0; at < len(c.mem)+1<<tableShift; at += 1 << tableShift {
			if e := h.table.find(c.addr() + uintptr(min(at, len(c.mem)-1))); e == nil || e.c != c {
				return fmt.Errorf("heap: chunk %d is not in the table at %d", i, at)
			}
		}
		regions += c.regions()
		mapped += len(c.raw)
		chunks++
		if c.empty() {
			if c.emptyAt >= h.nempty || h.maps.empty[c.emptyAt] != c {
				return fmt.Errorf("heap: chunk %d is not among the empty ones", i)
			}
			empty++
		}
		if err := c.verifySpans(h.spans.Load(), spans); err != nil {
			return fmt.Errorf("heap: chunk %d: %w", i, err)
		}
	}
	for i := range h.guess.entries() {
		if sp := h.guess.entries()[i].Load(); sp != exhausted && !spans[sp] {
			return fmt.Errorf("heap: guess %d is a span that is none: %v", i, sp)
		}
	}
	if mapped != h.mapped || chunks != h.nchunks || empty != h.nempty || len(spans) != h.nspans {
		return fmt.Errorf("heap: %d bytes, %d chunks, %d empty, %d spans, counted %d, %d, %d and %d",
			mapped, chunks, empty, len(spans), h.mapped, h.nchunks, h.nempty, h.nspans)
	}
	if regions != h.table.taken {
		return fmt.Errorf("heap: chunks reach into %d regions, the table has %d", regions, h.table.taken)
	}
	if h.sharing != nil {
		var spanned [kinds]int
		for sp := range spans {
			spanned[sp.class] += sp.bytes()
		}
		if spanned != h.spanned {
			return fmt.Errorf("heap: the spans of each class have %v bytes, counted %v", spanned, h.spanned)
		}
	}
	for i := range h.fits.leaves() {
		if i > 0 && h.fits.node[i] != max(h.fits.node[2*i], h.fits.node[2*i+1]) {
			return fmt.Errorf("heap: tourney node %d is not the larger of its children", i)
		}
	}
	return h.verifyShards(spans)
}

// verifySpans checks the map of spans and collects the spans of c.
func (c *chunk) verifySpans(m *spanMap, spans map[*span]bool) error {
	count, bytes := 0, 0
	for off := 0; off < len(c.mem); off += spanUnit {
		place := m.place(c.addr() + uintptr(off))
		if place == nil || place.Load() == nil {
			continue
		}
		sp := place.Load()
		if sp.chunk != c || uint(off-sp.off) >= uint(sp.bytes()) || uintptr(sp.base) != c.addr()+uintptr(sp.off) {
			return fmt.Errorf("the span at %d believes to be at %d", off, sp.off)
		}
		if !spans[sp] {
			spans[sp] = true
			count++
		}
		bytes += spanUnit
	}
	if count != c.nspans || bytes != c.spanned {
		return fmt.Errorf("%d spans of %d bytes, counted %d and %d", count, bytes, c.nspans, c.spanned)
	}
	if c.idle != c.empty() {
		return fmt.Errorf("idle is %v with %d bytes free of %d", c.idle, c.place.FreeBytes(), c.place.Size())
	}
	return nil
}

func (h *Heap) verifyShards(spans map[*span]bool) error {
	listed := make(map[*span]bool)
	for id, s := range h.shardList() {
		idle := 0
		for c := range s.spans {
			var last *span // with live slots
			for sp := s.spans[c].front; sp != nil; sp = sp.next {
				if sp.where != isListed || sp.owner.Load() != s || int(sp.class) != c || sp.full() {
					return fmt.Errorf("heap: shard %d class %d: wrong span in the list: %v", id, c, sp)
				}
				if sp.next != nil && sp.next.prev != sp || listed[sp] {
					return fmt.Errorf("heap: shard %d class %d: broken list at %v", id, c, sp)
				}
				if sp.used() == 0 {
					idle += sp.units()
				} else if last != sp.prev {
					return fmt.Errorf("heap: shard %d class %d: empty span before %v", id, c, sp)
				} else {
					last = sp
				}
				listed[sp] = true
			}
			if live := s.spans[c].live; live != last {
				return fmt.Errorf("heap: shard %d class %d: the last span with live slots is %v, not %v", id, c, last, live)
			}
			sp := s.cur[c]
			if sp != exhausted && (sp.where != isCur || sp.owner.Load() != s || sp != s.cur[sp.class] ||
				int(sp.class) != c && int(sp.class) != hostOf(c)) {
				return fmt.Errorf("heap: shard %d class %d: wrong current span %v", id, c, sp)
			}
		}
		if idle != s.idle {
			return fmt.Errorf("heap: shard %d: %d units idle, counted %d", id, idle, s.idle)
		}
	}
	for sp := range spans {
		if err := sp.verify(); err != nil {
			return fmt.Errorf("heap: %v: %w", sp, err)
		}
		if sp.where == isListed && !listed[sp] {
			return fmt.Errorf("heap: %v is in no list", sp)
		}
		if sp.where == isFull && !sp.full() {
			return fmt.Errorf("heap: %v has free slots and is in no list", sp)
		}
		if due := filedAfter(sp.where, sp.used()); sp.left != due {
			return fmt.Errorf("heap: %v is filed after %d frees, not %d", sp, sp.left, due)
		}
	}
	for sp := range listed {
		if !spans[sp] {
			return fmt.Errorf("heap: %v is listed but not in its chunk's pages", sp)
		}
	}
	return h.verifyStacks(spans)
}

// verifyStacks checks that the spans that count as announced are those that are
// on some shard's stack, be it that of an owner before.
func (h *Heap) verifyStacks(spans map[*span]bool) error {
	announced := make(map[*span]bool)
	for id, s := range h.shardList() {
		for _, sp := range []*span{s.announced, s.remote.Load()} {
			for ; sp != nil; sp = sp.remote {
				if announced[sp] {
					return fmt.Errorf("heap: shard %d: %v is twice on the stacks of remote frees", id, sp)
				}
				announced[sp] = true
			}
		}
	}
	check := func(sp *span) error {
		if on := atomic.LoadUint32(&sp.notified) == 1; on != announced[sp] {
			return fmt.Errorf("heap: %v counts as announced: %v, on a stack: %v", sp, on, !on)
		}
		return nil
	}
	for sp := range spans {
		if err := check(sp); err != nil {
			return err
		}
	}
	if h.sharing == nil {
		return nil
	}
	for _, sp := range h.spare {
		for ; sp != nil; sp = sp.next {
			if err := check(sp); err != nil {
				return err
			}
			if sp.owner.Load() != nobody || sp.used() != 0 || sp.chunk != nil || sp.base != nil {
				return fmt.Errorf("heap: %v is to be placed again, with an owner, blocks or a chunk", sp)
			}
		}
	}
	return nil
}

// shardList is the shards there are. Under mu.
func (h *Heap) shardList() []*shard {
	var all []*shard
	if h.set.Load() != nil {
		for _, s := range h.set.Load().byID {
			if s != noShard {
				all = append(all, s)
			}
		}
	}
	return all
}

// verify checks the records and the accounting equation of a span.
func (sp *span) verify() error {
	if sp.class == stripClass {
		return sp.verifyStrip()
	}
	free := make([]bool, len(sp.recs))
	n := uint32(0)
	for i := sp.head; i != noSlot; i = sp.recs[i] {
		if i >= sp.carved || free[i] || sp.recs[i]&stateMask != stateFree {
			return fmt.Errorf("free list broken at slot %d", i)
		}
		free[i] = true
		n++
	}
	if sp.used()+n != sp.carved || int(sp.carved) > len(sp.recs) {
		return fmt.Errorf("%d used and %d free of %d carved slots", sp.used(), n, sp.carved)
	}
	for i, r := range sp.recs[:sp.carved] {
		switch {
		case free[i]:
		case r&stateMask == stateFree:
			return fmt.Errorf("slot %d is free and not on the list", i)
		case r&stateMask == stateQueue:
			if !sp.posted(uint32(i)) || atomic.LoadUint32(&sp.notified) == 0 {
				return fmt.Errorf("slot %d is queued, but nobody will know", i)
			}
		case lengthOf(r) == 0 || granules(lengthOf(r)) > granules(sp.size):
			return fmt.Errorf("slot %d of %d bytes holds %d", i, sp.size, lengthOf(r))
		}
		if err := sp.verifyParts(uint32(i)); err != nil {
			return err
		}
	}
	return nil
}

func (sp *span) String() string {
	return fmt.Sprintf("span{%d × %d B at %d, used %d, carved %d, where %d}",
		len(sp.recs), sp.size, sp.off, sp.used(), sp.carved, sp.where)
}
