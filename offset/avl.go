package offset

import (
	"fmt"
	"iter"
	"math"
)

// TwoTree places blocks with two balanced trees over the same nodes: best
// fit, exact to the byte, in logarithmic time at worst.
//
// Each node is a free block; offsets in no node are in use. One AVL tree orders
// the nodes by size, and by offset where sizes are equal, so that one walk from
// the root finds the smallest block that fits. The other orders them by offset,
// so that one walk finds the neighbours of a freed range. The nodes also form a
// ring in the order by size, through node 0, in which the largest block is next
// to node 0:
//
//	in use:      ██████        ████      █████████     ███████
//	free:     [0,4)    [10,18)     [22,28)        [37,42)
//
//	by offset          [10,18)              by size        [37,42)
//	                  /       \                           /       \
//	             [0,4)         [22,28)               [0,4)         [22,28)
//	                                  \                                   \
//	                                   [37,42)                             [10,18)
//	ring: 0 → [0,4) → [37,42) → [22,28) → [10,18) → 0
//
// A finger holds the free block used last: allocating from its head and
// freeing next to it touch no node. A node whose size changes stays where it
// is in the tree by size if it is still in order there.
//
// Invariants (Verify checks them):
//
//   - the blocks lie in [0, Size()), ascend in the order of the tree by offset,
//     are not empty and do not touch
//   - the tree by size and the ring hold the same nodes, in ascending order
//   - at each node of either tree the heights of the two subtrees differ by at
//     most one, and tilt says by which: depth is at most 1.44·log₂(n+2)
//   - parent links mirror child links; a node is in both trees, in the spare
//     list, or node 0
//   - the finger is empty or a block of the trees, whose node has the block
//     as it was when the finger was put there
//
// The accounting equation: FreeBytes() + bytes in use == Size(), where
// FreeBytes() is the sum of the blocks, with the finger's block as the finger
// has it.
//
// Source: G. M. Adelson-Velsky, E. M. Landis, "An algorithm for the organization
// of information", 1962; with balance factors and parent links as in D. E.
// Knuth, The Art of Computer Programming, vol. 3, 6.2.3.
//
// The node table grows to the largest number of free blocks at any one time,
// 56 bytes each. A TwoTree must not be used by several goroutines at once:
// even Find writes, when it moves the finger. The zero value has no room.
type TwoTree struct {
	nodes []avlNode // nodes[0] is no block, so index 0 means none
	root  [2]uint32 // bySize and byOffset
	spare uint32    // first unused node, linked by next
	size  int
	free  int    // Σ of the blocks
	last  finger // the block in use last
}

var _ Allocator = (*TwoTree)(nil)

// An avlNode is one free block.
type avlNode struct {
	start, end int
	by         [2]avlLinks // its places in the two trees
	prev, next uint32      // its neighbours in the ring by size
}

// avlNone is node 0 of an empty tree. Its bounds make it no obstacle as a
// neighbour on either side, and smaller than any block.
var avlNone = avlNode{start: math.MaxInt, end: -1}

// The two trees.
const (
	bySize = iota
	byOffset
)

// NewTwoTree returns a placement of size offsets, all free. size may be 0, and
// then nothing can be allocated.
//
// Panics with ErrInvalidSize if size is negative. 224 bytes of table.
func NewTwoTree(size int) *TwoTree {
	if size < 0 {
		panic(fmt.Errorf("offset: NewTwoTree(%d): %w", size, ErrInvalidSize))
	}
	t := &TwoTree{size: size, nodes: make([]avlNode, 1, 4)}
	t.Reset()
	return t
}

// Size is the number of offsets managed.
func (t *TwoTree) Size() int { return t.size }

// FreeBytes is the number of free offsets. O(1).
func (t *TwoTree) FreeBytes() int { return t.free }

// Fits is the size of the largest free block. O(1).
func (t *TwoTree) Fits() int {
	if t.free == 0 {
		return 0
	}
	most := t.nodes[0].prev
	if most == t.last.node {
		most = t.nodes[most].prev
	}
	return max(t.last.end-t.last.start, t.nodes[most].room())
}

// Reset makes all offsets free again and keeps the table. O(1).
func (t *TwoTree) Reset() {
	t.nodes = append(t.nodes[:0], avlNone)
	t.root, t.spare, t.free, t.last = [2]uint32{}, 0, t.size, noFinger
	if t.size > 0 {
		t.insert(0, t.size, 0, 0)
	}
}

// Find returns the first offset of the smallest free block of at least size
// offsets, the lowest if there are several, which Allocate(size) would return,
// or -1 if there is none or size is not positive. It takes nothing. O(log n),
// never allocates.
func (t *TwoTree) Find(size int) int {
	// This is serves, written out: as it stands it is just small enough to be
	// inlined. Where point finds nothing there is no finger, which starts at -1.
	if size <= t.last.below || size > t.last.end-t.last.start {
		t.point(size)
	}
	return t.last.start
}

// Allocate takes size offsets from the smallest free block that is large
// enough and returns the first, or -1 if there is none or size is not
// positive. O(1) from the block used last, else O(log n); never allocates.
func (t *TwoTree) Allocate(size int) int {
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

// point puts the finger on the smallest block of at least size offsets. If there
// is none it reports false, and there is no finger.
func (t *TwoTree) point(size int) bool {
	t.settle()
	i := t.bestFit(size)
	if i == 0 {
		t.last = noFinger
		return false
	}
	n := &t.nodes[i]
	below := max(0, t.nodes[n.prev].room())
	t.last = finger{n.start, n.end, n.start, n.end, below, t.free - n.room(), i}
	return true
}

// settle writes the finger back into the trees and lifts it.
func (t *TwoTree) settle() {
	f := &t.last
	i, start, end := f.node, f.start, f.end
	if i == 0 {
		return
	}
	*f = noFinger
	switch n := &t.nodes[i]; {
	case start == end:
		t.remove(i)
	case start != n.start || end != n.end:
		t.resize(i, start, end)
	}
}

// AllocateAligned is Allocate with the first offset a multiple of align, a
// power of two; for any other align it returns -1. It takes the smallest block
// that holds the aligned request if that is among the first eight of at least
// size offsets, else the smallest with size+align-1, else any block that holds
// the request. The last is a search through all blocks of at least size, and
// makes this the only call that may take O(n). Allocates only when the table
// grows.
func (t *TwoTree) AllocateAligned(size, align int) int {
	if align <= 0 || align&(align-1) != 0 || size > t.free {
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
	start, end := t.nodes[i].start, t.nodes[i].end
	at := (start + (align - 1)) &^ (align - 1)
	t.free -= size
	switch stop := at + size; {
	case at == start && stop == end:
		t.remove(i)
	case at == start:
		t.resize(i, stop, end)
	default:
		t.resize(i, start, at)
		if stop < end {
			t.insertAfter(i, stop, end)
		}
	}
	return at
}

// alignedFit is a block that has size offsets from a multiple of align, or 0.
func (t *TwoTree) alignedFit(size, align int) uint32 {
	tries := 8
	for i := t.bestFit(size); i != 0; i = t.nodes[i].next {
		if holds(t.nodes[i].start, t.nodes[i].end, size, align) {
			return i
		}
		if tries--; tries == 0 {
			// Where the sum overflows it is negative, and in no block.
			if sure := t.bestFit(size + (align - 1)); sure != 0 {
				return sure
			}
		}
	}
	return 0
}

// Free gives back [start, start+size), live offsets of one or more blocks: the
// trees know which offsets are free, not where blocks end. The error is a
// [*RangeError] that wraps ErrInvalidSize if size is not positive, ErrNotOwned
// if the range leaves [0, Size()), or ErrDoubleFree, with the free block that
// the range overlaps. O(1) next to the block used last, else O(log n);
// allocates only when the table grows.
func (t *TwoTree) Free(start, size int) error {
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

func (t *TwoTree) release(start, size int) error {
	if uint(start) >= uint(t.size) || uint(size-1) >= uint(t.size-start) {
		return outOfRange(start, size)
	}
	t.settle()
	end := start + size
	leaf, before, after := t.around(start)
	b, a := &t.nodes[before], &t.nodes[after]
	switch {
	case b.end > start:
		return doubleFree(start, end, b.start, b.end)
	case a.start < end:
		return doubleFree(start, end, a.start, a.end)
	}
	t.free += size
	f := finger{low: b.end + 1, high: max(min(a.start-1, t.size), end), below: math.MaxInt}
	if before == 0 && after == 0 {
		f.below = 0
	}
	switch {
	case a.start == end && after != 0 && b.end == start:
		t.remove(before)
		t.resize(after, b.start, a.end)
		return nil
	case a.start == end && after != 0: // a range may end at MaxInt
		t.resize(after, start, a.end)
		f.node, f.high = after, a.end
	case b.end == start:
		t.resize(before, b.start, end)
		f.node, f.low = before, b.start
	default:
		f.node = t.insert(start, end, leaf, before)
	}
	n := &t.nodes[f.node]
	f.start, f.end, f.rest = n.start, n.end, t.free-n.room()
	t.last = f
	return nil
}

// Blocks yields the free blocks by ascending offset. The allocator must not
// change meanwhile. O(n) for all of them.
func (t *TwoTree) Blocks() iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for i := t.first(byOffset); i != 0; i = t.after(byOffset, i) {
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
func (t *TwoTree) String() string {
	return drawTree("two trees", t.size, t.free, t.Fits(), t.Blocks())
}
