package offset

// Free gives back [start, start+size): a block, or any part of one in any
// order. Its whole granules merge with the free blocks beside them at once; a
// granule freed in part follows with its last live byte.
//
// It refuses, with a *RangeError and no change of state, a range that holds a
// byte that is not live (ErrDoubleFree, with the free run; the slack behind a
// block counts as free), a range that leaves [0, Size()) or runs from a block
// into the live block behind it (ErrNotOwned), and a size below 1
// (ErrInvalidSize). O(1); allocates only to cut a block in two or more.
func (t *TLSF) Free(start, size int) error {
	if t.FreeBlock(start, size) || t.freeTail(start, size) {
		return nil
	}
	return t.freePart(start, size)
}

// FreeBlock is Free for whole blocks only: it returns false and changes
// nothing if [start, start+size) is not a whole block as Allocate returned it.
// What is left of a block that was freed in part counts as a whole block if it begins
// where a granule does and has no hole. FreeBlock saves callers that must free whole
// blocks a call of [TLSF.BlockSize]. O(1), never allocates.
func (t *TLSF) FreeBlock(start, size int) bool {
	g := uint(start) >> (t.shift & 63)
	nodes, tags := t.nodes, t.tags
	if g >= uint(len(tags)) {
		return false
	}
	i := tags[g]
	if uint(i) >= uint(len(nodes)) {
		return false
	}
	n := &nodes[i]
	// start+size is what the caller says; only when it is this block's end to
	// the byte can the two words of the node agree. The size of a free block
	// is negative here. What follows counts from the caller's words, so that
	// the neighbours are found while the node is still being read.
	whole := (uint(size)-1)>>(t.shift&63) + 1
	if int(int32(n.size)) != int(whole) || uint(n.prev) != -uint(size)&t.low || n.start != uint32(g) || uint(start)&t.low != 0 {
		return false
	}
	if countSteps {
		stepCount++
	}
	t.free += size
	granules, end := uint32(whole), g+whole
	// The tag before g may be stale, but a free block that ends at g is not.
	left := uint32(0)
	if g > 0 {
		if k := tags[g-1]; uint(k) < uint(len(nodes)) && nodes[k].start+nodes[k].size == uint32(g)|freeBit {
			left = k
		}
	}
	if end < uint(len(tags)) {
		k := tags[end]
		if r := &nodes[k]; r.size >= freeBit {
			t.starts.clear(end)
			more := r.size &^ freeBit
			if left == 0 && granules <= more>>6 && tlsfClass(uint(more+granules)) == tlsfClass(uint(more)) {
				// Much the larger, as the rest of a chunk behind what was
				// cut from it: it keeps its place in its list.
				r.start, r.size = uint32(g), r.size+granules
				tags[g] = k
				n.start, n.size, n.next = noStart, 0, t.spare
				t.spare = i
				return true
			}
			t.unlink(nodes, r)
			granules += more
			end += uint(more)
			r.start, r.size, r.next = noStart, 0, t.spare
			t.spare = k
		}
	}
	if left != 0 {
		n.start, n.size, n.next = noStart, 0, t.spare
		t.spare = i
		i, n = left, &nodes[left]
		t.unlink(nodes, n)
		t.starts.clear(g)
		granules += n.size &^ freeBit
	}
	n.size = granules | freeBit
	if end < uint(len(tags)) {
		tags[end-1] = i
	}
	t.link(nodes, i, tlsfClass(uint(granules)))
	return true
}

// release makes all of live block i free, whatever of it was live, and merges
// it with its neighbours. The caller counts the bytes.
func (t *TLSF) release(i uint32) {
	n := &t.nodes[i]
	n.prev = 0
	start, size := int(n.start)<<(t.shift&63), int(n.size)<<(t.shift&63)
	t.FreeBlock(start, size)
	t.free -= size
}

// file makes block i, which is in no list, free. Its neighbours are live.
func (t *TLSF) file(i uint32) {
	n := &t.nodes[i]
	end := n.start + n.size
	if uint(end) < uint(len(t.tags)) {
		t.tags[end-1] = i
	}
	c := tlsfClass(uint(n.size))
	n.size |= freeBit
	t.link(t.nodes, i, c)
}

// splitNode cuts block i, which is in no list, before granule at and returns
// the node of the right part. The dead bytes at either end stay at their end;
// the parts are not joined.
func (t *TLSF) splitNode(i, at uint32) uint32 {
	if countSteps {
		stepCount++
	}
	k := t.newNode()
	t.spare = t.nodes[k].next
	n := &t.nodes[i]
	t.nodes[k] = tlsfNode{start: at, size: n.start + n.size - at, prev: n.prev & (slackBits | joinRight)}
	n.size = at - n.start
	n.prev &= skipBits | joinLeft
	t.growTags(uint(at))
	t.tags[at] = k
	t.starts.set(uint(at))
	return k
}

// Resize changes the length of the live block [start, start+size) to newSize in place.
// Shortening gives the tail back; lengthening takes the slack and then the start of a
// free block behind it. It returns false and changes nothing if the range is not a whole
// block, newSize is not positive, or there is no room. O(1).
func (t *TLSF) Resize(start, size, newSize int) bool {
	i, ok := t.whole(start)
	if !ok || newSize <= 0 {
		return false
	}
	lo, hi := t.liveRange(i)
	if hi-lo != size {
		return false
	}
	if newSize <= size {
		return newSize == size || t.Free(start+newSize, size-newSize) == nil
	}
	n := &t.nodes[i]
	end := uint(n.start + n.size)
	room := int(end<<(t.shift&63)) - start
	var right uint32
	if end < uint(len(t.tags)) {
		if right = t.tags[end]; t.nodes[right].size >= freeBit {
			room += int(t.nodes[right].size&^freeBit) << (t.shift & 63)
		}
	}
	if newSize > room {
		return false
	}
	stop := (uint(start+newSize)-1)>>(t.shift&63) + 1
	if stop > end {
		t.carve(right, uint32(end), uint32(stop-end))
		// carve may have moved the pool; the taken part joins its left.
		n = &t.nodes[i]
		t.starts.clear(end)
		t.dropNode(t.tags[end])
		n.size += uint32(stop - end)
	}
	n.prev = n.prev&^slackBits | uint32(int(stop<<(t.shift&63))-start-newSize)
	t.free -= newSize - size
	return true
}

// BlockSize is the requested length of the live block that starts at start,
// less what was freed at its end. ok is false if no live block starts there.
// O(1).
func (t *TLSF) BlockSize(start int) (size int, ok bool) {
	i, ok := t.whole(start)
	if !ok {
		return 0, false
	}
	lo, hi := t.liveRange(i)
	return hi - lo, true
}

// whole is the live block that starts at start and is no part of a larger one.
func (t *TLSF) whole(start int) (i uint32, ok bool) {
	g := uint(start) >> (t.shift & 63)
	if g >= uint(len(t.tags)) {
		return 0, false
	}
	if i = t.tags[g]; uint(i) >= uint(len(t.nodes)) {
		return 0, false
	}
	n := &t.nodes[i]
	if n.start != uint32(g) || n.size >= freeBit || n.prev&(joinLeft|joinRight|holed) != 0 {
		return 0, false
	}
	lo, _ := t.liveRange(i)
	return i, lo == start
}

// liveRange is the run of live bytes of live block i, holes aside.
func (t *TLSF) liveRange(i uint32) (lo, hi int) {
	n := &t.nodes[i]
	lo = int(n.start)<<(t.shift&63) + int(n.prev&skipBits>>skipShift)
	hi = int(n.start+n.size)<<(t.shift&63) - int(n.prev&slackBits)
	return lo, hi
}
