package offset

// room is the size of the node's block; negative for node 0.
func (n *avlNode) room() int { return n.end - n.start }

// bestFit is the smallest block of at least size offsets, the lowest of them,
// or 0.
func (t *TwoTree) bestFit(size int) uint32 {
	if size <= 0 {
		return 0
	}
	best := uint32(0)
	for i := t.root[bySize]; i != 0; {
		n := &t.nodes[i]
		if n.room() >= size {
			best, i = i, n.by[bySize].child[0]
		} else {
			i = n.by[bySize].child[1]
		}
	}
	return best
}

// around returns the blocks in front of and behind offset at, and the node that
// one which starts there would hang from: to the right of before if that is it,
// else to the left.
func (t *TwoTree) around(at int) (leaf, before, after uint32) {
	for i := t.root[byOffset]; i != 0; {
		n := &t.nodes[i]
		leaf = i
		if at < n.start {
			after, i = i, n.by[byOffset].child[0]
		} else {
			before, i = i, n.by[byOffset].child[1]
		}
	}
	return leaf, before, after
}

// insertAfter adds block [start, end) behind block i.
func (t *TwoTree) insertAfter(i uint32, start, end int) {
	leaf, before := i, i
	if r := t.nodes[i].by[byOffset].child[1]; r != 0 {
		for leaf = r; t.nodes[leaf].by[byOffset].child[0] != 0; {
			leaf = t.nodes[leaf].by[byOffset].child[0]
		}
	}
	t.insert(start, end, leaf, before)
}

// insert adds block [start, end), in the tree by offset as a child of leaf, to
// the right if leaf is before, the block in front of it.
func (t *TwoTree) insert(start, end int, leaf, before uint32) uint32 {
	i := t.newNode()
	t.nodes[i] = avlNode{start: start, end: end}
	right := 0
	if leaf == before {
		right = 1
	}
	t.hang(byOffset, i, leaf, right)
	t.file(i)
	return i
}

// file adds node i to the tree by size and to the ring.
func (t *TwoTree) file(i uint32) {
	nodes := t.nodes
	n := &nodes[i]
	leaf, right := uint32(0), 0
	for at := t.root[bySize]; at != 0; {
		leaf, right = at, 0
		if nodes[at].less(n.room(), n.start) {
			right = 1
		}
		at = nodes[at].by[bySize].child[right]
	}
	n.prev, n.next = nodes[leaf].prev, leaf
	if right == 1 {
		n.prev, n.next = leaf, nodes[leaf].next
	}
	nodes[n.prev].next, nodes[n.next].prev = i, i
	t.hang(bySize, i, leaf, right)
}

// unfile takes node i out of the tree by size and out of the ring.
func (t *TwoTree) unfile(i uint32) {
	n := &t.nodes[i]
	t.nodes[n.prev].next, t.nodes[n.next].prev = n.next, n.prev
	t.unhang(bySize, i)
}

// less reports whether the node comes before a block of size offsets at start
// in the order by size.
func (n *avlNode) less(size, start int) bool {
	room := n.room()
	return room < size || room == size && n.start < start
}

// resize makes block i [start, end), between the same neighbours by offset.
func (t *TwoTree) resize(i uint32, start, end int) {
	nodes := t.nodes
	n := &nodes[i]
	size := end - start
	inOrder := (n.prev == 0 || nodes[n.prev].less(size, start)) && (n.next == 0 || !nodes[n.next].less(size, start))
	if inOrder {
		n.start, n.end = start, end
		return
	}
	t.unfile(i)
	n.start, n.end = start, end
	t.file(i)
}

// remove takes node i out of everything and makes it spare.
func (t *TwoTree) remove(i uint32) {
	t.unfile(i)
	t.unhang(byOffset, i)
	t.nodes[i].next = t.spare
	t.spare = i
}

// newNode takes a node from the spare list or the end of the table.
func (t *TwoTree) newNode() uint32 {
	if i := t.spare; i != 0 {
		t.spare = t.nodes[i].next
		return i
	}
	t.nodes = append(t.nodes, avlNode{})
	return uint32(len(t.nodes) - 1)
}
