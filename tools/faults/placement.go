package main

// placementFaults are in package offset.
func placementFaults() []fault {
	var all []fault
	for _, list := range [][]fault{tlsfFaults, treapFaults, avlFaults, buddyFaults} {
		for _, f := range list {
			f.file, f.pkgs = "offset/"+f.file, []string{"./offset"}
			all = append(all, f)
		}
	}
	return all
}

var tlsfFaults = []fault{
	{name: "tlsf: split off by one", file: "tlsf.go", from: "t.spare, s+need\n", to: "t.spare, s+need+1\n"},
	{name: "tlsf: Allocate does not count", file: "tlsf.go", from: "\tt.free -= size\n\tlive :=", to: "\tlive :="},
	{name: "tlsf: rest is not a start", file: "tlsf.go", from: "\tt.starts.set(uint(cut))\n", to: ""},
	{name: "tlsf: rest keeps its class", file: "tlsf.go", from: "freeBit)); d != c {", to: "freeBit)); d > c {"},
	{name: "tlsf: Reset keeps the holes", file: "tlsf.go", from: "\tt.holes = nil\n", to: ""},
	{name: "tlsf: carve loses a granule", file: "tlsf.go", from: "if size-gap > need {", to: "if size-gap > need+1 {"},
	{name: "tlsf: aligned block off by one", file: "tlsf.go", from: "gap < size && size-gap >= need", to: "gap < size && size-gap+1 >= need"},
	{name: "tlsf: left merge skipped", file: "tlsf_free.go", from: "nodes[k].start+nodes[k].size == uint32(g)|freeBit {", to: "nodes[k].start+nodes[k].size == uint32(g) {"},
	{name: "tlsf: right merge skipped", file: "tlsf_free.go", from: "if r := &nodes[k]; r.size >= freeBit {", to: "if r := &nodes[k]; r.size > freeBit+1<<20 {"},
	{name: "tlsf: merged block stays a start", file: "tlsf_free.go", from: "\t\t\tt.starts.clear(end)\n\t\t\tmore", to: "\t\t\tmore"},
	{name: "tlsf: last granule without its tag", file: "tlsf_free.go", from: "\t\ttags[end-1] = i\n", to: "\t\ttags[end-1] = 0\n"},
	{name: "tlsf: a smaller block keeps its class", file: "tlsf_free.go", from: "tlsfClass(uint(more+granules)) == tlsfClass(uint(more))", to: "true"},
	{name: "tlsf: shorter range passes for the block", file: "tlsf_free.go", from: "uint(n.prev) != -uint(size)&t.low || ", to: ""},
	{name: "tlsf: stale tag is believed", file: "tlsf_free.go", from: "n.start != uint32(g) || uint(start)", to: "uint(start)"},
	{name: "tlsf: any tag passes for a node", file: "tlsf_free.go", from: "uint(k) < uint(len(nodes)) && nodes[k]", to: "nodes[k]"},
	{name: "tlsf: growth forgets a word of starts", file: "tlsf_index.go", from: "\t\tstarts.words[w] = t.starts.words[w]\n", to: ""},
	{name: "tlsf: table is not copied", file: "tlsf_index.go", from: "\t\tcopy(tags[below:], t.tags[below:min(below+64, end)])\n", to: ""},
	{name: "tlsf: growth forgets where a free block ends", file: "tlsf_index.go", from: "\t\t\ttags[stop-1] = k\n", to: ""},
	{name: "tlsf: Reset keeps starts", file: "tlsf_index.go", from: "\t\ts.words[w] = 0\n", to: ""},
	{name: "tlsf: Reset keeps a level of starts", file: "tlsf_index.go", from: "\t\ts.clearUpper(w)\n", to: ""},
	{name: "tlsf: cut forgets that the tail is joined", file: "tlsf_free.go", from: "n.prev & (slackBits | joinRight)", to: "n.prev & slackBits"},
	{name: "tlsf: Resize does not count", file: "tlsf_free.go", from: "\tt.free -= newSize - size\n", to: ""},
	{name: "tlsf: summary bit not cleared", file: "tlsf_index.go", from: "\tt.summary &^= uint(bit(m == 0)) << w\n", to: ""},
	{name: "tlsf: wrong list bit cleared", file: "tlsf_index.go", from: "bit(prev == next) << (prev & 63)", to: "bit(prev == next) << (prev & 31)"},
	{name: "tlsf: search skips a word", file: "tlsf_index.go", from: "w := c>>6 + 1", to: "w := c>>6 + 2"},
	{name: "tlsf: Find takes too small a class", file: "tlsf_index.go", from: "uint) uint {\n\tc := tlsfClass(q) + 1", to: "uint) uint {\n\tc := tlsfClass(q)"},
	{name: "tlsf: wrong bit cleared above", file: "tlsf_index.go", from: "level[g>>6] &^= 1 << (g & 63)", to: "level[g>>6] &^= 1 << (g & 31)"},
	{name: "tlsf: floor forgets the word", file: "tlsf_index.go", from: "g = g&^63 + uint(bits.Len64(m)) - 1", to: "g = uint(bits.Len64(m)) - 1"},
	{name: "tlsf: list linked one way", file: "tlsf_index.go", from: "\tnodes[next].prev = i\n", to: ""},
	{name: "tlsf: free in part does not count", file: "tlsf_part.go", from: "\tt.free += size\n", to: ""},
	{name: "tlsf: hole not recorded", file: "tlsf_part.go", from: "t.mask(lo, hi) &^ hole", to: "t.mask(lo, hi)"},
	{name: "tlsf: granule forgets its dead head", file: "tlsf_part.go", from: "joinRight) | uint32(from)<<skipShift | uint32", to: "joinRight) | uint32"},
	{name: "tlsf: wrong side of a junction cut", file: "tlsf_part.go", from: "(n.start)-1)]].prev &^= joinRight", to: "(n.start)-1)]].prev &^= joinLeft"},
	{name: "tlsf: range into the next block accepted", file: "tlsf_part.go", from: "\t\tif n.prev&joinRight != 0 {\n\t\t\tcontinue", to: "\t\tif n.prev&joinRight != 0 || true {\n\t\t\tcontinue"},
	{name: "tlsf: tail keeps its granules", file: "tlsf_tail.go", from: "n.size, n.prev = cut-n.start, uint32(-uint(start)&t.low)", to: "n.prev = uint32(-uint(start) & t.low)"},
	{name: "tlsf: tail does not count", file: "tlsf_tail.go", from: "\tt.free += size\n\treturn true", to: "\treturn true"},
	{name: "tlsf: tail joins without a change of class", file: "tlsf_tail.go", from: "c != tlsfClass(more) {", to: "c == 0 {"},
	{name: "tlsf: what the tail joins stays a start", file: "tlsf_tail.go", from: "\t\t\tt.starts.clear(uint(end))\n", to: ""},
	{name: "tlsf: tail without a tag at its end", file: "tlsf_tail.go", from: "\t\ttags[end-1] = k\n", to: ""},
	{name: "tlsf: tail of another length passes", file: "tlsf_tail.go", from: "int(end)<<(t.shift&63)-int(n.prev)-start != size {", to: "int(end)<<(t.shift&63)-start < size {"},
}

var treapFaults = []fault{
	{name: "treap: child swapped", file: "treap_node.go", from: "inner, u.left, n.right = n.right, n.right, p", to: "inner, u.left, n.right = n.right, n.left, p"},
	{name: "treap: shrinking does not reach max", file: "treap_node.go", from: "\t\tn.max = m\n", to: ""},
	{name: "treap: removal leaves max", file: "treap_node.go", from: "\tt.shrunk(n.parent)\n", to: ""},
	{name: "treap: lower priority on top", file: "treap_node.go", from: "if a.prio >= b.prio {", to: "if a.prio < b.prio {"},
	{name: "treap: insertion in the wrong place", file: "treap_node.go", from: "t.insert(start, end, t.leftmost(r), 0)", to: "t.insert(start, end, r, 0)"},
	{name: "treap: parent link lost", file: "treap_node.go", from: "\t\tnodes[rest].parent = parent\n", to: "\t\tnodes[rest].parent = i\n"},
	{name: "treap: merge of three skipped", file: "treap.go", from: "case a.start == end && after != 0 && b.end == start:", to: "case a.start == end && after != 0 && b.end == start && size > 64:"},
	{name: "treap: the end of the numbers is a block", file: "treap.go", from: "case a.start == end && after != 0:", to: "case a.start == end:"},
	{name: "treap: double free accepted", file: "treap.go", from: "case b.end > start:", to: "case b.end > end:"},
	{name: "treap: growth does not reach max", file: "treap.go", from: "case room > was:\n\t\tt.grown(i)\n", to: "case room > was:\n"},
	{name: "treap: Allocate does not count", file: "treap.go", from: "\t\tf.start = at + size\n\t\tt.free = f.total()\n", to: "\t\tf.start = at + size\n"},
	{name: "treap: rest of one byte lost", file: "treap.go", from: "if stop < end {", to: "if stop < end-1 {"},
	{name: "finger: serves what another should", file: "tree_finger.go", from: "return size > f.below && size <= f.end-f.start", to: "return size > 0 && size <= f.end-f.start"},
	{name: "finger: takes in what is free", file: "tree_finger.go", from: "start+size == f.start && start >= f.low && size > 0", to: "start+size == f.start && size > 0"},
	{name: "finger: reaches one too far", file: "tree_finger.go", from: "size <= f.high-start &&", to: "size <= f.high-start+1 &&"},
}

var avlFaults = []fault{
	{name: "avl: wrong rotation", file: "avl_balance.go", from: "if v.tilt != -sign {", to: "if v.tilt == sign {"},
	{name: "avl: tilt after a rotation", file: "avl_balance.go", from: "u.tilt, v.tilt = sign-v.tilt, v.tilt-sign", to: "u.tilt, v.tilt = 0, 0"},
	{name: "avl: balancing stops early", file: "avl_balance.go", from: "\t\t\tif l.tilt != 0 {\n", to: "\t\t\tif l.tilt == 0 {\n"},
	{name: "avl: parent link lost in a trade", file: "avl_balance.go", from: "\t\tnodes[m.child[1]].by[w&1].parent = s\n", to: ""},
	{name: "avl: child swapped", file: "avl_balance.go", from: "inner, p\n\tif inner", to: "p, inner\n\tif inner"},
	{name: "avl: size order not kept", file: "avl_node.go", from: " && (n.next == 0 || !nodes[n.next].less(size, start))", to: ""},
	{name: "avl: equal sizes in the wrong order", file: "avl_node.go", from: "room == size && n.start < start", to: "room == size && n.start > start"},
	{name: "avl: ring keeps a removed node", file: "avl_node.go", from: "t.nodes[n.prev].next, t.nodes[n.next].prev = n.next, n.prev", to: "t.nodes[n.prev].next = n.next"},
	{name: "avl: merge of three keeps the first", file: "avl.go", from: "\t\tt.remove(before)\n", to: ""},
	{name: "avl: double free accepted", file: "avl.go", from: "case a.start < end:", to: "case a.start < start:"},
	{name: "avl: Free does not count", file: "avl.go", from: "\tt.free += size\n\tf :=", to: "\tf :="},
	{name: "avl: rest of one byte lost", file: "avl.go", from: "if stop < end {", to: "if stop < end-1 {"},
}

var buddyFaults = []fault{
	{name: "buddy: merged block keeps the upper address", file: "buddy.go", from: "u &= other", to: "u |= other"},
	{name: "buddy: merge skipped from order 3 on", file: "buddy.go", from: "for ; k < maxOrders && orders", to: "for ; k < 3 && orders"},
	{name: "buddy: split loses the upper half", file: "buddy.go", from: "b.top[i] = u + 1<<(i&31)", to: "b.top[i] = u"},
	{name: "buddy: split marks one order too few", file: "buddy.go", from: "b.orders |= 1<<(j&31) - 1<<(from&31)", to: "b.orders |= (1<<(j&31) - 1<<(from&31)) &^ (1 << (from & 31))"},
	{name: "buddy: counts the request", file: "buddy.go", from: "b.free -= 1 << ((k + b.shift) & 63)", to: "b.free -= size"},
	{name: "buddy: list keeps a taken block", file: "buddy.go", from: "\t\tb.page(prev)[prev%pageUnits].a = next\n", to: ""},
	{name: "buddy: order bit not cleared", file: "buddy.go", from: "\t\tb.orders &^= 1 << (j & 31)\n", to: ""},
	{name: "buddy: unit held for a byte that is gone", file: "buddy_free.go", from: "if before > dead.Start&^(unit-1) {", to: "if before >= dead.Start&^(unit-1) {"},
	{name: "buddy: tail of the block lost", file: "buddy_free.go", from: "b.freeUnits(stop, base+1<<k)", to: "b.freeUnits(stop+1, base+1<<k)"},
	{name: "buddy: wrong length passes for the block", file: "buddy_free.go", from: "unit != nil && unit.length() == size {", to: "unit != nil {"},
}
