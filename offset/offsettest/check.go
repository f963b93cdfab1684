package offsettest

import (
	"errors"
	"math"
	"slices"

	"github.com/gomem-go/gomem/offset"
)

// fits reports whether the model has room. What is larger than the range never
// fits, so that a Config need not mind sums that overflow.
func (r *run) fits(size, align int) bool {
	return size <= r.o.Size() && r.cfg.Fits(r.free, size, align)
}

// allocate requests size offsets and holds the answer against the model.
func (r *run) allocate(size, align int) {
	must := r.fits(size, align)
	var at int
	if align == 1 {
		r.note("Allocate(%d)", size)
		found := r.a.Find(size)
		if at = r.a.Allocate(size); at != found {
			r.fail("Allocate(%d) = %d, Find said %d", size, at, found)
		}
	} else {
		r.note("AllocateAligned(%d, %d)", size, align)
		at = r.a.AllocateAligned(size, align)
	}
	switch {
	case at < 0 && must:
		r.fail("no room for %d at %d, with %v free", size, align, r.free)
	case at < -1:
		r.fail("no room is reported as %d", at)
	case at < 0:
	case !must:
		r.fail("%d at %d served at %d, with %v free", size, align, at, r.free)
	case at&(align-1) != 0:
		r.fail("%d is not a multiple of %d", at, align)
	case !r.o.Allocate(at, size):
		r.fail("[%d,%d) is not within the range or overlaps a live block", at, at+size)
	}
}

// badRequest makes a request that no placement may serve.
func (r *run) badRequest(a, b int) {
	bad := [...]int{0, -1, math.MinInt, math.MaxInt, r.o.Size() + 1}
	n := bad[a%len(bad)]
	r.note("Allocate, Find, AllocateAligned(%d)", n)
	if at := r.a.Allocate(n); at != -1 {
		r.fail("Allocate(%d) = %d", n, at)
	}
	if at := r.a.Find(n); at != -1 {
		r.fail("Find(%d) = %d", n, at)
	}
	if at := r.a.AllocateAligned(n, 1<<(b%16)); at != -1 {
		r.fail("AllocateAligned(%d, %d) = %d", n, 1<<(b%16), at)
	}
	aligns := [...]int{0, -1, 3, 12, math.MinInt, math.MaxInt, 1<<10 + 1}
	if at := r.a.AllocateAligned(1, aligns[b%len(aligns)]); at != -1 {
		r.fail("AllocateAligned(1, %d) = %d", aligns[b%len(aligns)], at)
	}
}

// release frees a range, right or wrong, and holds the answer against the model.
func (r *run) release(start, size int) {
	r.note("Free(%d, %d)", start, size)
	err := r.a.Free(start, size)
	if err == nil {
		if r.o.Live(start, size) && r.cfg.Ends && !r.o.OneOwner(start, size) {
			r.fail("Free(%d, %d) runs into the next block and was accepted", start, size)
		}
		if !r.o.Free(start, size) {
			r.fail("Free(%d, %d) was accepted", start, size)
		}
		return
	}
	want := r.refusals(start, size)
	if !slices.ContainsFunc(want, func(w error) bool { return errors.Is(err, w) }) {
		r.fail("Free(%d, %d) = %v, want one of %v", start, size, err, want)
	}
	re, ok := errors.AsType[*offset.RangeError](err)
	if !ok {
		r.fail("Free(%d, %d) = %T, want a *RangeError", start, size, err)
	}
	if start >= 0 && size > 0 && size <= math.MaxInt-start {
		if b := (offset.Block{Start: start, End: start + size}); re.Range != b {
			r.fail("Free(%d, %d) names the range %v, want %v", start, size, re.Range, b)
		}
		if c := re.Conflict; c != (offset.Block{}) && (c.Start >= start+size || c.End <= start) {
			r.fail("Free(%d, %d) names %v, which it does not overlap", start, size, c)
		} else if i := r.o.find(c.Start); i < len(r.o.parts) && r.o.parts[i].Start < c.End {
			r.fail("Free(%d, %d) names %v, in which %v is live", start, size, c, r.o.parts[i].Block)
		}
	}
	if errors.Is(err, offset.ErrDoubleFree) && re.Conflict == (offset.Block{}) {
		r.fail("Free(%d, %d) = %v does not name the free block", start, size, err)
	}
}

// splitter is a placement that can make two blocks of one, at a multiple of its
// granule.
type splitter interface {
	Split(at int) bool
	Granule() int
}

// split cuts a block, or what is none, and holds the answer against the model.
func (r *run) split(s splitter, at int) {
	r.note("Split(%d)", at)
	want := at&(s.Granule()-1) == 0 && r.o.split(at)
	if got := s.Split(at); got != want {
		r.fail("Split(%d) = %v, want %v", at, got, want)
	}
}

// refusals are the errors that Free may answer with; none if it must succeed.
func (r *run) refusals(start, size int) []error {
	switch {
	case size <= 0:
		return []error{offset.ErrInvalidSize}
	case start < 0 || start >= r.o.Size():
		return []error{offset.ErrNotOwned}
	case size > r.o.Size()-start:
		// It may also touch a free block: both answers are true then.
		return []error{offset.ErrNotOwned, offset.ErrDoubleFree}
	case r.o.Live(start, size):
		if r.cfg.Ends && !r.o.OneOwner(start, size) {
			return []error{offset.ErrNotOwned}
		}
		return nil
	case r.cfg.Ends:
		return []error{offset.ErrDoubleFree, offset.ErrNotOwned}
	}
	return []error{offset.ErrDoubleFree}
}

// check compares the allocator's state with the model's; full adds the parts
// that take O(n) in the allocator.
func (r *run) check(full bool) {
	r.free = r.cfg.FreeBlocks(r.free[:0], r.o)
	if got, want := r.a.FreeBytes(), r.cfg.FreeBytes(r.o); got != want {
		r.fail("FreeBytes() = %d, want %d", got, want)
	}
	fits := r.a.Fits()
	if fits < 0 || fits > 0 && !r.fits(fits, 1) {
		r.fail("Fits() = %d, with %v free", fits, r.free)
	}
	if r.fits(fits+1, 1) {
		r.fail("Fits() = %d, and more would be served, with %v free", fits, r.free)
	}
	if !full {
		return
	}
	i := 0
	for b := range r.a.Blocks() {
		if i >= len(r.free) || r.free[i] != b {
			r.fail("Blocks() yields %v as number %d, want %v", b, i, r.free)
		}
		i++
	}
	if i != len(r.free) {
		r.fail("Blocks() ends after %d of %v", i, r.free)
	}
	if err := r.a.Verify(); err != nil {
		r.fail("Verify: %v", err)
	}
	if r.a.Size() != r.o.Size() {
		r.fail("Size() = %d, want %d", r.a.Size(), r.o.Size())
	}
}

// validateAll frees what is left, every other part first. Then a request for
// all there is must be served at 0, or something was lost.
func (r *run) validateAll() {
	parts := slices.Clone(r.o.parts)
	for first := range 2 {
		for i := first; i < len(parts); i += 2 {
			r.op++
			r.release(parts[i].Start, parts[i].Size())
		}
	}
	r.check(true)
	if err := ValidateAll(r.a, r.empty); err != nil {
		r.fail("%v", err)
	}
}
