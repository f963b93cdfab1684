package offset

// avlLinks is a node's place in one of the trees. Below, w is the tree, and a
// side is 0 for left, 1 for right.
type avlLinks struct {
	child  [2]uint32
	parent uint32
	tilt   int32 // height of the right subtree less that of the left: -1, 0, 1
}

// slot is the link of tree w that leads to node i.
func (t *TwoTree) slot(w int, i uint32) *uint32 {
	p := t.nodes[i].by[w&1].parent
	if p == 0 {
		return &t.root[w&1]
	}
	return &t.nodes[p].by[w&1].child[t.side(w, p, i)]
}

// side is the side of node p on which its child i is.
func (t *TwoTree) side(w int, p, i uint32) int {
	if t.nodes[p].by[w&1].child[1] == i {
		return 1
	}
	return 0
}

// hang makes node i a leaf of tree w, on one side of leaf, or the root if leaf
// is 0, and restores the balance: at most one rebalancing.
func (t *TwoTree) hang(w int, i, leaf uint32, side int) {
	nodes := t.nodes
	nodes[i].by[w&1] = avlLinks{parent: leaf}
	if leaf == 0 {
		t.root[w&1] = i
		return
	}
	nodes[leaf].by[w&1].child[side&1] = i
	for p := leaf; p != 0; {
		l := &nodes[p].by[w&1]
		switch l.tilt += int32(side)*2 - 1; l.tilt {
		case 0:
			return
		case -2, 2:
			t.rebalance(w, p)
			return
		}
		// The subtree is one level higher now.
		if up := l.parent; up != 0 {
			side = t.side(w, up, p)
		}
		p = l.parent
	}
}

// unhang takes node i out of tree w and restores the balance: one rebalancing a
// level at most.
func (t *TwoTree) unhang(w int, i uint32) {
	nodes := t.nodes
	if l := &nodes[i].by[w&1]; l.child[0] != 0 && l.child[1] != 0 {
		t.trade(w, i)
	}
	l := &nodes[i].by[w&1]
	p, side := l.parent, 0
	if p != 0 {
		side = t.side(w, p, i)
	}
	only := l.child[0] | l.child[1]
	*t.slot(w, i) = only
	if only != 0 {
		nodes[only].by[w&1].parent = p
	}
	for p != 0 {
		l := &nodes[p].by[w&1]
		switch l.tilt -= int32(side)*2 - 1; l.tilt {
		case -1, 1:
			return
		case -2, 2:
			p = t.rebalance(w, p)
			l = &nodes[p].by[w&1]
			if l.tilt != 0 {
				return
			}
		}
		// The subtree is one level lower now.
		if up := l.parent; up != 0 {
			side = t.side(w, up, p)
		}
		p = l.parent
	}
}

// trade swaps node i, which has two children, with the next in the order of tree
// w, which has no left child.
func (t *TwoTree) trade(w int, i uint32) {
	nodes := t.nodes
	n := &nodes[i].by[w&1]
	s := n.child[1]
	for nodes[s].by[w&1].child[0] != 0 {
		s = nodes[s].by[w&1].child[0]
	}
	m := &nodes[s].by[w&1]
	*t.slot(w, i) = s
	if m.parent == i {
		right := m.child[1]
		*m, *n = avlLinks{[2]uint32{n.child[0], i}, n.parent, n.tilt}, avlLinks{[2]uint32{0, right}, s, m.tilt}
	} else {
		nodes[m.parent].by[w&1].child[0] = i
		*m, *n = *n, *m
		nodes[m.child[1]].by[w&1].parent = s
	}
	nodes[m.child[0]].by[w&1].parent = s
	if r := n.child[1]; r != 0 {
		nodes[r].by[w&1].parent = i
	}
}

// rebalance turns the subtree of tree w at p, which is two levels higher on one
// side, and returns its new root. Its height is one less than before unless the
// new root's tilt is not 0.
func (t *TwoTree) rebalance(w int, p uint32) uint32 {
	nodes := t.nodes
	u := &nodes[p].by[w&1]
	heavy, sign := 0, int32(-1)
	if u.tilt > 0 {
		heavy, sign = 1, 1
	}
	c := u.child[heavy&1]
	v := &nodes[c].by[w&1]
	if v.tilt != -sign {
		t.turnUp(w, c)
		u.tilt, v.tilt = sign-v.tilt, v.tilt-sign
		return c
	}
	g := v.child[(1-heavy)&1]
	x := &nodes[g].by[w&1]
	t.turnUp(w, g)
	t.turnUp(w, g)
	u.tilt, v.tilt = 0, 0
	switch x.tilt {
	case sign:
		u.tilt = -sign
	case -sign:
		v.tilt = sign
	}
	x.tilt = 0
	return g
}

// turnUp rotates node i of tree w over its parent. The tilts are the caller's.
func (t *TwoTree) turnUp(w int, i uint32) {
	nodes := t.nodes
	n := &nodes[i].by[w&1]
	p := n.parent
	u := &nodes[p].by[w&1]
	side := t.side(w, p, i)
	*t.slot(w, p) = i
	inner := n.child[(1-side)&1] // the subtree that changes sides
	u.child[side&1], n.child[(1-side)&1] = inner, p
	if inner != 0 {
		nodes[inner].by[w&1].parent = p
	}
	n.parent, u.parent = u.parent, i
}

// first is the first node of tree w in its order, or 0.
func (t *TwoTree) first(w int) uint32 {
	i := t.root[w&1]
	for i != 0 && t.nodes[i].by[w&1].child[0] != 0 {
		i = t.nodes[i].by[w&1].child[0]
	}
	return i
}

// after is the node behind node i in the order of tree w, or 0.
func (t *TwoTree) after(w int, i uint32) uint32 {
	if r := t.nodes[i].by[w&1].child[1]; r != 0 {
		for t.nodes[r].by[w&1].child[0] != 0 {
			r = t.nodes[r].by[w&1].child[0]
		}
		return r
	}
	p := t.nodes[i].by[w&1].parent
	for p != 0 && t.nodes[p].by[w&1].child[1] == i {
		i, p = p, t.nodes[p].by[w&1].parent
	}
	return p
}
