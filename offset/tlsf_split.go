package offset

// Split cuts the live block around at in two: from then on [start, at) and [at,
// end) are separate blocks, to be freed one by one. It returns false and
// changes nothing if at is not a multiple of the granule or not inside the live
// bytes of a block. O(1); allocates only to grow a table.
func (t *TLSF) Split(at int) bool {
	if at <= 0 || at >= t.Size() || uint(at)&t.low != 0 {
		return false
	}
	i, g := t.blockAt(at), uint32(uint(at)>>(t.shift&63))
	n := &t.nodes[i]
	switch {
	case n.size >= freeBit:
		return false
	case n.start != g:
		t.splitNode(i, g)
		return true
	}
	// A hole beside at has cut the nodes already, and joined them.
	joined := n.prev&joinLeft != 0
	t.cutLeft(i)
	return joined
}
