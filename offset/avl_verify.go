package offset

import (
	"fmt"
	"math"
)

// Verify checks every invariant in the type's comment and returns nil if all hold.
// O(n).
func (t *TwoTree) Verify() error {
	if t.nodes == nil && t.size == 0 && t.free == 0 {
		return nil
	}
	if len(t.nodes) == 0 || t.nodes[0].start != math.MaxInt || t.nodes[0].end != -1 || t.nodes[0].by != avlNone.by {
		return fmt.Errorf("two trees: node 0 is a block")
	}
	if t.size < 0 || uint(t.spare) >= uint(len(t.nodes)) {
		return fmt.Errorf("two trees: size %d or spare %d is no such thing", t.size, t.spare)
	}
	seen := make([]bool, len(t.nodes)) // in the tree that was walked last
	counts := [2]int{}
	for w := range t.root {
		clear(seen)
		var err error
		if counts[w], err = t.verifyLinks(w, seen); err != nil {
			return err
		}
	}
	if counts[bySize] != counts[byOffset] {
		return fmt.Errorf("two trees: %d nodes by size, %d by offset", counts[bySize], counts[byOffset])
	}
	if err := t.last.verify(t.size, t.free, seen); err != nil {
		return fmt.Errorf("two trees: %w", err)
	}
	if err := t.verifyBlocks(); err != nil {
		return err
	}
	if err := t.verifyRing(seen); err != nil {
		return err
	}
	spares := 0
	for i := t.spare; i != 0; i = t.nodes[i].next {
		if uint(i) >= uint(len(seen)) || seen[i] {
			return fmt.Errorf("two trees: spare node %d is in use", i)
		}
		seen[i] = true
		spares++
	}
	if lost := len(t.nodes) - 1 - counts[0] - spares; lost != 0 {
		return fmt.Errorf("two trees: %d nodes are neither in the trees nor spare", lost)
	}
	return nil
}

// verifyLinks walks tree w from the top, marks the nodes it meets, and checks
// the tilts. After it the tree is known to be one.
func (t *TwoTree) verifyLinks(w int, seen []bool) (count int, err error) {
	root := t.root[w]
	if root == 0 {
		return 0, nil
	}
	if uint(root) >= uint(len(seen)) || t.nodes[root].by[w].parent != 0 {
		return 0, fmt.Errorf("two trees: root %d of tree %d is none", root, w)
	}
	order := []uint32{root} // each node behind its parent
	seen[root] = true
	for at := 0; at < len(order); at++ {
		i := order[at]
		for _, c := range t.nodes[i].by[w].child {
			switch {
			case c == 0:
				continue
			case uint(c) >= uint(len(seen)) || seen[c]:
				return 0, fmt.Errorf("two trees: node %d has child %d in tree %d, which is none or another's", i, c, w)
			case t.nodes[c].by[w].parent != i:
				return 0, fmt.Errorf("two trees: child %d of node %d in tree %d has parent %d", c, i, w, t.nodes[c].by[w].parent)
			}
			seen[c] = true
			order = append(order, c)
		}
	}
	height := make([]int32, len(seen))
	for at := len(order) - 1; at >= 0; at-- {
		i := order[at]
		l := &t.nodes[i].by[w]
		left, right := height[l.child[0]], height[l.child[1]]
		if l.tilt != right-left || l.tilt < -1 || l.tilt > 1 {
			return 0, fmt.Errorf("two trees: node %d of tree %d: heights %d and %d, tilt %d", i, w, left, right, l.tilt)
		}
		height[i] = 1 + max(left, right)
	}
	return len(order), nil
}

// verifyBlocks walks the blocks of a sound tree by offset.
func (t *TwoTree) verifyBlocks() error {
	free, end, f := 0, -1, &t.last
	for i := t.first(byOffset); i != 0; i = t.after(byOffset, i) {
		n := &t.nodes[i]
		if n.start <= end || n.end <= n.start || n.end > t.size {
			return fmt.Errorf("two trees: block [%d,%d) behind one that ends at %d, of size %d", n.start, n.end, end, t.size)
		}
		free += n.room()
		if f.node == i {
			if n.start < f.low || f.high < n.end {
				return fmt.Errorf("two trees: finger %+v was never block [%d,%d)", *f, n.start, n.end)
			}
			free += f.end - f.start - n.room()
		} else if f.node != 0 && !f.clear(n.start, n.end) {
			return fmt.Errorf("two trees: block [%d,%d) is in the way of the finger %+v", n.start, n.end, *f)
		} else if f.node != 0 && n.room() > f.below && n.room() < f.end-f.start {
			return fmt.Errorf("two trees: block [%d,%d) fits better than the finger %+v", n.start, n.end, *f)
		}
		end = n.end
	}
	if free != t.free {
		return fmt.Errorf("two trees: blocks sum up to %d, want %d", free, t.free)
	}
	return nil
}

// verifyRing walks the ring and the tree by size side by side. inTree says which
// nodes are in the tree by offset.
func (t *TwoTree) verifyRing(inTree []bool) error {
	before := uint32(0)
	for i := t.first(bySize); ; i = t.after(bySize, i) {
		n := &t.nodes[i]
		if t.nodes[before].next != i || n.prev != before {
			return fmt.Errorf("two trees: node %d behind node %d by size, but not in the ring", i, before)
		}
		if i == 0 {
			return nil
		}
		if !inTree[i] {
			return fmt.Errorf("two trees: node %d is in the tree by size only", i)
		}
		if before != 0 && !t.nodes[before].less(n.room(), n.start) {
			return fmt.Errorf("two trees: node %d is not larger than node %d before it", i, before)
		}
		before = i
	}
}
