package offset

import (
	"fmt"
	"iter"
	"math/bits"
	"strings"
)

// All yields every block by ascending offset: a run of live bytes with true, a
// run of free bytes with false. Free runs are merged to the byte; live blocks
// that touch are apart, also when one allocation was cut in two around a hole.
// The placement must not change meanwhile.
func (t *TLSF) All() iter.Seq2[Block, bool] {
	return func(yield func(Block, bool) bool) {
		dead := 0 // start of the free run that ends where the next live one begins
		live := func(lo, hi int) bool {
			if dead < lo && !yield(Block{dead, lo}, false) {
				return false
			}
			dead = hi
			return yield(Block{lo, hi}, true)
		}
		for g := uint(0); g < t.total; {
			i := t.tags[g]
			n := &t.nodes[i]
			g += uint(n.size &^ freeBit)
			if n.size >= freeBit {
				continue
			}
			if n.prev&holed == 0 {
				if !live(t.liveRange(i)) {
					return
				}
				continue
			}
			base := int(n.start) << (t.shift & 63)
			for m := t.holes[n.start]; m != 0; {
				lo := bits.TrailingZeros64(m)
				hi := lo + bits.TrailingZeros64(^(m >> lo))
				if !live(base+lo, base+hi) {
					return
				}
				m = m >> hi << hi
			}
		}
		if dead < t.Size() {
			yield(Block{dead, t.Size()}, false)
		}
	}
}

// Blocks yields the free runs by ascending offset, slack and partly freed
// granules included, merged as far as they touch. The placement must not
// change meanwhile.
func (t *TLSF) Blocks() iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for b, live := range t.All() {
			if !live && !yield(b) {
				return
			}
		}
	}
}

// String draws the layout: a line of summary, then every block by offset.
func (t *TLSF) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tlsf size=%d granule=%d free=%d fits=%d", t.Size(), t.Granule(), t.free, t.Fits())
	drawBlocks(&b, t.All())
	return b.String()
}

// drawBlocks appends one line per block.
func drawBlocks(b *strings.Builder, blocks iter.Seq2[Block, bool]) {
	for block, live := range blocks {
		state := "free"
		if live {
			state = "live"
		}
		fmt.Fprintf(b, "\n%v %s %d", block, state, block.Size())
	}
}

// Verify checks every invariant in the type's comment and returns nil if all hold.
// O(n).
func (t *TLSF) Verify() error {
	if len(t.nodes) == 0 && t.total == 0 && t.free == 0 {
		return nil
	}
	if t.shift < 3 || t.shift > 6 || t.low != 1<<t.shift-1 || t.total > maxGranules || uint(t.classes) != tlsfClass(t.total)+1 ||
		uint(len(t.tags)) > t.total || uint(len(t.nodes)) < uint(t.classes) {
		return fmt.Errorf("tlsf: tables do not match %d granules of %d bytes", t.total, 1<<t.shift)
	}
	kind := make([]byte, len(t.nodes)) // what the walk found each node to be
	for c := range t.classes {
		kind[c] = nodeHead
	}
	starts := newStartSet(uint(len(t.tags)))
	live, err := t.verifyBlocks(kind, &starts)
	if err != nil {
		return err
	}
	if err := t.starts.equal(&starts); err != nil {
		return err
	}
	if t.free+live != t.Size() {
		return fmt.Errorf("tlsf: %d free + %d live bytes != size %d", t.free, live, t.Size())
	}
	if err := t.verifyLists(kind); err != nil {
		return err
	}
	for i := t.spare; i != 0; i = t.nodes[i].next {
		if uint(i) >= uint(len(kind)) || kind[i] != nodeUnseen || t.nodes[i].start != noStart || t.nodes[i].size != 0 {
			return fmt.Errorf("tlsf: node %d in the spare list is in use", i)
		}
		kind[i] = nodeSpare
	}
	for i, k := range kind {
		if k == nodeUnseen || k == nodeFree {
			return fmt.Errorf("tlsf: node %d %+v is in no list", i, t.nodes[i])
		}
	}
	return nil
}

const (
	nodeUnseen = iota
	nodeLive
	nodeFree   // a free block, not yet met in a list
	nodeListed // a free block met in its list
	nodeSpare
	nodeHead
)

// verifyBlocks walks the blocks in order and returns the number of live bytes.
func (t *TLSF) verifyBlocks(kind []byte, starts *startSet) (live int, err error) {
	masks := 0
	var before tlsfNode
	for g := uint(0); g < t.total; {
		if g >= uint(len(t.tags)) {
			return 0, fmt.Errorf("tlsf: no tag for the block at granule %d", g)
		}
		i := t.tags[g]
		if uint(i) >= uint(len(t.nodes)) || kind[i] != nodeUnseen {
			return 0, fmt.Errorf("tlsf: granule %d is tagged with node %d", g, i)
		}
		n := t.nodes[i]
		size := uint(n.size &^ freeBit)
		if uint(n.start) != g || size == 0 || size > t.total-g {
			return 0, fmt.Errorf("tlsf: node %d %+v is not a block at granule %d", i, n, g)
		}
		starts.set(g)
		g += size
		if n.size >= freeBit {
			kind[i] = nodeFree
			switch {
			case before.size >= freeBit:
				return 0, fmt.Errorf("tlsf: free blocks touch at granule %d", n.start)
			case before.prev&joinRight != 0:
				return 0, fmt.Errorf("tlsf: free block at granule %d is joined", n.start)
			case g < t.total && (g >= uint(len(t.tags)) || t.tags[g-1] != i):
				return 0, fmt.Errorf("tlsf: last granule of free block at %d is not tagged with node %d", n.start, i)
			}
			before = tlsfNode{size: n.size}
			continue
		}
		kind[i] = nodeLive
		if err := t.verifyLive(n, before); err != nil {
			return 0, err
		}
		if n.prev&holed != 0 {
			masks++
			live += bits.OnesCount64(t.holes[n.start])
		} else {
			lo, hi := t.liveRange(i)
			live += hi - lo
		}
		before = n
	}
	if before.size < freeBit && before.prev&joinRight != 0 {
		return 0, fmt.Errorf("tlsf: last block is joined to the right")
	}
	if masks != len(t.holes) {
		return 0, fmt.Errorf("tlsf: %d blocks with holes, %d masks", masks, len(t.holes))
	}
	return live, nil
}

// verifyLive checks the dead bytes and junctions of live block n, which
// follows block before.
func (t *TLSF) verifyLive(n, before tlsfNode) error {
	slack, skip := n.prev&slackBits, n.prev&skipBits>>skipShift
	granule := uint32(t.Granule())
	joined := before.size < freeBit && before.prev&joinRight != 0
	switch {
	case n.prev&^liveBits != 0 || slack >= granule || skip >= granule || slack+skip >= n.size*granule && n.size == 1:
		return fmt.Errorf("tlsf: live block at granule %d has state %#x", n.start, n.prev)
	case joined != (n.prev&joinLeft != 0):
		return fmt.Errorf("tlsf: block at granule %d is joined on one side only", n.start)
	case joined && (skip != 0 || before.prev&slackBits != 0):
		return fmt.Errorf("tlsf: dead bytes between joined blocks at granule %d", n.start)
	}
	if n.prev&holed == 0 {
		return nil
	}
	live := t.holes[n.start]
	from, to := bits.TrailingZeros64(live), bits.Len64(live)
	switch {
	case n.size != 1 || slack|skip != 0 || to > t.Granule() || live == 0 || bits.OnesCount64(live) == to-from:
		return fmt.Errorf("tlsf: granule %d with a hole has live bytes %#x", n.start, live)
	case n.prev&joinLeft != 0 && from > 0 || n.prev&joinRight != 0 && to < t.Granule():
		return fmt.Errorf("tlsf: granule %d is joined across dead bytes %#x", n.start, live)
	}
	return nil
}

// verifyLists checks the class lists and the bitmaps over them.
func (t *TLSF) verifyLists(kind []byte) error {
	var lists [16]uint64
	var summary uint
	for c := range t.classes {
		head := t.nodes[c]
		if head.start != noStart || head.size != 0 {
			return fmt.Errorf("tlsf: head %d is %+v", c, head)
		}
		before := c
		for i := head.next; i != c; i = t.nodes[i].next {
			if uint(i) >= uint(len(kind)) || kind[i] != nodeFree {
				return fmt.Errorf("tlsf: list %d holds node %d, no free block or met before", c, i)
			}
			kind[i] = nodeListed
			n := t.nodes[i]
			if tlsfClass(uint(n.size&^freeBit)) != uint(c) || n.prev != before {
				return fmt.Errorf("tlsf: list %d: node %d %+v after node %d", c, i, n, before)
			}
			before = i
		}
		if head.prev != before {
			return fmt.Errorf("tlsf: head %d: last is %d, not %d", c, before, head.prev)
		}
		if before != c {
			lists[c>>6] |= 1 << (c & 63)
			summary |= 1 << (c >> 6)
		}
	}
	if lists != t.lists || summary != t.summary {
		return fmt.Errorf("tlsf: list maps %x %#x, want %x %#x", t.lists, t.summary, lists, summary)
	}
	return nil
}

// equal reports how s differs from want, a set grown to the same range.
func (s *startSet) equal(want *startSet) error {
	if len(s.words) != len(want.words) || len(s.upper) != len(want.upper) {
		return fmt.Errorf("tlsf: starts have %d words and %d levels, want %d and %d",
			len(s.words), len(s.upper), len(want.words), len(want.upper))
	}
	for level, words := range append([][]uint64{s.words}, s.upper...) {
		good := want.words
		if level > 0 {
			good = want.upper[level-1]
		}
		for w := range good {
			if w >= len(words) || words[w] != good[w] {
				return fmt.Errorf("tlsf: starts level %d, word %d is wrong", level, w)
			}
		}
	}
	return nil
}
