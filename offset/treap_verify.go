package offset

import "fmt"

// Verify checks every invariant in the type's comment and returns nil if all hold.
// O(n).
func (t *SingleTree) Verify() error {
	if t.nodes == nil && t.size == 0 && t.free == 0 {
		return nil
	}
	if len(t.nodes) == 0 || t.nodes[0] != treapNone {
		return fmt.Errorf("single tree: node 0 is not the leaf")
	}
	if t.size < 0 || t.seed == 0 || uint(t.root) >= uint(len(t.nodes)) || uint(t.spare) >= uint(len(t.nodes)) {
		return fmt.Errorf("single tree: size %d, seed %d, root %d or spare %d is no such thing", t.size, t.seed, t.root, t.spare)
	}
	seen := make([]bool, len(t.nodes))
	inTree, err := t.verifyLinks(seen)
	if err != nil {
		return err
	}
	if err := t.last.verify(t.size, t.free, seen); err != nil {
		return fmt.Errorf("single tree: %w", err)
	}
	if err := t.verifyBlocks(inTree); err != nil {
		return err
	}
	spares := 0
	for i := t.spare; i != 0; i = t.nodes[i].left {
		if uint(i) >= uint(len(seen)) || seen[i] {
			return fmt.Errorf("single tree: spare node %d is in use", i)
		}
		seen[i] = true
		spares++
	}
	if lost := len(t.nodes) - 1 - inTree - spares; lost != 0 {
		return fmt.Errorf("single tree: %d nodes are neither in the tree nor spare", lost)
	}
	return nil
}

// verifyLinks walks the tree from the top and marks the nodes it meets. After
// it the tree is known to be one: no cycle, no node twice, no link outside.
func (t *SingleTree) verifyLinks(seen []bool) (count int, err error) {
	if t.nodes[t.root].parent != 0 {
		return 0, fmt.Errorf("single tree: root %d has a parent", t.root)
	}
	if t.root == 0 {
		return 0, nil
	}
	todo := []uint32{t.root}
	seen[t.root] = true
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		count++
		for _, c := range [2]uint32{t.nodes[i].left, t.nodes[i].right} {
			switch {
			case c == 0:
				continue
			case uint(c) >= uint(len(seen)) || seen[c]:
				return 0, fmt.Errorf("single tree: node %d has child %d, which is none or another's", i, c)
			case t.nodes[c].parent != i:
				return 0, fmt.Errorf("single tree: child %d of node %d has parent %d", c, i, t.nodes[c].parent)
			case t.nodes[c].prio > t.nodes[i].prio:
				return 0, fmt.Errorf("single tree: child %d has a higher priority than node %d", c, i)
			}
			seen[c] = true
			todo = append(todo, c)
		}
	}
	return count, nil
}

// verifyBlocks walks the blocks of a sound tree by offset.
func (t *SingleTree) verifyBlocks(count int) error {
	free, end, f := 0, -1, &t.last
	for i := t.leftmost(t.root); i != 0; i = t.next(i) {
		n := &t.nodes[i]
		if n.start <= end || n.end <= n.start || n.end > t.size {
			return fmt.Errorf("single tree: block [%d,%d) behind one that ends at %d, of size %d", n.start, n.end, end, t.size)
		}
		if want := max(n.end-n.start, t.nodes[n.left].max, t.nodes[n.right].max); n.max != want {
			return fmt.Errorf("single tree: node %d says max %d, want %d", i, n.max, want)
		}
		free += n.end - n.start
		if f.node == i {
			if n.start < f.low || f.high < n.end {
				return fmt.Errorf("single tree: finger %+v was never block [%d,%d)", *f, n.start, n.end)
			}
			free += f.end - f.start - (n.end - n.start)
		} else if f.node != 0 && !f.clear(n.start, n.end) {
			return fmt.Errorf("single tree: block [%d,%d) is in the way of the finger %+v", n.start, n.end, *f)
		} else if f.node != 0 && n.start < f.start && n.end-n.start > f.below {
			return fmt.Errorf("single tree: block [%d,%d) comes before the finger %+v", n.start, n.end, *f)
		}
		end = n.end
		count--
	}
	if count != 0 || free != t.free {
		return fmt.Errorf("single tree: blocks sum up to %d, want %d", free, t.free)
	}
	return nil
}
