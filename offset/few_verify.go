package offset

import (
	"fmt"
	"iter"
)

// Blocks yields the free blocks by ascending offset, merged as far as they
// touch. The placement must not change meanwhile.
func (f *Few) Blocks() iter.Seq[Block] {
	if f.many {
		return f.tlsf.Blocks()
	}
	return func(yield func(Block) bool) {
		for i := range f.n + 1 {
			if b := (Block{f.runs[i].End, f.runs[i+1].Start}); b.Size() > 0 && !yield(b) {
				return
			}
		}
	}
}

// String draws the layout: a line of summary, a bar, and the free blocks.
func (f *Few) String() string {
	return drawTree(fmt.Sprintf("few many=%v", f.many), f.size, f.FreeBytes(), f.Fits(), f.Blocks())
}

// Verify checks every invariant in the type's comment and returns nil if all hold.
// O(n).
func (f *Few) Verify() error {
	if *f == (Few{}) {
		return nil
	}
	if g := f.low + 1; f.low < 7 || f.low > 63 || g&f.low != 0 || f.size < 0 || f.size&f.low != 0 || f.n < 0 || f.n > manyRuns || f.n == manyRuns && !f.many {
		return fmt.Errorf("few: %d runs in %d offsets by granules of %d", f.n, f.size, g)
	}
	if t := f.tlsf; t != nil && (t.Size() != f.size || t.low != uint(f.low)) {
		return fmt.Errorf("few: the tlsf has %d offsets by granules of %d", t.Size(), t.Granule())
	} else if f.many {
		if t == nil || t.FreeBytes() == f.size {
			return fmt.Errorf("few: there are many blocks, and the tlsf has none")
		}
		return t.Verify()
	} else if t != nil && t.FreeBytes() != f.size {
		return fmt.Errorf("few: there are few blocks, and the tlsf has some")
	}
	if f.runs[0] != (Block{}) || f.runs[f.n+1] != (Block{f.size, f.size}) {
		return fmt.Errorf("few: the ends are %v and %v", f.runs[0], f.runs[f.n+1])
	}
	free, fits := f.size, 0
	for i := range f.n + 1 {
		r, next := f.runs[i], f.runs[i+1]
		switch {
		case i > 0 && r.Size() <= 0, next.Start < r.End, next.End < next.Start:
			return fmt.Errorf("few: %v and %v are not in order", r, next)
		case next.Start == r.End && r.End&f.low != 0:
			return fmt.Errorf("few: %v and %v touch within a granule", r, next)
		}
		free -= r.Size()
		start, end := f.gap(i)
		fits = max(fits, end-start)
	}
	if free != f.free || fits != f.fits {
		return fmt.Errorf("few: %d bytes free, %d for issue, counted %d and %d", free, fits, f.free, f.fits)
	}
	return nil
}
