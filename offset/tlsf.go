package offset

import (
	"fmt"
	"math/bits"
)

// TLSF places blocks by two-level segregated fit: good fit in constant time.
//
// The range is cut into granules. A block is a run of whole granules, free or
// live, and every granule belongs to one block:
//
//	granule   0     1     2     3     4     5     6     7     8 …
//	         |  live A   |        free       |live B|   live C    |
//	tags      A           f           f       B      C
//	starts    1     0     1     0     0       1      1     0
//
// Free blocks are kept in lists by size class: one class per size below 64
// granules, 32 classes per power of two above. Two levels of bitmaps say
// which lists are not empty, so two bit scans find the smallest such class whose blocks
// are all large enough. A request gets the first block of that list; the rest of the
// block is cut off and filed again; a freed block is merged at once with the free blocks
// beside it. No step loops over anything that grows.
//
// The length of the request is remembered to the byte. The bytes of a block's last
// granule beyond that length are slack, which counts as free but cannot be allocated.
// Free takes any part of a block: its whole granules can be allocated again at once; a
// granule freed in part follows when its last live byte is freed, so less than one
// granule at each end of a freed range cannot be allocated.
//
// Invariants (Verify checks them; [TLSF.Size] is T granules of G bytes):
//
//   - the blocks cover [0, T) without gap or overlap, and no two free blocks touch
//   - tags maps the first granule of every block to its node, and the last
//     granule of every free block that does not end at T
//   - starts holds exactly the first granules
//   - a free block is in the list of its class and in no other; a bit of the
//     list maps is set exactly when its list is not empty
//   - a node is the head of a list, or a block, or in the spare list
//   - the live bytes of a block are [start·G+skip, end·G-slack); a granule whose
//     live bytes are not one run is a block of its own, with a mask in holes
//
// The accounting equation, in bytes:
//
//	FreeBytes() + Σ live bytes == Size()
//
// Source: M. Masmano, I. Ripoll, A. Crespo, J. Real, "TLSF: a new dynamic
// memory allocator for real-time systems", ECRTS 2004. Unlike there, nothing
// is stored in the managed memory: nodes live in a pool and link by index, and
// a block's neighbours are found in a table by granule instead of through a
// header.
//
// The tables grow with the highest granule ever in use and with the number of
// blocks; [TLSF.Reserve] grows them beforehand. An operation that has to grow them
// takes O(blocks) instead of O(1), plus the runtime's time to clear a bit per granule.
//
// A TLSF must not be used by several goroutines at once.
type TLSF struct {
	shift uint // log2 of the granule
	low   uint // granule-1: the bits of an offset below it
	total uint // granules managed
	free  int  // bytes not live

	nodes   []tlsfNode // first the heads of the lists, then blocks
	classes uint32     // number of heads: nodes[c] is the head of class c
	spare   uint32     // first unused node, linked by next; 0 for none
	tags    []uint32   // granule -> node; stale, and maybe no node, unless the node confirms it

	lists   [16]uint64 // bit c: list c holds something
	summary uint       // bit w: lists[w] is not zero

	starts startSet          // the first granule of every block
	holes  map[uint32]uint64 // granule -> its live bytes, where they are not one run
}

var _ Allocator = (*TLSF)(nil)

// A tlsfNode is one block, the head of a list, or unused. Lists are rings
// through their head, so a block leaves its list without knowing its class.
// No block has class 0: node 0 stands for no node.
type tlsfNode struct {
	start uint32 // first granule; noStart when no block
	size  uint32 // granules, freeBit added when free; 0 when no block
	next  uint32 // free, head: next of the ring; unused: next spare
	prev  uint32 // free, head: previous of the ring; live: see below
}

const (
	freeBit = 1 << 31
	noStart = 1<<32 - 1

	maxGranules = 1<<31 - 1

	// The parts of prev in a live node. A plain block has only slack, which
	// lets Free compare a whole word and be done.
	slackBits = 0x00ff  // dead bytes at the end of the last granule
	skipBits  = 0xff00  // dead bytes at the start of the first granule
	skipShift = 8       //
	joinLeft  = 1 << 16 // the block on the left is part of the same allocation
	joinRight = 1 << 17 // the block on the right is part of the same allocation
	holed     = 1 << 18 // one granule, live bytes given by holes
	liveBits  = slackBits | skipBits | joinLeft | joinRight | holed
)

// NewTLSF returns a placement of size offsets in granules of granule bytes, a
// power of two from 8 to 64. size is rounded down to a multiple of granule;
// the result may be 0, and then nothing can be allocated.
//
// Panics with ErrInvalidSize if size is negative or 2^31 granules or more, or
// granule is none of 8, 16, 32, 64. It starts with tables of less than 1 KiB for up to
// 16 granules, 8 KiB for up to 2^16, and 16 KiB for more; they grow with use. What an offset
// counts is the caller's choice: NewTLSF(1<<40/512, 8) places pages of 4 KiB in a file of 1
// TiB, in units of 512 bytes.
func NewTLSF(size, granule int) *TLSF {
	if granule < 8 || granule > 64 || granule&(granule-1) != 0 || size < 0 || size/granule > maxGranules {
		panic(fmt.Errorf("offset: NewTLSF(%d, %d): %w: up to %d granules of 8, 16, 32 or 64 can be had", size, granule, ErrInvalidSize, maxGranules))
	}
	t := &TLSF{
		shift: uint(bits.TrailingZeros(uint(granule))),
		low:   uint(granule) - 1,
		total: uint(size / granule),
	}
	t.classes = uint32(tlsfClass(t.total)) + 1
	t.nodes = make([]tlsfNode, t.classes, t.classes+3)
	t.Reset()
	return t
}

// Size is the number of offsets managed: a multiple of the granule.
func (t *TLSF) Size() int { return int(t.total << (t.shift & 63)) }

// Granule is the unit of placement: every block starts at a multiple of it.
func (t *TLSF) Granule() int { return 1 << (t.shift & 63) }

// FreeBytes is the number of offsets that are not live, slack included. O(1).
func (t *TLSF) FreeBytes() int { return t.free }

// Reset makes everything free again and keeps the tables. O(blocks).
func (t *TLSF) Reset() {
	t.nodes = t.nodes[:t.classes]
	for c := range t.nodes {
		t.nodes[c] = tlsfNode{start: noStart, next: uint32(c), prev: uint32(c)}
	}
	t.spare = 0
	t.lists = [16]uint64{}
	t.summary = 0
	t.starts.reset()
	t.holes = nil
	t.free = t.Size()
	if t.total == 0 {
		return
	}
	t.growTags(0)
	k := t.newNode()
	t.spare = t.nodes[k].next
	t.nodes[k] = tlsfNode{size: uint32(t.total) | freeBit}
	t.tags[0] = k
	t.starts.set(0)
	t.link(t.nodes, k, tlsfClass(t.total))
}

// Reserve grows the tables for the given number of blocks, live and free
// together, wherever they lie, so that no operation allocates until there are more,
// except a Free of bytes within a granule, which records the hole in a map.
func (t *TLSF) Reserve(blocks int) {
	if t.total > 0 {
		t.growTags(t.total - 1)
	}
	blocks = int(min(uint(max(blocks, 0)), t.total))
	// One more, for what a Resize or a Free cuts off and joins at once.
	if blocks += int(t.classes) + 1; cap(t.nodes) < blocks {
		t.nodes = append(make([]tlsfNode, 0, blocks), t.nodes...)
	}
}

// Allocate takes size bytes and returns the first offset, a multiple of the
// granule, or -1 if size is not positive or no suitable block is free. It
// considers blocks of classes that hold only blocks of at least size bytes,
// and the first block of the highest class that is not empty. O(1); allocates
// only to grow a table.
func (t *TLSF) Allocate(size int) int {
	q := (uint(size) - 1) >> (t.shift & 63) // granules needed, less one
	if q >= t.total {
		return -1
	}
	c := tlsfClass(q) + 1
	if m := t.lists[c>>6&15] >> (c & 63); m != 0 {
		c += uint(bits.TrailingZeros64(m))
	} else if c = t.searchAbove(q, c); c == 0 {
		return -1
	}
	need := uint32(q + 1)
	slack := uint32(-uint(size) & t.low)
	nodes, tags := t.nodes, t.tags
	i := nodes[c].next
	n := &nodes[i]
	s := n.start
	rest := n.size - need // keeps freeBit
	if rest == freeBit {
		t.free -= size
		t.unlink(nodes, n)
		n.size, n.prev = need, slack
		return int(s) << (t.shift & 63)
	}
	// Growing a table starts over, so that what is held here stays in
	// registers in the calls that do not.
	k, cut := t.spare, s+need
	if k == 0 || uint(cut) >= uint(len(tags)) {
		t.growFor(cut)
		return t.Allocate(size)
	}
	t.free -= size
	live := &nodes[k]
	t.spare = live.next
	live.start, live.size, live.prev = s, need, slack
	tags[s] = k
	// The block keeps its node and its place in the list unless the cut
	// changes its class: cutting from one large block costs no list step.
	n.start, n.size = cut, rest
	tags[cut] = i
	t.starts.set(uint(cut))
	if d := tlsfClass(uint(rest &^ freeBit)); d != c {
		t.unlink(nodes, n)
		t.link(nodes, i, d)
	}
	return int(s) << (t.shift & 63)
}

// Find returns what Allocate(size) would return and takes nothing. O(1).
func (t *TLSF) Find(size int) int {
	q := (uint(size) - 1) >> (t.shift & 63)
	if q >= t.total {
		return -1
	}
	c := t.search(q)
	if c == 0 {
		return -1
	}
	return int(t.nodes[t.nodes[c].next].start) << (t.shift & 63)
}

// Fits is the largest size that Allocate would serve now: that of the first block of the
// highest class that is not empty, 0 if nothing is free. O(1).
func (t *TLSF) Fits() int {
	if t.summary == 0 {
		return 0
	}
	return int(t.nodes[t.nodes[t.topClass()].next].size&^freeBit) << (t.shift & 63)
}

// AllocateAligned is Allocate with the first offset a multiple of align. It
// returns -1 also if align is not a power of two. Up to the granule every
// block is aligned anyway. Above, it looks at three blocks at most: the one
// Allocate would take, one that has room for the worst gap, and the first of
// the highest class. The gap before the block stays free. O(1).
func (t *TLSF) AllocateAligned(size, align int) int {
	i, at := t.findAligned(size, align)
	if at < 0 {
		return -1
	}
	g, need := uint32(uint(at)>>(t.shift&63)), uint32((uint(size)-1)>>(t.shift&63))+1
	t.carve(i, g, need)
	t.nodes[t.tags[g]].prev = uint32(-uint(size) & t.low)
	t.free -= size
	return at
}

// findAligned is the free block that AllocateAligned would use and the offset
// it would return, or -1.
func (t *TLSF) findAligned(size, align int) (i uint32, at int) {
	q := (uint(size) - 1) >> (t.shift & 63)
	if align <= 0 || align&(align-1) != 0 || q >= t.total {
		return 0, -1
	}
	need, step := q+1, max(uint(align)>>(t.shift&63), 1)
	for try := range 3 {
		if countSteps {
			stepCount++
		}
		c := uint(0)
		switch {
		case try == 0:
			c = t.search(q)
		case try == 1 && q+step <= t.total:
			c = t.search(q + step - 1)
		case try == 2 && t.summary != 0:
			c = t.topClass()
		}
		if c == 0 {
			continue
		}
		i = t.nodes[c].next
		if g, ok := t.alignedIn(i, need, step); ok {
			return i, int(g << (t.shift & 63))
		}
	}
	return 0, -1
}

// alignedIn is the first multiple of step at which need granules lie within
// free block i.
func (t *TLSF) alignedIn(i uint32, need, step uint) (at uint, ok bool) {
	n := &t.nodes[i]
	start, size := uint(n.start), uint(n.size&^freeBit)
	gap := -start & (step - 1)
	return start + gap, gap < size && size-gap >= need
}

// carve makes the granules [at, at+need) of free block i a live block.
func (t *TLSF) carve(i, at, need uint32) {
	n := &t.nodes[i]
	t.unlink(t.nodes, n)
	gap := at - n.start
	size := n.size &^ freeBit
	n.size, n.prev = size, 0
	if gap > 0 {
		k := t.splitNode(i, at)
		t.file(i)
		i = k
	}
	if size-gap > need {
		t.file(t.splitNode(i, at+need))
	}
}
