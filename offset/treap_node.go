package offset

// firstFit is the lowest block of at least size offsets below i, whose max must
// be that large.
func (t *SingleTree) firstFit(i uint32, size int) uint32 {
	nodes := t.nodes
	for {
		n := &nodes[i]
		if nodes[n.left].max >= size {
			i = n.left
			continue
		}
		if n.end-n.start >= size {
			return i
		}
		i = n.right
	}
}

// nextFit is the lowest block of at least size offsets behind block i, or 0.
func (t *SingleTree) nextFit(i uint32, size int) uint32 {
	nodes := t.nodes
	for {
		if r := nodes[i].right; nodes[r].max >= size {
			return t.firstFit(r, size)
		}
		child := i
		for i = nodes[i].parent; i != 0 && nodes[i].right == child; i = nodes[i].parent {
			child = i
		}
		if i == 0 || nodes[i].end-nodes[i].start >= size {
			return i
		}
	}
}

// leftmost is the lowest block below i, 0 for 0.
func (t *SingleTree) leftmost(i uint32) uint32 {
	for i != 0 && t.nodes[i].left != 0 {
		i = t.nodes[i].left
	}
	return i
}

// next is the block behind block i, or 0.
func (t *SingleTree) next(i uint32) uint32 {
	if r := t.nodes[i].right; r != 0 {
		return t.leftmost(r)
	}
	child := i
	for i = t.nodes[i].parent; i != 0 && t.nodes[i].right == child; i = t.nodes[i].parent {
		child = i
	}
	return i
}

// shrunk computes max again from node i up, as far as it changes.
func (t *SingleTree) shrunk(i uint32) {
	nodes := t.nodes
	for i != 0 {
		n := &nodes[i]
		m := max(n.end-n.start, nodes[n.left].max, nodes[n.right].max)
		if m == n.max {
			return
		}
		n.max = m
		i = n.parent
	}
}

// grown raises max from node i up to the size of its block.
func (t *SingleTree) grown(i uint32) {
	nodes := t.nodes
	size := nodes[i].end - nodes[i].start
	for i != 0 {
		n := &nodes[i]
		if n.max >= size {
			return
		}
		n.max = size
		i = n.parent
	}
}

// insertAfter adds block [start, end) behind block i.
func (t *SingleTree) insertAfter(i uint32, start, end int) {
	if r := t.nodes[i].right; r != 0 {
		t.insert(start, end, t.leftmost(r), 0)
	} else {
		t.insert(start, end, i, i)
	}
}

// insert adds block [start, end) as a leaf below parent, to the right if parent
// is before, the block in front of it, and turns it up to where its priority
// puts it: two rotations expected.
func (t *SingleTree) insert(start, end int, parent, before uint32) uint32 {
	i := t.newNode()
	nodes := t.nodes
	n := &nodes[i]
	*n = treapNode{start: start, end: end, max: end - start, parent: parent, prio: t.random()}
	switch {
	case parent == 0:
		t.root = i
		return i
	case parent == before:
		nodes[parent].right = i
	default:
		nodes[parent].left = i
	}
	for n.parent != 0 && nodes[n.parent].prio < n.prio {
		t.turnUp(i)
	}
	for p := n.parent; p != 0 && nodes[p].max < n.max; p = nodes[p].parent {
		nodes[p].max = n.max
	}
	return i
}

// turnUp rotates node i over its parent. The max of both is exact after it if
// the parent's was before.
func (t *SingleTree) turnUp(i uint32) {
	nodes := t.nodes
	n := &nodes[i]
	p := n.parent
	u := &nodes[p]
	*t.slot(p) = i
	var inner uint32 // the subtree that changes sides
	if u.left == i {
		inner, u.left, n.right = n.right, n.right, p
	} else {
		inner, u.right, n.left = n.left, n.left, p
	}
	if inner != 0 {
		nodes[inner].parent = p
	}
	n.parent, u.parent = u.parent, i
	n.max = max(n.max, u.max)
	u.max = max(u.end-u.start, nodes[u.left].max, nodes[u.right].max)
}

// slot is the link that leads to node i.
func (t *SingleTree) slot(i uint32) *uint32 {
	p := t.nodes[i].parent
	switch {
	case p == 0:
		return &t.root
	case t.nodes[p].left == i:
		return &t.nodes[p].left
	}
	return &t.nodes[p].right
}

// remove takes node i out of the tree: its two subtrees are merged in its place,
// from the top, the higher priority first.
func (t *SingleTree) remove(i uint32) {
	nodes := t.nodes
	n := &nodes[i]
	slot, parent := t.slot(i), n.parent
	l, r := n.left, n.right
	for l != 0 && r != 0 {
		a, b := &nodes[l], &nodes[r]
		m := max(a.max, b.max) // what is merged here holds all of both
		if a.prio >= b.prio {
			*slot, a.parent, a.max = l, parent, m
			slot, parent, l = &a.right, l, a.right
		} else {
			*slot, b.parent, b.max = r, parent, m
			slot, parent, r = &b.left, r, b.left
		}
	}
	rest := l | r
	*slot = rest
	if rest != 0 {
		nodes[rest].parent = parent
	}
	t.shrunk(n.parent)
	n.left = t.spare
	t.spare = i
}

// newNode takes a node from the spare list or the end of the table.
func (t *SingleTree) newNode() uint32 {
	if i := t.spare; i != 0 {
		t.spare = t.nodes[i].left
		return i
	}
	t.nodes = append(t.nodes, treapNode{})
	return uint32(len(t.nodes) - 1)
}

// random is the next priority: xorshift32 (G. Marsaglia, "Xorshift RNGs", 2003).
func (t *SingleTree) random() uint32 {
	x := t.seed
	x ^= x << 13
	x ^= x >> 17
	x ^= x << 5
	t.seed = x
	return x
}
