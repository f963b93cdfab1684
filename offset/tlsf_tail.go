package offset

// freeTail frees [start, start+size) if that is the end of a plain live block,
// and not all of it: what a short read leaves over. It is what freePart does, in
// one look and without a node for what merges with the free block behind. It
// reports whether it did; false changes nothing.
func (t *TLSF) freeTail(start, size int) bool {
	g := uint(start) >> (t.shift & 63)
	nodes, tags := t.nodes, t.tags
	if size <= 0 || g >= uint(len(tags)) {
		return false
	}
	n := &nodes[tags[t.starts.floor(g)]]
	// prev of a plain live block is its slack alone.
	end := n.start + n.size
	if n.size >= freeBit || n.prev > slackBits || start <= int(n.start)<<(t.shift&63) ||
		int(end)<<(t.shift&63)-int(n.prev)-start != size {
		return false
	}
	cut := uint32((uint(start)-1)>>(t.shift&63)) + 1 // the first granule without a live byte
	if rest := end - cut; rest > 0 && !t.extendFree(cut, end, rest) {
		return false
	}
	n.size, n.prev = cut-n.start, uint32(-uint(start)&t.low)
	t.free += size
	return true
}

// extendFree makes the rest granules [cut, end) free, which end a live block:
// the free block behind them begins at cut then, or they are one of their own.
// False, and nothing is changed, if a table would have to grow.
func (t *TLSF) extendFree(cut, end, rest uint32) bool {
	if countSteps {
		stepCount++
	}
	nodes, tags := t.nodes, t.tags
	if uint(cut) >= uint(len(tags)) {
		return false
	}
	if uint(end) < uint(len(tags)) {
		k := tags[end]
		if r := &nodes[k]; r.size >= freeBit {
			more := uint(r.size &^ freeBit)
			r.start, r.size = cut, r.size+rest
			tags[cut] = k
			t.starts.clear(uint(end))
			t.starts.set(uint(cut))
			if c := tlsfClass(more + uint(rest)); c != tlsfClass(more) {
				t.unlink(nodes, r)
				t.link(nodes, k, c)
			}
			return true
		}
	}
	k := t.spare
	if k == 0 {
		return false
	}
	f := &nodes[k]
	t.spare = f.next
	f.start, f.size = cut, rest|freeBit
	tags[cut] = k
	if uint(end) < uint(len(tags)) {
		tags[end-1] = k
	}
	t.starts.set(uint(cut))
	t.link(nodes, k, tlsfClass(uint(rest)))
	return true
}
