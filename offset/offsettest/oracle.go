package offsettest

import (
	"slices"

	"github.com/gomem-go/gomem/offset"
)

// Part is a live range together with the allocation it is left of.
type Part struct {
	offset.Block
	Owner offset.Block // the allocation as requested
	Stamp uint64       // the same for all parts of one allocation, never reused
}

// Oracle is the shadow model: the live parts in ascending order, disjoint. What
// is in none of them is free. Parts of one allocation that touch stay apart if
// they were cut, as two owners of one buffer would keep them.
type Oracle struct {
	size  int
	parts []Part
	live  int
	stamp uint64
}

// NewOracle makes the oracle of an empty range [0, size).
func NewOracle(size int) *Oracle { return &Oracle{size: size} }

// Size is the number of offsets.
func (o *Oracle) Size() int { return o.size }

// Parts are the live parts in ascending order; a view until the next change.
func (o *Oracle) Parts() []Part { return o.parts }

// LiveBytes is the number of offsets in use.
func (o *Oracle) LiveBytes() int { return o.live }

// AppendFree appends the free blocks to dst, ascending and merged. O(parts).
func (o *Oracle) AppendFree(dst []offset.Block) []offset.Block {
	end := 0
	for i := range o.parts {
		if p := &o.parts[i]; p.Start > end {
			dst = append(dst, offset.Block{Start: end, End: p.Start})
		}
		end = o.parts[i].End
	}
	if end < o.size {
		dst = append(dst, offset.Block{Start: end, End: o.size})
	}
	return dst
}

// find returns the index of the first part that ends after at.
func (o *Oracle) find(at int) int {
	i, _ := slices.BinarySearchFunc(o.parts, at, func(p Part, at int) int {
		if p.End <= at {
			return -1
		}
		return 1
	})
	return i
}

// Allocate marks [start, start+size) live. It reports false, and changes
// nothing, if the range is not within the oracle's or overlaps a live part.
func (o *Oracle) Allocate(start, size int) bool {
	if start < 0 || size <= 0 || size > o.size || start > o.size-size {
		return false
	}
	b := offset.Block{Start: start, End: start + size}
	i := o.find(start)
	if i < len(o.parts) && o.parts[i].Start < b.End {
		return false
	}
	o.stamp++
	o.parts = slices.Insert(o.parts, i, Part{Block: b, Owner: b, Stamp: o.stamp})
	o.live += size
	return true
}

// Free takes [start, start+size) out of the live parts. It reports false, and
// changes nothing, unless each of these offsets is live.
func (o *Oracle) Free(start, size int) bool {
	if !o.Live(start, size) {
		return false
	}
	end := start + size
	first := o.find(start)
	var keep [2]Part
	kept := keep[:0]
	if p := o.parts[first]; p.Start < start {
		p.End = start
		kept = append(kept, p)
	}
	last := first
	for o.parts[last].End < end {
		last++
	}
	if p := o.parts[last]; p.End > end {
		p.Start = end
		kept = append(kept, p)
	}
	o.parts = slices.Replace(o.parts, first, last+1, kept...)
	o.live -= size
	return true
}

// Live reports whether [start, start+size) is a range of live offsets only.
func (o *Oracle) Live(start, size int) bool {
	if start < 0 || size <= 0 || size > o.size || start > o.size-size {
		return false
	}
	at, end := start, start+size
	for i := o.find(start); at < end; i++ {
		if i == len(o.parts) || o.parts[i].Start > at {
			return false
		}
		at = o.parts[i].End
	}
	return true
}

// OneOwner reports whether a live range lies within one allocation. It goes by
// stamps: a hole in an allocation may have been issued again, and then the
// range between its ends has two owners.
func (o *Oracle) OneOwner(start, size int) bool {
	i := o.find(start)
	stamp := o.parts[i].Stamp
	for ; i < len(o.parts) && o.parts[i].Start < start+size; i++ {
		if o.parts[i].Stamp != stamp {
			return false
		}
	}
	return true
}

// cut keeps [Start, at) and [at, End) of part i as two parts from now on.
func (o *Oracle) cut(i, at int) {
	if p := o.parts[i]; p.Start < at && at < p.End {
		o.parts[i].End = at
		p.Start = at
		o.parts = slices.Insert(o.parts, i+1, p)
	}
}

// split makes what is left of an allocation from at on one of its own. It reports
// false, and changes nothing, if at is not between two live offsets of one
// allocation.
func (o *Oracle) split(at int) bool {
	if !o.Live(at-1, 2) || !o.OneOwner(at-1, 2) {
		return false
	}
	i := o.find(at)
	o.cut(i, at)
	whole := o.parts[i].Stamp
	o.stamp++
	for i := range o.parts {
		switch p := &o.parts[i]; {
		case p.Stamp != whole:
		case p.Start < at:
			p.Owner.End = at
		default:
			p.Owner.Start, p.Stamp = at, o.stamp
		}
	}
	return true
}

func (o *Oracle) reset() { o.parts, o.live = o.parts[:0], 0 }
