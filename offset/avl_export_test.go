package offset

import "fmt"

// Depth is the number of nodes on the longest way from either root, and the
// number of nodes.
func (t *TwoTree) Depth() (depth, nodes int) {
	t.settle()
	for w := range t.root {
		nodes = 0
		for i := t.first(w); i != 0; i = t.after(w, i) {
			nodes++
			d := 0
			for j := i; j != 0; j = t.nodes[j].by[w].parent {
				d++
			}
			depth = max(depth, d)
		}
	}
	return depth, nodes
}

// Table is the number of nodes the table has room for.
func (t *TwoTree) Table() int { return cap(t.nodes) }

// other is a node that is in the trees, not i, and not linked to it in tree w.
func (t *TwoTree) other(w int, i uint32) uint32 {
	for j := t.first(w); j != 0; j = t.after(w, j) {
		if j != i && t.nodes[j].by[w].parent != i && t.nodes[i].by[w].parent != j && j != t.last.node {
			return j
		}
	}
	panic("the trees are too small")
}

// TwoTreeFaults are the ways to break a TwoTree of a dozen blocks and more that
// has spare nodes and a finger.
func TwoTreeFaults() []TreeFault[*TwoTree] {
	faults := []TreeFault[*TwoTree]{
		{"size below the last block", func(t *TwoTree) { t.size = 10 }},
		{"size negative", func(t *TwoTree) { t.size = -1 }},
		{"free one more", func(t *TwoTree) { t.free++ }},
		{"free one less", func(t *TwoTree) { t.free-- }},
		{"spare none", func(t *TwoTree) { t.spare = 0 }},
		{"spare outside", func(t *TwoTree) { t.spare = uint32(len(t.nodes)) }},
		{"spare in the trees", func(t *TwoTree) { t.spare = t.root[bySize] }},
		{"spare a ring", func(t *TwoTree) { t.nodes[t.spare].next = t.spare }},
		{"node 0 begins", func(t *TwoTree) { t.nodes[0].start = 0 }},
		{"node 0 ends", func(t *TwoTree) { t.nodes[0].end = 0 }},
		{"node 0 has a child", func(t *TwoTree) { t.nodes[0].by[byOffset].child[1] = t.root[byOffset] }},
		{"no node 0", func(t *TwoTree) { t.nodes = nil }},
		{"largest none", func(t *TwoTree) { t.nodes[0].prev = 0 }},
		{"smallest another", func(t *TwoTree) { t.nodes[0].next = t.nodes[t.nodes[0].next].next }},
		{"start one up", func(t *TwoTree) { t.nodes[t.root[byOffset]].start++ }},
		{"start behind the end", func(t *TwoTree) { t.nodes[t.root[byOffset]].start += 1 << 20 }},
		{"start negative", func(t *TwoTree) { t.nodes[t.first(byOffset)].start = -2 }},
		{"end one up", func(t *TwoTree) { t.nodes[t.root[byOffset]].end++ }},
		{"end one down", func(t *TwoTree) { t.nodes[t.root[byOffset]].end-- }},
		{"end beyond the range", func(t *TwoTree) { t.nodes[t.root[byOffset]].end = t.size + 1 }},
		{"prev itself", func(t *TwoTree) { t.nodes[t.root[bySize]].prev = t.root[bySize] }},
		{"next itself", func(t *TwoTree) { t.nodes[t.root[bySize]].next = t.root[bySize] }},
		{"next outside", func(t *TwoTree) { t.nodes[t.root[bySize]].next = uint32(len(t.nodes)) }},
	}
	faults = append(faults, fingerFaults(func(t *TwoTree) (*finger, uint32, int) { return &t.last, t.spare, len(t.nodes) })...)
	fields := []struct {
		name string
		set  func(t *TwoTree, w int, i uint32, l *avlLinks)
	}{
		{"left itself", func(_ *TwoTree, _ int, i uint32, l *avlLinks) { l.child[0] = i }},
		{"left another's", func(t *TwoTree, w int, i uint32, l *avlLinks) { l.child[0] = t.other(w, i) }},
		{"right outside", func(t *TwoTree, _ int, _ uint32, l *avlLinks) { l.child[1] = uint32(len(t.nodes)) }},
		{"right spare", func(t *TwoTree, _ int, _ uint32, l *avlLinks) { l.child[1] = t.spare }},
		{"parent another", func(t *TwoTree, w int, i uint32, l *avlLinks) { l.parent = t.other(w, i) }},
		{"tilt one up", func(_ *TwoTree, _ int, _ uint32, l *avlLinks) { l.tilt++ }},
		{"tilt one down", func(_ *TwoTree, _ int, _ uint32, l *avlLinks) { l.tilt-- }},
	}
	for w, name := range []string{"by size", "by offset"} {
		for _, f := range fields {
			faults = append(faults,
				TreeFault[*TwoTree]{fmt.Sprintf("%s of root %s", f.name, name), func(t *TwoTree) {
					i := t.root[w]
					f.set(t, w, i, &t.nodes[i].by[w])
				}},
				TreeFault[*TwoTree]{fmt.Sprintf("%s of first %s", f.name, name), func(t *TwoTree) {
					i := t.first(w)
					f.set(t, w, i, &t.nodes[i].by[w])
				}})
		}
		faults = append(faults,
			TreeFault[*TwoTree]{"root none " + name, func(t *TwoTree) { t.root[w] = 0 }},
			TreeFault[*TwoTree]{"root outside " + name, func(t *TwoTree) { t.root[w] = uint32(len(t.nodes)) }},
			TreeFault[*TwoTree]{"root a child " + name, func(t *TwoTree) { t.root[w] = t.nodes[t.root[w]].by[w].child[1] }})
	}
	return faults
}
