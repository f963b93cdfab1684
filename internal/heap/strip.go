package heap

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// A strip is a span in which blocks of any length are cut one after the other, at
// granules of the chunk's placement. It is for short reads: blocks whose end is
// freed at once. If that was the block cut last, the next one begins where it now
// ends, so reads lie close together, and allocating, trimming and freeing them
// takes neither a lock nor a pin.
//
//	granule   0     1     2     3     4     5     6     7     8 …
//	         |  block A  |     |  block B |  not cut yet
//	records    A     free  free  B    free  free  free …
//	                             last       carved
//
// In a strip a slot is a granule; the next block is cut at carved, up to end. The
// record of a block is that of its first granule; all others say free. last is
// where the block that was cut last starts, or carved if that block was freed.
// Free bytes before carved cannot be used until the strip is empty, when it
// starts over, or melts. The bitmap begins marks the granules where blocks begin,
// so that the block of a part is found without walking over the records. The
// accounting equation:
//
//	used == blocks, live or queued
//
// A block may also be freed in parts (parts.go). It remains a block until its last
// byte is freed.
//
// If goroutines wait between allocating and trimming, others cut blocks behind
// theirs, and the trimmed ends are lost. If that happens to one block in eight,
// blocks of the class are placed one by one for a while.
//
// A shard cuts from one strip at a time. Strips without room are in its list of
// spans, and become empty, without a lock, as their reads are freed in turn.
// Before the heap grows, those melt that hold few of the blocks that they ever held, or
// little of each.

const (
	minStrip   = maxSlot  // bytes; the others are twice and four times as large
	stripSizes = 3        // maxSpan is the largest
	maxCut     = 32 << 10 // bytes: the longest block that is cut, so that little is lost at the end
	cutWait    = 4096     // blocks of a class that are cut, none of them freed in part, before its next span of slots
	dryWait    = 64       // blocks that are placed one by one before a strip is looked for again
	lostLoss   = 8        // weight of an end that was lost, over one that was not
	maxLost    = 256      // where cutting ends
	deadPart   = 4        // a strip melts if it holds one in so many of the blocks that it held,
	deadBytes  = 8        // or of its bytes
	meltBatch  = 32       // strips that melt in one go: in as many there is room for a block, and others wait
	lookBatch  = 64       // strips that are looked at in one go by a shard for itself,
	pauseBatch = 1024     // and while all are paused
)

func granules(n uint32) uint32 { return (n + chunkUnit - 1) / chunkUnit }

// newStrip makes a strip. Its size never changes: who has loaded where it was before it
// served anew must not take what lies behind that for a part of it.
func newStrip(bytes int) *span {
	n := bytes / chunkUnit
	sp := &span{
		recs:   make([]uint32, n),
		bits:   make([]uint32, n/32),
		begins: make([]uint64, n/64),
		size:   chunkUnit,
		limit:  uint32(bytes),
		end:    uint32(n),
		magic:  1 << magicShift / chunkUnit,
		class:  stripClass,
	}
	sp.owner.Store(nobody)
	return sp
}

// room says whether a block of n bytes can be cut from sp.
func (sp *span) room(n int) bool { return granules(uint32(n)) <= sp.end-sp.carved }

// cut cuts n bytes, for which there is room.
func (sp *span) cut(n int) []byte {
	i := sp.carved
	sp.recs[i] = stateCut | uint32(n)
	sp.begins[i/64] |= 1 << (i % 64)
	sp.last, sp.carved = i, i+granules(uint32(n))
	sp.left++
	// Safety: the granules from i to carved lie inside the span.
	return (*[maxSlot]byte)(unsafe.Add(sp.base, i*chunkUnit))[:n:n]
}

// uncut frees the block at granule i.
func (sp *span) uncut(i uint32) {
	sp.recs[i] = stateFree
	sp.begins[i/64] &^= 1 << (i % 64)
	sp.left--
	switch {
	case sp.used() == 0:
		sp.last, sp.carved, sp.most = 0, 0, 0
	case i == sp.last:
		sp.carved = i
	}
}

// begun is where the block around granule i begins, if it is not the last one: the
// last bit of set, which is word w; elsewhere if there is no block. To count up to the
// bit is for the caller: begun would not be inlined where it takes more than one instruction.
func (sp *span) begun(i uint32) (w uint32, set uint64) {
	w = i / 64
	set = atomic.LoadUint64(&sp.begins[w]) & (2<<(i%64) - 1)
	for set == 0 && w > 0 && i/64-w < maxCut/chunkUnit/64 { // no block reaches further
		w--
		set = atomic.LoadUint64(&sp.begins[w])
	}
	return w, set
}

// noteTrim notes that a block of n bytes was trimmed, and whether it was the one
// cut last: if so, more blocks of its class are worth cutting, else the end is
// lost.
func (s *shard) noteTrim(n uint32, last bool) {
	switch left := s.cutsOf(n); {
	case *left == 0:
	case last:
		*left = cutWait
		s.lost -= min(s.lost, 1)
	default:
		if s.lost += lostLoss; s.lost >= maxLost {
			*left = 1
		}
	}
}

// noteParts notes that a block of n bytes is freed in parts: more blocks of its
// class are worth cutting.
func (s *shard) noteParts(n uint32) {
	if left := s.cutsOf(n); *left > 0 {
		*left = cutWait
	}
}

// cutsOf is the counter of how many blocks of the class of n bytes may be cut;
// small ones never are.
func (s *shard) cutsOf(n uint32) *uint32 {
	c := classOf[(n+slotAlign-1)/slotAlign]
	if c < small {
		return &s.cuts[len(s.cuts)-1] // no class is there
	}
	return &s.cuts[c-small]
}

// cut takes n bytes from the strip of the P's shard; nil if the shard does
// not cut blocks of this length, if the strip has no room, or if the block is
// to be sampled.
//
//go:nosplit
//go:noinline
func (h *Heap) cut(n int) []byte {
	if n <= maxSmall || n > maxCut || h == nil {
		return nil
	}
	s := h.enter(here())
	c := classOf[(n+slotAlign-1)/slotAlign] - small
	if s.cuts[c&31] <= 1 {
		leave(s)
		return nil
	}
	if sp := s.cur[stripClass]; sp.room(n) && (h.sampler == nil || s.unsampled < h.sampler.batch) {
		b := s.cut(sp, n, int(c))
		leave(s)
		return b
	}
	leave(s)
	return h.cutSlow(n)
}

// cutSlow is cut for the first block of a strip, and for when the sampled guard
// may be due.
//
//go:noinline
func (h *Heap) cutSlow(n int) []byte {
	if g := h.sampler; g != nil && g.isDue(n) {
		return nil // watchedMalloc asks again, and counts
	}
	s, c := h.pin(), class(n)-small
	if s.cuts[c] <= 1 || !s.cur[stripClass].room(n) && !s.nextStrip(n) {
		unpin(s)
		return nil
	}
	b := s.cut(s.cur[stripClass], n, c)
	s.bring(h.sampler)
	unpin(s)
	return b
}

// cut takes n bytes, of class small+c, from sp, the shard's strip.
func (s *shard) cut(sp *span, n, c int) []byte {
	s.cuts[c]--
	s.unsampled++
	s.malloced += uint64(n)
	return sp.cut(n)
}

// nextStrip finds room for n bytes in the shard's own strips: in one that is
// empty or that other shards' frees have emptied; false if there is none.
func (s *shard) nextStrip(n int) bool {
	l := &s.spans[stripClass]
	for {
		more := s.gather()
		if s.cur[stripClass].room(n) {
			return true
		}
		if sp := l.back; sp != nil && sp.used() == 0 {
			l.remove(sp)
			s.idle -= sp.units()
			s.setCur(stripClass, sp)
			return true
		}
		if !more {
			return false
		}
	}
}

// placeCut is cut with a new strip if none has room, or else a block placed by
// itself, at a multiple of align up to chunkUnit, if there is no room for a strip. ok is
// false if blocks of class c are not cut. Under mu.
func (h *Heap) placeCut(n, c, align int) (b []byte, err error, ok bool) {
	for {
		// The goroutine may be on another P each time around.
		s := h.pinLocked()
		switch left := &s.cuts[c-small]; {
		case *left == 1:
			*left, h.parted[c-small] = 0, false
			if s.lost >= maxLost {
				s.lost, h.wait[c] = 0, meltWait
			}
		case *left == 0 && h.parted[c-small]:
			*left = cutWait
		}
		switch {
		case s.cuts[c-small] == 0:
			unpin(s)
			return nil, nil, false
		case s.cur[stripClass].room(n) || s.nextStrip(n):
			b = s.cut(s.cur[stripClass], n, c-small)
			s.bring(h.sampler)
			unpin(s)
			return b, nil, true
		}
		unpin(s)
		sp := h.placeStrip()
		if sp == nil {
			mapped := h.mapped
			if b, err = h.placeBlock(n, align); h.mapped != mapped {
				h.dry = 0
			}
			return b, err, true
		}
		s = h.pinLocked()
		sp.owner.Store(s)
		s.setCur(stripClass, sp)
		unpin(s)
	}
}

// placeStrip takes a strip from mapped chunks; nil if there is no room: then the
// gaps between other blocks serve a single block, and the heap need not grow.
// Under mu.
func (h *Heap) placeStrip() *span {
	if h.dry > 0 {
		h.dry--
		return nil
	}
	most := maxSpan
	for most > minStrip && most > h.mapped/16 {
		most /= 2
	}
	for melted := false; ; melted = true {
		for size := most; size >= minStrip; size /= 2 {
			if c, off := h.takeMapped(size, spanUnit); c != nil {
				sp := takeSpare(h.spares(stripClass, size))
				if sp == nil {
					sp = newStrip(size)
				}
				h.enterSpan(sp, c, off)
				return sp
			}
		}
		if melted || !h.meltDead() {
			h.dry = dryWait
			return nil
		}
	}
}

// meltDead melts some of the strips of the P's shard that are mostly dead, and says
// whether there was one. It goes on behind those that were looked at last, and so looks at
// no more than one strip for each block, however many there are. Under mu.
func (h *Heap) meltDead() bool {
	s := h.pinLocked()
	if sp := s.spans[stripClass].front; sp != nil && sp.pass == h.pass {
		h.pass++
	}
	left := batch{lookBatch, meltBatch}
	dead := h.freezeDead(s, nil, &left)
	unpin(s)
	h.dissolve(dead)
	return dead != nil
}

// batch is how many strips may be looked at, and melt, in one go.
type batch struct{ looks, melts int }

func (b batch) done() bool { return b.looks == 0 || b.melts == 0 }

// freezeDead freezes strips of s that are mostly dead, of those that were not looked at in
// this pass, and links them through next, in front of dead. What is looked at and stays
// goes to the end of the list. Under mu, pinned to s or with the heap paused.
func (h *Heap) freezeDead(s *shard, dead *span, left *batch) *span {
	l := &s.spans[stripClass]
	for !left.done() {
		sp := l.front
		if sp == nil || sp.used() == 0 || sp.pass == h.pass {
			break
		}
		left.looks--
		sp.pass = h.pass
		if !sp.mostlyDead() {
			l.remove(sp)
			l.push(sp)
			continue
		}
		left.melts--
		h.freeze(s, sp)
		sp.next, dead = dead, sp
	}
	return dead
}

// mostlyDead says whether the strip holds little: few of the most blocks that it ever held,
// or few bytes. By the owner, or with the heap paused; others may free what is in it.
func (sp *span) mostlyDead() bool {
	if sp.used()*deadPart <= sp.most {
		return true
	}
	live := uint32(0)
	for w, set := range sp.begins {
		for ; set != 0; set &= set - 1 {
			switch r := atomic.LoadUint32(&sp.recs[w*64+bits.TrailingZeros64(set)]); r & stateMask {
			case stateCut:
				live += r &^ stateMask
			case stateParts:
				live += r & leftMask
			}
			if live > sp.end*chunkUnit/deadBytes {
				return false
			}
		}
	}
	return true
}
