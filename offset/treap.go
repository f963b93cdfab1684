package offset

import (
	"fmt"
	"iter"
	"math"
)

// SingleTree places blocks in one balanced tree: address-ordered first fit,
// exact to the byte, in expected logarithmic time.
//
// Each node is a free block; offsets in no node are in use. The tree is a
// treap, ordered by offset and heap-ordered by random priorities, and each node
// knows the largest free block of its subtree:
//
//	in use:      ██████        ████      █████████     ███████
//	free:     [0,4)    [10,18)     [22,28)        [37,42)
//
//	                     [22,28) max 8
//	                    /             \
//	             [0,4) max 8        [37,42) max 5
//	                    \
//	                   [10,18) max 8
//
// A search goes left whenever the left subtree can serve the request, so it
// walks one path and ends at the lowest block that fits: there is no false "no
// room". A finger holds the free block used last: allocating from its head and
// freeing next to it touch no node.
//
// Invariants (Verify checks them):
//
//   - the blocks lie in [0, Size()), ascend in the order of the tree, are not
//     empty and do not touch
//   - no child has a higher priority than its parent
//   - max is the largest block of the node's subtree
//   - the finger is empty or a block of the tree, whose node has the block as
//     it was when the finger was put there
//   - parent links mirror child links; a node is in the tree, in the spare list,
//     or node 0, the leaf that stands for "none"
//
// The accounting equation: FreeBytes() + bytes in use == Size(), where
// FreeBytes() is the sum of the blocks, with the finger's block as the finger
// has it.
//
// Priorities come from a generator with a fixed seed, so a sequence of calls
// always builds the same tree: the expected depth is 3·log₂ n for any sequence
// that was not designed against this particular generator.
//
// Source: R. Seidel, C. R. Aragon, "Randomized Search Trees", Algorithmica 16,
// 1996. The augmentation is the one of C. J. Stephenson, "Fast fits", SOSP 1983.
//
// The node table grows to the largest number of free blocks at any one time, 40
// bytes each. A SingleTree must not be used by several goroutines at once: even
// Find writes, when it moves the finger. The zero value has no room.
type SingleTree struct {
	nodes []treapNode // nodes[0] is no block, so index 0 means none
	root  uint32
	spare uint32 // first unused node, linked by left
	seed  uint32
	size  int
	free  int    // Σ of the blocks
	last  finger // the block in use last
}

var _ Allocator = (*SingleTree)(nil)

// A treapNode is one free block.
type treapNode struct {
	start, end  int
	max         int // size of the largest block in this subtree
	left, right uint32
	parent      uint32
	prio        uint32
}

// treapNone is node 0. Its bounds make it no obstacle as a neighbour on either
// side, and its max makes it a subtree that serves nothing.
var treapNone = treapNode{start: math.MaxInt, end: -1}

// treapSeed starts the generator of priorities; any value but 0 will do.
const treapSeed = 2463534242

// NewSingleTree returns a placement of size offsets, all free. size may be 0,
// and then nothing can be allocated.
//
// Panics with ErrInvalidSize if size is negative. 160 bytes of table.
func NewSingleTree(size int) *SingleTree {
	if size < 0 {
		panic(fmt.Errorf("offset: NewSingleTree(%d): %w", size, ErrInvalidSize))
	}
	t := &SingleTree{size: size, nodes: make([]treapNode, 1, 4)}
	t.Reset()
	return t
}

// Size is the number of offsets managed.
func (t *SingleTree) Size() int { return t.size }

// FreeBytes is the number of free offsets. O(1).
func (t *SingleTree) FreeBytes() int { return t.free }

// Fits is the size of the largest free block. O(1), or O(log n) expected while
// the block used last was the largest and has shrunk.
func (t *SingleTree) Fits() int {
	if t.free == 0 {
		return 0
	}
	top, f := t.nodes[t.root].max, &t.last
	if f.node == 0 {
		return top
	}
	room := f.end - f.start
	if n := &t.nodes[f.node]; room >= top || n.end-n.start < top {
		return max(room, top)
	}
	child := f.node
	most := max(room, t.nodes[t.nodes[child].left].max, t.nodes[t.nodes[child].right].max)
	for i := t.nodes[child].parent; i != 0; i = t.nodes[i].parent {
		n := &t.nodes[i]
		other := n.left
		if other == child {
			other = n.right
		}
		most = max(most, n.end-n.start, t.nodes[other].max)
		child = i
	}
	return most
}

// Reset makes all offsets free again and keeps the table. O(1).
func (t *SingleTree) Reset() {
	t.nodes = append(t.nodes[:0], treapNone)
	t.root, t.spare, t.free, t.seed, t.last = 0, 0, t.size, treapSeed, noFinger
	if t.size > 0 {
		t.insert(0, t.size, 0, 0)
	}
}

// Find returns the first offset of the lowest free block of at least size
// offsets, which Allocate(size) would return, or -1 if there is none or size is
// not positive. It takes nothing. O(1) from the block used last, else O(log n)
// expected; never allocates.
func (t *SingleTree) Find(size int) int {
	// This is serves, written out: as it stands it is just small enough to be
	// inlined. Where point finds nothing there is no finger, which starts at -1.
	if size <= t.last.below || size > t.last.end-t.last.start {
		t.point(size)
	}
	return t.last.start
}

// Allocate takes size offsets from the lowest free block that is large enough
// and returns the first, or -1 if there is none or size is not positive. O(1)
// from the block used last, else O(log n) expected; never allocates.
func (t *SingleTree) Allocate(size int) int {
	if f := &t.last; f.serves(size) {
		at := f.start
		f.start = at + size
		t.free = f.total()
		return at
	}
	if !t.point(size) {
		return -1
	}
	return t.Allocate(size)
}

// point puts the finger on the lowest block of at least size offsets. If there
// is none it reports false, and there is no finger.
func (t *SingleTree) point(size int) bool {
	t.settle()
	nodes := t.nodes
	i := t.root
	if size <= 0 || size > t.free || size > nodes[i].max {
		t.last = noFinger
		return false
	}
	below := 0 // the largest block in front of the one that is searched
	for {
		n := &nodes[i]
		left := nodes[n.left].max
		if left >= size {
			i = n.left
			continue
		}
		room := n.end - n.start
		if room >= size {
			below = max(below, left)
			t.last = finger{n.start, n.end, n.start, n.end, below, t.free - room, i}
			return true
		}
		below = max(below, left, room)
		i = n.right
	}
}

// settle writes the finger back into the tree and lifts it.
func (t *SingleTree) settle() {
	f := &t.last
	i, start, end := f.node, f.start, f.end
	if i == 0 {
		return
	}
	*f = noFinger
	n := &t.nodes[i]
	was := n.end - n.start
	n.start, n.end = start, end
	switch room := end - start; {
	case room == 0:
		t.remove(i)
	case room > was:
		t.grown(i)
	case room < was && was == n.max:
		t.shrunk(i)
	}
}

// AllocateAligned is Allocate with the first offset a multiple of align, a
// power of two; for any other align it returns -1. It takes the lowest block of
// at least size offsets if the aligned request fits there, else the lowest with
// size+align-1, else any block that holds the request. The last is a search
// through all blocks of at least size, and makes this the only call that may
// take O(n). Allocates only when the table grows.
func (t *SingleTree) AllocateAligned(size, align int) int {
	if size <= 0 || align <= 0 || align&(align-1) != 0 || size > t.free {
		return -1
	}
	if f := &t.last; f.start&(align-1) == 0 && f.serves(size) {
		return t.Allocate(size)
	}
	t.settle()
	i := t.alignedFit(size, align)
	if i == 0 {
		return -1
	}
	n := &t.nodes[i]
	start, end := n.start, n.end
	at := (start + (align - 1)) &^ (align - 1)
	t.free -= size
	switch stop := at + size; {
	case at == start && stop == end:
		t.remove(i)
	case at == start:
		n.start = stop
		t.shrunk(i)
	default:
		n.end = at
		t.shrunk(i)
		if stop < end {
			t.insertAfter(i, stop, end)
		}
	}
	return at
}

// alignedFit is a block that has size offsets from a multiple of align, or 0.
func (t *SingleTree) alignedFit(size, align int) uint32 {
	most := t.nodes[t.root].max
	if size > most {
		return 0
	}
	i := t.firstFit(t.root, size)
	fits := func() bool { return holds(t.nodes[i].start, t.nodes[i].end, size, align) }
	if fits() {
		return i
	}
	if sure := size + (align - 1); sure > 0 && sure <= most {
		return t.firstFit(t.root, sure)
	}
	for i != 0 && !fits() {
		i = t.nextFit(i, size)
	}
	return i
}

// Free gives back [start, start+size), live offsets of one or more blocks: the
// tree knows which offsets are free, not where blocks end. The error is a
// [*RangeError] that wraps ErrInvalidSize if size is not positive, ErrNotOwned
// if the range leaves [0, Size()), or ErrDoubleFree, with the free block that
// the range overlaps. O(log n) expected; allocates only when the table grows.
func (t *SingleTree) Free(start, size int) error {
	switch f := &t.last; {
	case f.takesBelow(start, size):
		f.start = start
		t.free = f.total()
		return nil
	case f.takesAbove(start, size):
		f.end = start + size
		t.free = f.total()
		return nil
	}
	return t.release(start, size)
}

func (t *SingleTree) release(start, size int) error {
	if uint(start) >= uint(t.size) || uint(size-1) >= uint(t.size-start) {
		return outOfRange(start, size)
	}
	t.settle()
	end := start + size
	nodes := t.nodes
	var leaf, before, after uint32
	for i := t.root; i != 0; {
		n := &nodes[i]
		leaf = i
		if start < n.start {
			after, i = i, n.left
		} else {
			before, i = i, n.right
		}
	}
	b, a := &nodes[before], &nodes[after]
	switch {
	case b.end > start:
		return doubleFree(start, end, b.start, b.end)
	case a.start < end:
		return doubleFree(start, end, a.start, a.end)
	}
	t.free += size
	f := finger{low: b.end + 1, high: max(min(a.start-1, t.size), end), below: math.MaxInt}
	if before == 0 {
		f.below = 0
	}
	switch {
	case a.start == end && after != 0 && b.end == start:
		from := b.start
		t.remove(before)
		a.start = from
		t.grown(after)
		return nil
	case a.start == end && after != 0: // a range may end at MaxInt
		a.start = start
		t.grown(after)
		f.node, f.high = after, a.end
	case b.end == start:
		b.end = end
		t.grown(before)
		f.node, f.low = before, b.start
	default:
		f.node = t.insert(start, end, leaf, before)
	}
	n := &t.nodes[f.node]
	f.start, f.end, f.rest = n.start, n.end, t.free-(n.end-n.start)
	t.last = f
	return nil
}

// Blocks yields the free blocks by ascending offset. The allocator must not
// change meanwhile. O(n) for all of them.
func (t *SingleTree) Blocks() iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for i := t.leftmost(t.root); i != 0; i = t.next(i) {
			b := Block{t.nodes[i].start, t.nodes[i].end}
			if i == t.last.node {
				b = Block{t.last.start, t.last.end}
			}
			if b.Size() > 0 && !yield(b) {
				return
			}
		}
	}
}

// String draws the layout: a line of summary, the range in proportion, then the
// first free blocks in order.
func (t *SingleTree) String() string {
	return drawTree("single tree", t.size, t.free, t.Fits(), t.Blocks())
}
