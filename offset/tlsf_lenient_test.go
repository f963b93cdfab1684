package offset_test

import (
	"errors"
	"iter"

	"github.com/gomem-go/gomem/offset"
)

// lenient makes a placement that knows where its blocks end accept a Free that
// runs across several live blocks, as the trees do, by freeing each part by
// itself. So one program means the same on every placement; that the placement
// itself refuses such a range is tested elsewhere.
type lenient struct {
	offset.Allocator
	all func() iter.Seq2[offset.Block, bool]
}

func (l lenient) Free(start, size int) error {
	err := l.Allocator.Free(start, size)
	if !errors.Is(err, offset.ErrNotOwned) || start < 0 || size > l.Size()-start {
		return err
	}
	var parts []offset.Block
	pos, end := start, start+size
	for b, live := range l.all() {
		if live && b.Start <= pos && pos < min(b.End, end) {
			parts = append(parts, offset.Block{Start: pos, End: min(b.End, end)})
			pos = parts[len(parts)-1].End
		}
	}
	if pos < end {
		err := l.Allocator.Free(pos, 1)
		if re, ok := errors.AsType[*offset.RangeError](err); ok {
			re.Range = offset.Block{Start: start, End: end}
		}
		return err
	}
	for _, p := range parts {
		if err := l.Allocator.Free(p.Start, p.Size()); err != nil {
			return err
		}
	}
	return nil
}
