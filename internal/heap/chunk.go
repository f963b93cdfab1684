package heap

import (
	"cmp"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/gomem-go/gomem/offset"
)

// pageSize is what small chunks are rounded to, in bytes, and what debug mode finds blocks
// by. A source may align its mappings to less.
const pageSize = 4096

// chunk is one mapping of the backing and the placement of blocks in it.
type chunk struct {
	raw     []byte // the mapping
	mem     []byte // its part in use, aligned to spanUnit if it may hold spans
	place   offset.Allocator
	split   splitter // place if it can split a block, nil otherwise
	size    int      // of the placement
	nspans  int      // spans in it
	spanned int      // bytes of them
	index   int      // in Heap.chunks and in the tourney
	idle    bool     // no block and no span is in it
	emptyAt int      // in mappings.empty, if idle
	used    uint32   // the period of the clock in which it became idle

	served   uint32 // the period in which something was placed here last
	released int    // bytes that are free since their pages went back, about
}

// nowEmpty enters c, in which nothing is left, among the empty chunks. Under mu.
func (h *Heap) nowEmpty(c *chunk) {
	c.idle, c.emptyAt = true, h.nempty
	h.maps.empty = append(h.maps.empty, c)
	h.nempty++
}

// notEmpty takes c out of the empty chunks. Under mu.
func (h *Heap) notEmpty(c *chunk) {
	h.nempty--
	all := h.maps.empty
	moved := all[h.nempty]
	all[c.emptyAt], moved.emptyAt = moved, c.emptyAt
	all[h.nempty], c.idle = nil, false
	h.maps.empty = all[:h.nempty]
	h.low = min(h.low, h.nempty)
}

// sortEmpty sorts the empty chunks, those that go first to the end, and returns them. Under
// mu.
func (h *Heap) sortEmpty(compare func(a, b *chunk) int) []*chunk {
	if h.nempty == 0 {
		return nil
	}
	slices.SortFunc(h.maps.empty, compare)
	for i, c := range h.maps.empty {
		c.emptyAt = i
	}
	return h.maps.empty
}

// byIndex has the newest go first.
func byIndex(a, b *chunk) int { return cmp.Compare(a.index, b.index) }

// splitter is a placement that can make two blocks of one.
type splitter interface{ Split(at int) bool }

// table finds the chunk of an address: open addressing over the 1 MiB regions
// of the address space, one entry for each region that a chunk reaches into. It is
// made anew when a quarter of the entries is taken, or hardly any. Under mu.
type table struct {
	shift   uint // 64 less log2 of the number of entries
	taken   int  // of these
	entries []entry
}

// entry is free as long as size is 0.
type entry struct {
	base, size uintptr // of the chunk
	region     uintptr // the number of the region
	c          *chunk
}

const (
	tableShift = 20
	hashFactor = 0x9E3779B97F4A7C15 // 2^64 / golden ratio (Knuth, vol. 3, 6.4)
)

// noChunks is the table of a heap without chunks.
var noChunks = table{shift: 63, entries: make([]entry, 2)}

// hash is where the entry of a region is, or as little behind as others allow.
func (t *table) hash(region uintptr) int {
	return int(uint64(region) * hashFactor >> (t.shift & 63))
}

// find returns the entry of the chunk that contains addr, or nil.
func (t *table) find(addr uintptr) *entry {
	for i := t.hash(addr >> tableShift); ; i++ {
		e := &t.entries[i&(len(t.entries)-1)]
		switch {
		case e.size == 0:
			return nil
		case addr-e.base < e.size:
			return e
		}
	}
}

// newTable returns a table of the chunks, nil ones left out, with room for as
// many again.
func newTable(chunks []*chunk) *table {
	taken := 0
	for _, c := range chunks {
		taken += c.regions()
	}
	bits := uint(1)
	for 1<<bits < 8*taken {
		bits++
	}
	t := &table{shift: 64 - bits, entries: make([]entry, 1<<bits)}
	for _, c := range chunks {
		if c != nil {
			t.enter(c)
		}
	}
	return t
}

// room says whether c can be entered.
func (t *table) room(c *chunk) bool { return t.taken+c.regions() <= len(t.entries)/4 }

// enter enters c, for which there is room.
func (t *table) enter(c *chunk) {
	for r := range c.regions() {
		region := c.addr()>>tableShift + uintptr(r)
		i := t.hash(region)
		for t.entries[i].size != 0 {
			i = (i + 1) & (len(t.entries) - 1)
		}
		t.entries[i] = entry{base: c.addr(), size: uintptr(len(c.mem)), region: region, c: c}
	}
	t.taken += c.regions()
}

// remove removes c, which is there, and says whether so many entries are free now
// that a new table is due.
func (t *table) remove(c *chunk) (due bool) {
	for r := range c.regions() {
		region := c.addr()>>tableShift + uintptr(r)
		i := t.hash(region)
		for t.entries[i].c != c || t.entries[i].region != region {
			i = (i + 1) & (len(t.entries) - 1)
		}
		t.vacate(i)
	}
	t.taken -= c.regions()
	return t.taken < len(t.entries)/64
}

// vacate frees entry i and moves up those behind it that would be looked for in vain
// otherwise (Knuth, vol. 3, 6.4, algorithm R).
func (t *table) vacate(i int) {
	last := len(t.entries) - 1
	for j := (i + 1) & last; t.entries[j].size != 0; j = (j + 1) & last {
		if home := t.hash(t.entries[j].region); (j-home)&last >= (j-i)&last {
			t.entries[i] = t.entries[j]
			i = j
		}
	}
	t.entries[i] = entry{}
}

// regions is how many the chunk reaches into; none if c is nil.
func (c *chunk) regions() int {
	if c == nil {
		return 0
	}
	base := c.addr()
	return int((base+uintptr(len(c.mem))-1)>>tableShift - base>>tableShift + 1)
}

func (c *chunk) addr() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(c.mem))) }

// empty says whether no block and no span is left in the chunk.
func (c *chunk) empty() bool { return c.place.FreeBytes() == c.size }

// tourney is a complete binary tree over the chunks in which each node holds
// the larger of its children; the leaves hold what fits into each chunk. It
// finds the first chunk with enough room in O(log chunks).
type tourney struct{ node []int }

func (t *tourney) leaves() int { return len(t.node) / 2 }

// set changes leaf i; O(1) if it did not change.
func (t *tourney) set(i, fits int) {
	for i >= t.leaves() {
		t.grow()
	}
	node := t.node
	if i += len(node) / 2; node[i] == fits {
		return
	}
	// Up to the root, also where nothing changes any more: no branch predictor
	// knows where that begins.
	for ; i > 1; i >>= 1 {
		node[i] = fits
		fits = max(fits, node[i^1])
	}
	node[1] = fits
}

// grow doubles the number of leaves.
func (t *tourney) grow() {
	grown := tourney{make([]int, 4*max(1, t.leaves()))}
	for j := range t.leaves() {
		grown.set(j, t.node[t.leaves()+j])
	}
	*t = grown
}

// first returns the lowest leaf that holds at least n, or -1.
func (t *tourney) first(n int) int {
	if len(t.node) == 0 || t.node[1] < n {
		return -1
	}
	return t.descend(1, n)
}

// after returns the lowest leaf beyond leaf i that holds at least n, or -1.
func (t *tourney) after(i, n int) int {
	for i += t.leaves(); i > 1; i >>= 1 {
		if i&1 == 0 && t.node[i+1] >= n {
			return t.descend(i+1, n)
		}
	}
	return -1
}

// descend returns the lowest leaf below node i that holds at least n; there is
// one.
func (t *tourney) descend(i, n int) int {
	node := t.node
	for i < len(node)/2 {
		// One further if that holds less: without a branch, as in set.
		i = 2*i + int(uint(node[2*i]-n)>>(bits.UintSize-1))
	}
	return i - len(node)/2
}
