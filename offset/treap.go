package offset

import (
	"fmt"
	"iter"
)

// SingleTree places blocks in one balanced tree: address-ordered first fit,
// exact to the byte, in expected logarithmic time.
//
// Each node is a free block; what is in no node is in use. The tree is a treap,
// ordered by offset and heap-ordered by random priorities, and each node knows
// the largest free block of its subtree:
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
// room". Taking a block's head and giving back a range that touches a free
// block change one node in place.
//
// Invariants (Verify checks them):
//
//   - the blocks lie in [0, Size()), ascend in the order of the tree, are not
//     empty and do not touch
//   - no child has a higher priority than its parent
//   - max is the largest block of the node's subtree
//   - parent links mirror child links; a node is in the tree, in the spare list,
//     or node 0, the leaf that stands for "none"
//
// The accounting equation: FreeBytes() + bytes in use == Size(), where
// FreeBytes() is the sum of the blocks.
//
// Priorities come from a generator with a fixed seed, so a sequence of calls
// always builds the same tree: depth is 3·log₂ n expected for any sequence that
// was not made against this very generator.
//
// Source: R. Seidel, C. R. Aragon, "Randomized Search Trees", Algorithmica 16,
// 1996. The augmentation is the one of C. J. Stephenson, "Fast fits", SOSP 1983.
//
// The node table grows to the most free blocks there ever were at once, 40
// bytes each. A SingleTree must not be used by several goroutines at once.
type SingleTree struct {
	nodes []treapNode // nodes[0] is no block, so index 0 means none
	root  uint32
	spare uint32 // first unused node, linked by left
	size  int
	free  int // Σ of the blocks
	seed  uint32
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
var treapNone = treapNode{start: maxInt, end: -1}

// treapSeed starts the generator of priorities; any value but 0 will do.
const treapSeed = 2463534242

// NewSingleTree returns a placement of size offsets, all free. A size of 0 is
// fine, and then nothing can be allocated.
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

// Fits is the size of the largest free block. O(1).
func (t *SingleTree) Fits() int { return t.nodes[t.root].max }

// Reset makes all offsets free again and keeps the table. O(1).
func (t *SingleTree) Reset() {
	t.nodes = append(t.nodes[:0], treapNone)
	t.root, t.spare, t.free, t.seed = 0, 0, t.size, treapSeed
	if t.size > 0 {
		t.insert(0, t.size, 0, 0)
	}
}

// Find returns the first offset of the lowest free block of at least size
// offsets, which Allocate(size) would return; -1 if there is none or size is
// not positive. Nothing is taken. O(log n) expected, never allocates.
func (t *SingleTree) Find(size int) int {
	if size <= 0 || size > t.nodes[t.root].max {
		return -1
	}
	return t.nodes[t.firstFit(t.root, size)].start
}

// Allocate takes size offsets from the lowest free block that has them and
// returns the first, or -1 if there is none or size is not positive. O(log n)
// expected, never allocates.
func (t *SingleTree) Allocate(size int) int {
	if size <= 0 || size > t.nodes[t.root].max {
		return -1
	}
	i := t.firstFit(t.root, size)
	n := &t.nodes[i]
	at := n.start
	t.free -= size
	t.cutHead(i, at+size)
	return at
}

// AllocateAligned is Allocate with the first offset a multiple of align, a
// power of two; -1 also for any other align. It takes the lowest block that has
// size offsets if the alignment works out there, else the lowest with
// size+align-1, else whichever holds the request: a search through all blocks
// of at least size, and the only call that may take O(n). Never allocates in
// steady state.
func (t *SingleTree) AllocateAligned(size, align int) int {
	if size <= 0 || size > t.nodes[t.root].max || align <= 0 || align&(align-1) != 0 {
		return -1
	}
	i := t.firstFit(t.root, size)
	if !t.holds(i, size, align) {
		if sure := size + (align - 1); sure > 0 && sure <= t.nodes[t.root].max {
			i = t.firstFit(t.root, sure)
		} else {
			for i != 0 && !t.holds(i, size, align) {
				i = t.nextFit(i, size)
			}
		}
	}
	if i == 0 {
		return -1
	}
	n := &t.nodes[i]
	start, end := n.start, n.end
	at := (start + (align - 1)) &^ (align - 1)
	t.free -= size
	switch stop := at + size; {
	case at == start:
		t.cutHead(i, stop)
	case stop == end:
		t.cutTail(i, at)
	default:
		t.cutTail(i, at)
		t.insertAfter(i, stop, end)
	}
	return at
}

// holds reports whether block i has size offsets from a multiple of align.
func (t *SingleTree) holds(i uint32, size, align int) bool {
	n := &t.nodes[i]
	return -n.start&(align-1) <= n.end-n.start-size
}

// Free gives back [start, start+size), live offsets of one or more blocks: the
// tree knows what is free, not where blocks end. Errors: a [*RangeError] that
// wraps ErrInvalidSize if size is not positive, ErrNotOwned if the range leaves
// [0, Size()), ErrDoubleFree with the free block it overlaps. O(log n)
// expected; allocates only when the table grows.
func (t *SingleTree) Free(start, size int) error {
	if uint(start) >= uint(t.size) || uint(size-1) >= uint(t.size-start) {
		return outside(start, size)
	}
	end := start + size
	nodes := t.nodes
	var last, before, after uint32
	for i := t.root; i != 0; {
		n := &nodes[i]
		last = i
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
	switch {
	case a.start == end && b.end == start:
		from := b.start
		t.remove(before)
		a.start = from
		t.grown(after)
	case a.start == end:
		a.start = start
		t.grown(after)
	case b.end == start:
		b.end = end
		t.grown(before)
	default:
		t.insert(start, end, last, before)
	}
	return nil
}

// outside is the refusal of a range that is not in [0, Size()).
func outside(start, size int) error {
	if size <= 0 {
		return &RangeError{Range: Block{start, start}, Err: ErrInvalidSize}
	}
	end := maxInt
	if start <= maxInt-size {
		end = start + size
	}
	return &RangeError{Range: Block{start, end}, Err: ErrNotOwned}
}

// doubleFree is the refusal of a range that touches a free block.
func doubleFree(start, end, freeStart, freeEnd int) error {
	return &RangeError{Block{start, end}, Block{freeStart, freeEnd}, ErrDoubleFree}
}

// Blocks yields the free blocks by ascending offset. The allocator must not
// change meanwhile. O(n) for all of them.
func (t *SingleTree) Blocks() iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for i := t.leftmost(t.root); i != 0; i = t.next(i) {
			if n := &t.nodes[i]; !yield(Block{n.start, n.end}) {
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
