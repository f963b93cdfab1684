package offset

import (
	"fmt"
	"math"
)

// TreeFault damages one field of a tree; the tests hand it to the kit.
type TreeFault[A any] struct {
	Name  string
	Break func(a A)
}

// Depth is the number of nodes on the longest way from the root, and the number
// of nodes.
func (t *SingleTree) Depth() (depth, nodes int) {
	t.settle()
	for i := t.leftmost(t.root); i != 0; i = t.next(i) {
		nodes++
		d := 0
		for j := i; j != 0; j = t.nodes[j].parent {
			d++
		}
		depth = max(depth, d)
	}
	return depth, nodes
}

// Table is the number of nodes the table has room for.
func (t *SingleTree) Table() int { return cap(t.nodes) }

// other is a node that is in the tree, not i, and not linked to it.
func (t *SingleTree) other(i uint32) uint32 {
	for j := t.leftmost(t.root); j != 0; j = t.next(j) {
		if j != i && t.nodes[j].parent != i && t.nodes[i].parent != j && j != t.last.node {
			return j
		}
	}
	panic("the tree is too small")
}

// SingleTreeFaults are the ways to break a SingleTree of a dozen blocks and more
// that has spare nodes and a finger.
func SingleTreeFaults() []TreeFault[*SingleTree] {
	faults := []TreeFault[*SingleTree]{
		{"size below the last block", func(t *SingleTree) { t.size = 10 }},
		{"size negative", func(t *SingleTree) { t.size = -1 }},
		{"free one more", func(t *SingleTree) { t.free++ }},
		{"free one less", func(t *SingleTree) { t.free-- }},
		{"seed 0", func(t *SingleTree) { t.seed = 0 }},
		{"root none", func(t *SingleTree) { t.root = 0 }},
		{"root outside", func(t *SingleTree) { t.root = uint32(len(t.nodes)) }},
		{"root a child", func(t *SingleTree) { t.root = t.nodes[t.root].left }},
		{"spare none", func(t *SingleTree) { t.spare = 0 }},
		{"spare outside", func(t *SingleTree) { t.spare = uint32(len(t.nodes)) }},
		{"spare in the tree", func(t *SingleTree) { t.spare = t.root }},
		{"spare a ring", func(t *SingleTree) { t.nodes[t.spare].left = t.spare }},
		{"node 0 serves", func(t *SingleTree) { t.nodes[0].max = 1 }},
		{"node 0 begins", func(t *SingleTree) { t.nodes[0].start = 0 }},
		{"node 0 ends", func(t *SingleTree) { t.nodes[0].end = 0 }},
		{"node 0 has a child", func(t *SingleTree) { t.nodes[0].left = t.root }},
		{"no node 0", func(t *SingleTree) { t.nodes = nil }},
		{"root has the least priority", func(t *SingleTree) { t.nodes[t.root].prio = 0 }},
		{"a leaf has the highest priority", func(t *SingleTree) { t.nodes[t.leftmost(t.root)].prio = math.MaxUint32 }},
	}
	faults = append(faults, fingerFaults(func(t *SingleTree) (*finger, uint32, int) { return &t.last, t.spare, len(t.nodes) })...)
	places := []struct {
		name string
		node func(t *SingleTree) uint32
	}{
		{"root", func(t *SingleTree) uint32 { return t.root }},
		{"lowest", func(t *SingleTree) uint32 { return t.leftmost(t.root) }},
		{"inner", func(t *SingleTree) uint32 { return t.nodes[t.root].right }},
	}
	fields := []struct {
		name string
		set  func(t *SingleTree, i uint32, n *treapNode)
	}{
		{"start one up", func(_ *SingleTree, _ uint32, n *treapNode) { n.start++ }},
		{"start behind the end", func(_ *SingleTree, _ uint32, n *treapNode) { n.start = n.end + 1 }},
		{"start negative", func(_ *SingleTree, _ uint32, n *treapNode) { n.start = -2 }},
		{"end one up", func(_ *SingleTree, _ uint32, n *treapNode) { n.end++ }},
		{"end one down", func(_ *SingleTree, _ uint32, n *treapNode) { n.end-- }},
		{"end beyond the range", func(t *SingleTree, _ uint32, n *treapNode) { n.end = t.size + 1 }},
		{"max one up", func(_ *SingleTree, _ uint32, n *treapNode) { n.max++ }},
		{"max one down", func(_ *SingleTree, _ uint32, n *treapNode) { n.max-- }},
		{"left itself", func(_ *SingleTree, i uint32, n *treapNode) { n.left = i }},
		{"left another's", func(t *SingleTree, i uint32, n *treapNode) { n.left = t.other(i) }},
		{"right outside", func(t *SingleTree, _ uint32, n *treapNode) { n.right = uint32(len(t.nodes)) }},
		{"right spare", func(t *SingleTree, _ uint32, n *treapNode) { n.right = t.spare }},
		{"parent another", func(t *SingleTree, i uint32, n *treapNode) { n.parent = t.other(i) }},
	}
	for _, p := range places {
		for _, f := range fields {
			faults = append(faults, TreeFault[*SingleTree]{fmt.Sprintf("%s of %s", f.name, p.name), func(t *SingleTree) {
				i := p.node(t)
				f.set(t, i, &t.nodes[i])
			}})
		}
	}
	return faults
}

// fingerFaults break the finger of a tree, which get returns, with a spare node and
// the number of nodes.
func fingerFaults[A any](get func(t A) (*finger, uint32, int)) []TreeFault[A] {
	var faults []TreeFault[A]
	for _, f := range []struct {
		name string
		set  func(f *finger, spare uint32, nodes int)
	}{
		{"nowhere", func(f *finger, _ uint32, _ int) { f.node = 0 }},
		{"outside", func(f *finger, _ uint32, nodes int) { f.node = uint32(nodes) }},
		{"at a spare node", func(f *finger, spare uint32, _ int) { f.node = spare }},
		{"starts one up", func(f *finger, _ uint32, _ int) { f.start++ }},
		{"ends one down", func(f *finger, _ uint32, _ int) { f.end-- }},
		{"starts behind its end", func(f *finger, _ uint32, _ int) { f.start = f.end + 1 }},
		{"starts below low", func(f *finger, _ uint32, _ int) { f.low = f.start + 1 }},
		{"ends above high", func(f *finger, _ uint32, _ int) { f.high = f.end - 1 }},
		{"low in the block before", func(f *finger, _ uint32, _ int) { f.low-- }},
		{"high in the block behind", func(f *finger, _ uint32, _ int) { f.high++ }},
		{"low negative", func(f *finger, _ uint32, _ int) { f.low = -1 }},
		{"high beyond the range", func(f *finger, _ uint32, _ int) { f.high = math.MaxInt }},
		{"knows of one more", func(f *finger, _ uint32, _ int) { f.rest++ }},
		{"serves everything", func(f *finger, _ uint32, _ int) { f.below = 0 }},
		{"serves what is no size", func(f *finger, _ uint32, _ int) { f.below = -1 }},
	} {
		faults = append(faults, TreeFault[A]{"finger " + f.name, func(t A) { f.set(get(t)) }})
	}
	return faults
}
