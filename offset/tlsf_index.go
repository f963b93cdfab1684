package offset

import (
	"math/bits"

	"github.com/gomem-go/gomem/internal/unzeroed"
)

// tlsfClass is the class of a free block of s granules: s itself below 64,
// then 32 classes per power of two. The top six bits of s name the class, so
// classes ascend with size and class(s-1)+1 is the lowest class that holds
// only blocks of s granules or more. The branch is nearly always predicted,
// and spares small sizes the bit scan.
func tlsfClass(s uint) uint {
	if s < 64 {
		return s
	}
	e := uint(bits.Len(s)) - 6
	return e<<5 + s>>(e&31)
}

// search is the lowest class with a block of more than q granules for sure; if
// there is none, the highest class when its first block happens to have them;
// 0 otherwise.
func (t *TLSF) search(q uint) uint {
	c := tlsfClass(q) + 1
	if m := t.lists[c>>6&15] >> (c & 63); m != 0 {
		return c + uint(bits.TrailingZeros64(m))
	}
	return t.searchAbove(q, c)
}

// searchAbove is the rest of search(q) when the word of lists that holds class
// c has nothing from c on.
func (t *TLSF) searchAbove(q, c uint) uint {
	w := c>>6 + 1
	if m := t.summary >> (w & 31); m != 0 {
		w += uint(bits.TrailingZeros(m))
		return w<<6 + uint(bits.TrailingZeros64(t.lists[w&15]))
	}
	if t.summary != 0 {
		c = t.topClass()
		if uint(t.nodes[t.nodes[c].next].size&^freeBit) > q {
			return c
		}
	}
	return 0
}

// topClass is the highest class that holds something. Requires summary != 0.
func (t *TLSF) topClass() uint {
	w := uint(bits.Len(t.summary)) - 1
	return w<<6 + uint(bits.Len64(t.lists[w&15])) - 1
}

// link puts free block i first in the list of class c. The caller passes
// t.nodes, which it holds in registers.
func (t *TLSF) link(nodes []tlsfNode, i uint32, c uint) {
	if countSteps {
		stepCount++
	}
	head, n := &nodes[c], &nodes[i]
	next := head.next
	n.next, n.prev = next, uint32(c)
	nodes[next].prev = i
	head.next = i
	t.lists[c>>6&15] |= 1 << (c & 63)
	t.summary |= 1 << (c >> 6 & 31)
}

// unlink takes free block n out of its list. Its neighbours in the ring are
// one and the same only when they are the head: the list is empty then. No
// branch predictor knows, so the bits are cleared without a branch; where prev
// is no head, nothing is cleared of some other word.
func (t *TLSF) unlink(nodes []tlsfNode, n *tlsfNode) {
	if countSteps {
		stepCount++
	}
	prev, next := n.prev, n.next
	nodes[prev].next = next
	nodes[next].prev = prev
	w := prev >> 6 & 15
	m := t.lists[w] &^ (bit(prev == next) << (prev & 63))
	t.lists[w] = m
	t.summary &^= uint(bit(m == 0)) << w
}

// bit is 1 if set, without a branch.
func bit(set bool) (b uint64) {
	if set {
		b = 1
	}
	return b
}

// newNode is the first spare node, which stays in the spare list until the
// caller takes it; if there is none the pool grows by one.
func (t *TLSF) newNode() uint32 {
	if t.spare == 0 {
		t.nodes = append(t.nodes, tlsfNode{start: noStart})
		t.spare = uint32(len(t.nodes) - 1)
	}
	return t.spare
}

// dropNode gives node i back to the spare list.
func (t *TLSF) dropNode(i uint32) {
	t.nodes[i] = tlsfNode{start: noStart, next: t.spare}
	t.spare = i
}

// growTags makes room for a block that starts at granule g. Doubling keeps the
// cost per block constant, and a range that is never used has no table. Nor
// does one have any memory in which no block begins or ends: nobody clears the
// table, for what it says is stale anyway unless the node confirms it.
func (t *TLSF) growTags(g uint) {
	if g < uint(len(t.tags)) {
		return
	}
	tags := unzeroed.Make[uint32](int(min(max(2*(g+1), 64), t.total)))
	starts := newStartSet(uint(len(tags)))
	t.copyTags(tags, &starts)
	t.tags, t.starts = tags, starts
}

// copyTags fills larger tables with what these say of the blocks, by words of
// starts: a copy of everything would touch all the memory between the blocks.
func (t *TLSF) copyTags(tags []uint32, starts *startSet) {
	end := uint(len(t.tags))
	for below := end; below > 0; {
		last := t.starts.floor(below - 1)
		w := last >> 6
		below = w << 6
		copy(tags[below:], t.tags[below:min(below+64, end)])
		starts.words[w] = t.starts.words[w]
		starts.setUpper(w)
		// The block there may be free, and have its other tag in a word without a start.
		k := t.tags[last]
		n := &t.nodes[k]
		if stop := last + uint(n.size&^freeBit); n.size >= freeBit && stop < end {
			tags[stop-1] = k
		}
	}
}

// growFor makes room for one more block, at granule g.
func (t *TLSF) growFor(g uint32) {
	t.newNode()
	t.growTags(uint(g))
}

// startSet is a set of granules that finds the nearest member at or below a
// given one in as many steps as it has levels: bit g of the lowest level is
// granule g, bit w of a level above is word w of the level below.
type startSet struct {
	words []uint64
	upper [][]uint64
}

// newStartSet is an empty set with room for the granules below n.
func newStartSet(n uint) (s startSet) {
	n = (n + 63) / 64
	s.words = make([]uint64, n)
	for n > 1 {
		n = (n + 63) / 64
		s.upper = append(s.upper, make([]uint64, n))
	}
	return s
}

// reset empties the set, in time by its members. Requires that 0 is one, or that
// there is no room.
func (s *startSet) reset() {
	for end := uint(len(s.words)) << 6; end > 0; {
		w := s.floor(end-1) >> 6
		s.words[w] = 0
		s.clearUpper(w)
		end = w << 6
	}
}

// set adds granule g.
func (s *startSet) set(g uint) {
	w := &s.words[g>>6]
	old := *w
	*w = old | 1<<(g&63)
	if old == 0 {
		s.setUpper(g >> 6)
	}
}

func (s *startSet) setUpper(g uint) {
	for _, level := range s.upper {
		old := level[g>>6]
		level[g>>6] = old | 1<<(g&63)
		if old != 0 {
			return
		}
		g >>= 6
	}
}

// clear removes granule g.
func (s *startSet) clear(g uint) {
	w := &s.words[g>>6]
	*w &^= 1 << (g & 63)
	if *w == 0 {
		s.clearUpper(g >> 6)
	}
}

func (s *startSet) clearUpper(g uint) {
	for _, level := range s.upper {
		level[g>>6] &^= 1 << (g & 63)
		if level[g>>6] != 0 {
			return
		}
		g >>= 6
	}
}

// floor is the largest member that is not above g. Requires that 0 is one.
func (s *startSet) floor(g uint) uint {
	if g >= uint(len(s.words))<<6 {
		g = uint(len(s.words))<<6 - 1
	}
	if m := s.words[g>>6] << (63 - g&63); m != 0 {
		return g - uint(bits.LeadingZeros64(m))
	}
	for i, level := range s.upper {
		g >>= 6
		// Word g of the level below has nothing: look strictly below it.
		m := level[g>>6] & (1<<(g&63) - 1)
		if m == 0 {
			continue
		}
		g = g&^63 + uint(bits.Len64(m)) - 1
		for ; i > 0; i-- {
			g = g<<6 + uint(bits.Len64(s.upper[i-1][g])) - 1
		}
		return g<<6 + uint(bits.Len64(s.words[g])) - 1
	}
	return 0
}
