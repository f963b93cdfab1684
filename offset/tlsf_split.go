package offset

// Split cuts the live block around at in two: from then on [start, at) and [at,
// end) are separate blocks, to be freed one by one. It returns false and
// changes nothing if at is not a multiple of the granule or not inside a live
// block, also if the free of a part has already cut the block there. O(1);
// allocates only to grow a table.
func (t *TLSF) Split(at int) bool {
	if at <= 0 || at >= t.Size() || uint(at)&t.low != 0 {
		return false
	}
	i, g := t.blockAt(at), uint32(uint(at)>>(t.shift&63))
	n := &t.nodes[i]
	if n.size >= freeBit || n.start == g {
		return false
	}
	t.splitNode(i, g)
	return true
}
