package offset

import (
	"math"
	"math/bits"
)

// freePart frees a range that is not a plain whole block, or says why not.
//
// A range whose bytes are all live lies in one block, or in a few joined ones:
// a joined chain alternates with granules that have a hole, and a range may
// reach into such a granule but not across it. So the loops below run at most
// three times.
func (t *TLSF) freePart(start, size int) error {
	if err := outside(start, size, t.Size()); err != nil {
		return err
	}
	end := start + size
	if err := t.checkLive(start, end); err != nil {
		return err
	}
	for pos := start; pos < end; {
		i := t.blockAt(pos)
		n := &t.nodes[i]
		stop := min(end, int(n.start+n.size)<<(t.shift&63))
		t.freeWithin(i, pos, stop)
		pos = stop
	}
	t.free += size
	return nil
}

// outside is the reason why [start, start+size) is no range of offsets in
// [0, limit), nil if it is one.
func outside(start, size, limit int) error {
	switch {
	case size <= 0:
		return invalidSize(start, size)
	case start >= 0 && start <= limit && size <= limit-start:
		return nil
	}
	end := start + size
	if end < start {
		end = maxInt
	}
	return &RangeError{Range: Block{start, end}, Err: ErrNotOwned}
}

const maxInt = math.MaxInt

// blockAt is the block, live or free, that holds offset pos.
func (t *TLSF) blockAt(pos int) uint32 {
	return t.tags[t.starts.floor(uint(pos)>>(t.shift&63))]
}

// At returns the run of live or free bytes that holds offset pos, as [TLSF.All] yields
// it, and whether it is live. If pos is not in [0, Size()) the block is empty. O(1),
// never allocates.
func (t *TLSF) At(pos int) (b Block, live bool) {
	if pos < 0 || pos >= t.Size() {
		return Block{}, false
	}
	if b, live = t.runAt(pos); live {
		return b, true
	}
	// Free blocks do not touch and live ones hold a live byte: two steps to
	// either side at most.
	for b.Start > 0 {
		next, live := t.runAt(b.Start - 1)
		if live {
			break
		}
		b.Start = next.Start
	}
	for b.End < t.Size() {
		next, live := t.runAt(b.End)
		if live {
			break
		}
		b.End = next.End
	}
	return b, false
}

// runAt is the part of At's run that lies in the block of pos.
func (t *TLSF) runAt(pos int) (b Block, live bool) {
	if countSteps {
		stepCount++
	}
	i := t.blockAt(pos)
	n := &t.nodes[i]
	size := n.size &^ freeBit
	b = Block{int(n.start) << (t.shift & 63), int(n.start+size) << (t.shift & 63)}
	if n.size >= freeBit {
		return b, false
	}
	if n.prev&holed == 0 {
		lo, hi := t.liveRange(i)
		switch {
		case pos < lo:
			return Block{b.Start, lo}, false
		case pos >= hi:
			return Block{hi, b.End}, false
		}
		return Block{lo, hi}, true
	}
	run, bit := t.holes[n.start], pos-b.Start
	if live = run>>bit&1 != 0; !live {
		run = ^run
	}
	hi := min(bit+bits.TrailingZeros64(^(run>>bit)), t.Granule())
	lo := bit + 1 - bits.LeadingZeros64(^(run << (63 - bit)))
	return Block{b.Start + lo, b.Start + hi}, live
}

// checkLive returns the reason why [start, end) cannot be freed, if any.
func (t *TLSF) checkLive(start, end int) error {
	for pos := start; ; {
		if countSteps {
			stepCount++
		}
		i := t.blockAt(pos)
		n := &t.nodes[i]
		last := int(n.start+n.size) << (t.shift & 63)
		if n.size >= freeBit {
			return t.overlaps(start, end, pos)
		}
		if dead := t.deadIn(i, pos, min(end, last)); dead >= 0 {
			return t.overlaps(start, end, dead)
		}
		if end <= last {
			return nil
		}
		pos = last
		if n.prev&joinRight != 0 {
			continue
		}
		if i = t.tags[pos>>(t.shift&63)]; t.nodes[i].size >= freeBit || t.deadIn(i, pos, pos+1) >= 0 {
			return t.overlaps(start, end, pos)
		}
		return &RangeError{Range: Block{start, end}, Err: ErrNotOwned}
	}
}

// overlaps is the refusal of [start, end), in which pos is not live.
func (t *TLSF) overlaps(start, end, pos int) error {
	dead, _ := t.At(pos)
	return &RangeError{Block{start, end}, dead, ErrDoubleFree}
}

// deadIn is the first dead byte of live block i in [lo, hi), -1 if there is none.
func (t *TLSF) deadIn(i uint32, lo, hi int) int {
	n := &t.nodes[i]
	if n.prev&holed == 0 {
		liveLo, liveHi := t.liveRange(i)
		switch {
		case lo < liveLo:
			return lo
		case hi > liveHi:
			return max(lo, liveHi)
		}
		return -1
	}
	if dead := t.mask(lo, hi) &^ t.holes[n.start]; dead != 0 {
		return int(n.start)<<(t.shift&63) + bits.TrailingZeros64(dead)
	}
	return -1
}

// mask is the bytes [lo, hi) as bits of the granule they lie in.
func (t *TLSF) mask(lo, hi int) uint64 {
	g := t.Granule() - 1
	return (1<<(hi-lo) - 1) << (lo & g)
}

// freeWithin frees [lo, hi), live bytes of live block i. What it leaves of the
// block is one block, two, or a granule with a hole between two joined blocks.
func (t *TLSF) freeWithin(i uint32, lo, hi int) {
	if t.nodes[i].prev&holed != 0 {
		t.setLive(i, t.holes[t.nodes[i].start]&^t.mask(lo, hi))
		return
	}
	liveLo, liveHi := t.liveRange(i)
	up := uint32((uint(lo) + uint(t.Granule()) - 1) >> (t.shift & 63)) // first granule from lo on
	down := uint32(uint(hi) >> (t.shift & 63))                         // the granule that holds hi
	switch {
	case lo == liveLo && hi == liveHi:
		t.cutLeft(i)
		t.cutRight(i)
		t.release(i)
	case lo == liveLo:
		t.cutLeft(i)
		if down > t.nodes[i].start {
			k := t.splitNode(i, down)
			t.release(i)
			i = k
		}
		n := &t.nodes[i]
		n.prev = n.prev&^skipBits | uint32(hi&(t.Granule()-1))<<skipShift
	case hi == liveHi:
		t.cutRight(i)
		if n := &t.nodes[i]; up < n.start+n.size {
			t.release(t.splitNode(i, up))
		}
		n := &t.nodes[i]
		n.prev = n.prev&^slackBits | uint32(-lo&(t.Granule()-1))
	case up <= down:
		k := t.splitNode(i, down)
		t.nodes[k].prev |= uint32(hi&(t.Granule()-1)) << skipShift
		if up < down {
			t.release(t.splitNode(i, up))
		}
		t.nodes[i].prev |= uint32(-lo & (t.Granule() - 1))
	default:
		t.punch(i, down, t.mask(lo, hi))
	}
}

// punch makes a hole in granule g of block i: g becomes a block of its own,
// joined to what is left of the block on either side.
func (t *TLSF) punch(i, g uint32, hole uint64) {
	if n := &t.nodes[i]; g > n.start {
		k := t.splitNode(i, g)
		t.nodes[i].prev |= joinRight
		t.nodes[k].prev |= joinLeft
		i = k
	}
	if t.nodes[i].size > 1 {
		k := t.splitNode(i, g+1)
		t.nodes[i].prev |= joinRight
		t.nodes[k].prev |= joinLeft
	}
	lo, hi := t.liveRange(i)
	t.nodes[i].prev = t.nodes[i].prev&(joinLeft|joinRight) | holed
	if t.holes == nil {
		t.holes = make(map[uint32]uint64)
	}
	t.holes[g] = t.mask(lo, hi) &^ hole
}

// setLive gives block i, one granule with a hole, the live bytes of the mask, what
// is left of two runs or more: at least one run, and if just one, it is a plain block.
func (t *TLSF) setLive(i uint32, live uint64) {
	n := &t.nodes[i]
	from, to := bits.TrailingZeros64(live), bits.Len64(live)
	if from > 0 {
		t.cutLeft(i)
	}
	if to < t.Granule() {
		t.cutRight(i)
	}
	if bits.OnesCount64(live) != to-from {
		t.holes[n.start] = live
		return
	}
	delete(t.holes, n.start)
	n.prev = n.prev&(joinLeft|joinRight) | uint32(from)<<skipShift | uint32(t.Granule()-to)
}

// cutLeft ends the junction of block i with the block on its left.
func (t *TLSF) cutLeft(i uint32) {
	n := &t.nodes[i]
	if n.prev&joinLeft != 0 {
		n.prev &^= joinLeft
		t.nodes[t.tags[t.starts.floor(uint(n.start)-1)]].prev &^= joinRight
	}
}

// cutRight ends the junction of block i with the block on its right.
func (t *TLSF) cutRight(i uint32) {
	n := &t.nodes[i]
	if n.prev&joinRight != 0 {
		n.prev &^= joinRight
		t.nodes[t.tags[n.start+n.size]].prev &^= joinLeft
	}
}
