package offset

import (
	"fmt"
	"math"
)

// Few is a placement for few blocks: first fit over an array of them.
//
// It is for a large range that mostly holds one block, or a handful. The live
// bytes are an array of runs by offset, with an empty run at either end; the
// bytes between two runs are free:
//
//	runs      [0,0)   [0,900)          [1024,5000)          [8192,8192)
//	free                      [900,1024)           [5000,8192)
//
// So everything that an operation reads lies side by side, however large the range
// is, whereas a [TLSF] reads its tables wherever a block begins or ends. An
// operation walks the array, which is short. When the array is full, Few switches
// to a TLSF with the same blocks, and when that is empty, back to the array.
//
// Blocks start at granules, and as in a TLSF no granule holds bytes of two
// blocks: less than one granule at each end of a free range cannot be
// allocated.
//
// Invariants (Verify checks them):
//
//   - runs[0] is [0, 0), runs[n+1] is [Size(), Size()), and those between are not
//     empty, ascend and do not overlap
//   - if two runs touch, they do so at a granule: they are two blocks
//   - fits is the largest size that a gap can serve; free is the bytes that are in
//     no run
//   - if many is set, tlsf has all of this instead; if not, tlsf is empty or nil
//
// A Few must not be used by several goroutines at once.
type Few struct {
	fits int // the largest gap, in whole granules
	free int // bytes not live
	n    int // live runs
	low  int // granule-1: the bits of an offset below it
	size int
	many bool  // the blocks are in tlsf; n runs were too many
	tlsf *TLSF // nil until the first time that there were many
	runs [manyRuns + 2]Block
}

var _ Allocator = (*Few)(nil)

// manyRuns is the number of runs that are too many: a walk over them takes as long
// as what a TLSF reads from far.
const manyRuns = 31

// NewFew returns a placement of size offsets in granules of granule bytes, a
// power of two from 8 to 64. size is rounded down to a multiple of granule;
// the result may be 0, and then nothing can be allocated.
//
// Panics with ErrInvalidSize as NewTLSF does. It takes less than 1 KiB, plus
// the tables of a TLSF once there have been 31 blocks.
func NewFew(size, granule int) *Few {
	if granule < 8 || granule > 64 || granule&(granule-1) != 0 || size < 0 || size/granule > maxGranules {
		panic(fmt.Errorf("offset: NewFew(%d, %d): %w", size, granule, ErrInvalidSize))
	}
	f := &Few{low: granule - 1, size: size &^ (granule - 1)}
	f.Reset()
	return f
}

// Size is the number of offsets managed: a multiple of the granule.
func (f *Few) Size() int { return f.size }

// Granule is the unit of placement: every block starts at a multiple of it.
func (f *Few) Granule() int { return f.low + 1 }

// FreeBytes is the number of offsets that are not live. O(1).
func (f *Few) FreeBytes() int {
	if f.many {
		return f.tlsf.FreeBytes()
	}
	return f.free
}

// Fits is the largest size that Allocate would serve now, 0 if none. O(1).
func (f *Few) Fits() int {
	if f.many {
		return f.tlsf.Fits()
	}
	return f.fits
}

// Room is how many further blocks Allocate can place before the array is full, for
// callers that would rather stop there; any number once it was. O(1).
func (f *Few) Room() int {
	if f.many {
		return math.MaxInt
	}
	return manyRuns - 1 - f.n
}

// Reset makes everything free again and keeps the tables. O(blocks).
func (f *Few) Reset() {
	if f.many {
		f.tlsf.Reset()
	}
	f.begin()
}

// begin is Reset where the TLSF is empty.
func (f *Few) begin() {
	f.many, f.n = false, 0
	f.fits, f.free = f.size, f.size
	f.runs[0], f.runs[1] = Block{}, Block{f.size, f.size}
}

// gap is the range between runs i and i+1 that is for issue: whole granules. It
// may end before it starts.
func (f *Few) gap(i int) (start, end int) {
	return (f.runs[i].End + f.low) &^ f.low, f.runs[i+1].Start &^ f.low
}

// Allocate takes size bytes from the first gap with room for them and returns the first
// offset, a multiple of the granule, or -1 if there is no such gap or size is not
// positive. O(1), since there are few blocks; allocates only when there are many.
func (f *Few) Allocate(size int) int {
	if f.many {
		return f.tlsf.Allocate(size)
	}
	i, start, end := f.first(size)
	if start >= 0 {
		f.take(i, start, size, end-start)
	}
	return start
}

// first is the first gap that has size bytes for issue, from start to end; start is -1
// if none has.
func (f *Few) first(size int) (i, start, end int) {
	if uint(size)-1 >= uint(f.fits) {
		return 0, -1, 0
	}
	for ; ; i++ {
		if start, end = f.gap(i); end-start >= size {
			return i, start, end
		}
	}
}

// AllocateAligned is Allocate with the first offset a multiple of align. It
// returns -1 also if align is not a power of two. O(1).
func (f *Few) AllocateAligned(size, align int) int {
	if f.many {
		return f.tlsf.AllocateAligned(size, align)
	}
	if uint(size)-1 >= uint(f.fits) || align <= 0 || align&(align-1) != 0 {
		return -1
	}
	for i := range f.n + 1 {
		start, end := f.gap(i)
		if skip := -start & (align - 1); size <= end-start-skip {
			f.take(i, start+skip, size, end-start)
			return start + skip
		}
	}
	return -1
}

// Find returns what Allocate(size) would return and takes nothing. O(1).
func (f *Few) Find(size int) int {
	if f.many {
		return f.tlsf.Find(size)
	}
	_, start, _ := f.first(size)
	return start
}

// take makes [start, start+size), which lies in gap i, live; the gap has room for
// that many.
func (f *Few) take(i, start, size, room int) {
	f.free -= size
	f.insert(i+1, Block{start, start + size})
	if room == f.fits {
		f.measure()
	}
	f.count()
}

// insert makes b run i.
func (f *Few) insert(i int, b Block) {
	for j := f.n + 1; j >= i; j-- {
		f.runs[j+1] = f.runs[j]
	}
	f.runs[i] = b
	f.n++
}

// measure finds the largest gap.
func (f *Few) measure() {
	f.fits = 0
	for i := range f.n + 1 {
		start, end := f.gap(i)
		f.fits = max(f.fits, end-start)
	}
}

// count has a TLSF take over where there are many blocks.
func (f *Few) count() {
	if f.n == manyRuns {
		f.handOver()
	}
}

// handOver makes the blocks those of the TLSF: of one block of everything, what lies
// between them is freed, and where two touch it is cut.
func (f *Few) handOver() {
	if f.tlsf == nil {
		f.tlsf = NewTLSF(f.size, f.low+1)
	}
	// Once, instead of again and again with the gaps.
	f.tlsf.growTags(uint(min(f.runs[f.n].End, f.size-1)) >> (f.tlsf.shift & 63))
	f.many = true
	f.tlsf.Allocate(f.size)
	for i := range f.n + 1 {
		start, end := f.runs[i].End, f.runs[i+1].Start
		if start == end {
			f.tlsf.Split(end) // false at either end of the range
		} else if err := f.tlsf.Free(start, end-start); err != nil {
			panic(fmt.Sprintf("offset: internal error: %v", err))
		}
	}
}

// Split cuts the live block around at in two: from then on [start, at) and [at,
// end) are separate blocks, to be freed one by one. It returns false and
// changes nothing if at is not a multiple of the granule or not inside the live
// bytes of a block. O(1); allocates only when there are many.
func (f *Few) Split(at int) bool {
	if f.many {
		return f.tlsf.Split(at)
	}
	if at&f.low != 0 {
		return false
	}
	i := f.find(at)
	r := f.runs[i]
	if at <= r.Start || at >= r.End {
		return false
	}
	f.runs[i].Start = at
	f.insert(i, Block{r.Start, at})
	f.count()
	return true
}

// find is the first run that ends behind at, or the one that ends the array.
func (f *Few) find(at int) int {
	i := 1
	for i <= f.n && f.runs[i].End <= at {
		i++
	}
	return i
}

// Free gives back [start, start+size): a block, or any part of one in any
// order. It refuses whatever TLSF.Free refuses. O(1), since there are few
// blocks; allocates only when there are many.
func (f *Few) Free(start, size int) error {
	if f.many {
		err := f.tlsf.Free(start, size)
		if err == nil && f.tlsf.FreeBytes() == f.size {
			f.begin()
		}
		return err
	}
	i := f.find(start)
	r, end := &f.runs[i], start+size
	if size <= 0 || start < r.Start || size > r.End-start {
		return f.refuse(i, start, size)
	}
	f.free += size
	switch {
	case start > r.Start && end < r.End:
		f.insert(i, Block{r.Start, start})
		f.runs[i+1].Start = end
		f.widen(i)
		f.count()
	case start > r.Start:
		r.End = start
		f.widen(i)
	case end < r.End:
		r.Start = end
		f.widen(i - 1)
	default:
		f.n--
		for j := i; j <= f.n+1; j++ {
			f.runs[j] = f.runs[j+1]
		}
		f.widen(i - 1)
	}
	return nil
}

// widen takes note that gap i has grown.
func (f *Few) widen(i int) {
	start, end := f.gap(i)
	f.fits = max(f.fits, end-start)
}

// refuse is why [start, start+size), which is not within run i, cannot be freed.
func (f *Few) refuse(i, start, size int) error {
	if err := outside(start, size, f.size); err != nil {
		return err
	}
	bad := Block{start, start + size}
	before, r := f.runs[i-1], f.runs[i]
	if start >= r.Start { // it begins in run i and leaves it
		before, r = r, f.runs[i+1]
	}
	if free := (Block{before.End, r.Start}); free.Size() > 0 {
		return &RangeError{bad, free, ErrDoubleFree}
	}
	return &RangeError{Range: bad, Err: ErrNotOwned}
}
