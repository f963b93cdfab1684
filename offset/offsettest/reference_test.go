package offsettest_test

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/offset/offsettest"
)

// list is the plainest placement, first fit over a slice of free blocks: the
// kit must pass it, and must find what the tests below break in it.
type list struct {
	size int
	free []offset.Block

	lose      bool // split off parts are lost
	blind     bool // a double free is accepted
	shortfall bool // the last block is not searched
	stuck     bool // Fits is what it was at first
}

func newList(size int) *list {
	l := &list{size: size}
	l.Reset()
	return l
}

func (l *list) Size() int { return l.size }

func (l *list) Reset() {
	l.free = l.free[:0]
	if l.size > 0 {
		l.free = append(l.free, offset.Block{Start: 0, End: l.size})
	}
}

func (l *list) search(size, align int) int {
	blocks := l.free
	if l.shortfall && len(blocks) > 1 {
		blocks = blocks[:len(blocks)-1]
	}
	return slices.IndexFunc(blocks, func(b offset.Block) bool { return offsettest.Holds(b, size, align) })
}

func (l *list) Find(size int) int {
	if i := l.search(size, 1); size > 0 && i >= 0 {
		return l.free[i].Start
	}
	return -1
}

func (l *list) Allocate(size int) int { return l.AllocateAligned(size, 1) }

func (l *list) AllocateAligned(size, align int) int {
	if size <= 0 || align <= 0 || align&(align-1) != 0 {
		return -1
	}
	i := l.search(size, align)
	if i < 0 {
		return -1
	}
	b := l.free[i]
	at := (b.Start + align - 1) &^ (align - 1)
	rest := [2]offset.Block{{Start: b.Start, End: at}, {Start: at + size, End: b.End}}
	if l.lose && rest[1].Size() == 1 {
		rest[1].Start++
	}
	keep := slices.DeleteFunc(rest[:], func(b offset.Block) bool { return b.Size() == 0 })
	l.free = slices.Replace(l.free, i, i+1, keep...)
	return at
}

func (l *list) Free(start, size int) error {
	r := offset.Block{Start: start, End: start + size}
	switch {
	case size <= 0:
		return &offset.RangeError{Range: r, Err: offset.ErrInvalidSize}
	case start < 0 || start > l.size || size > l.size-start:
		return &offset.RangeError{Range: r, Err: offset.ErrNotOwned}
	}
	for _, b := range l.free {
		if b.Start < r.End && r.Start < b.End {
			if l.blind {
				return nil
			}
			return &offset.RangeError{Range: r, Conflict: b, Err: offset.ErrDoubleFree}
		}
	}
	i, _ := slices.BinarySearchFunc(l.free, start, func(b offset.Block, at int) int { return b.Start - at })
	l.free = slices.Insert(l.free, i, r)
	if i+1 < len(l.free) && l.free[i+1].Start == r.End {
		l.free[i].End = l.free[i+1].End
		l.free = slices.Delete(l.free, i+1, i+2)
	}
	if i > 0 && l.free[i-1].End == start {
		l.free[i-1].End = l.free[i].End
		l.free = slices.Delete(l.free, i, i+1)
	}
	return nil
}

func (l *list) FreeBytes() (n int) {
	for _, b := range l.free {
		n += b.Size()
	}
	return n
}

func (l *list) Fits() (n int) {
	if l.stuck {
		return l.size
	}
	for _, b := range l.free {
		n = max(n, b.Size())
	}
	return n
}

func (l *list) Blocks() iter.Seq[offset.Block] { return slices.Values(l.free) }

func (l *list) Verify() error {
	end := -1
	for _, b := range l.free {
		if b.Start <= end || b.End <= b.Start || b.End > l.size {
			return errors.New("blocks out of order")
		}
		end = b.End
	}
	return nil
}

func (l *list) String() string { return "list" }

func listConfig(broken func(l *list)) offsettest.Config {
	return offsettest.Config{Ops: 100_000, New: func(size int) offset.Allocator {
		l := newList(size)
		broken(l)
		return l
	}}
}

func TestRunPassesTheReference(t *testing.T) {
	offsettest.Run(t, listConfig(func(*list) {}))
}

// caught is a testing.TB that keeps the message instead of failing the test.
type caught struct {
	testing.TB
	message string
}

func (c *caught) Helper() {}

func (c *caught) Fatal(args ...any) { c.message, _ = args[0].(string) }

// whole is a placement that does not split.
type whole struct{ *offset.Few }

func (w whole) Split(int) bool { return false }

func TestProgramFindsUnsplit(t *testing.T) {
	cfg := offsettest.Config{
		New:  func(size int) offset.Allocator { return whole{offset.NewFew(size, 8)} },
		Ends: true,
		Fits: func(free []offset.Block, size, align int) bool {
			return slices.ContainsFunc(free, func(b offset.Block) bool {
				return offsettest.Holds(offset.Block{Start: (b.Start + 7) &^ 7, End: b.End &^ 7}, size, align)
			})
		},
	}
	for seed := range uint64(50) {
		got := &caught{TB: t}
		if offsettest.Program(got, cfg, offsettest.Random(seed, 100)); strings.Contains(got.message, "Split(") {
			return
		}
	}
	t.Error("no program of 50 led to a message with \"Split(\"")
}

func TestProgramFindsWhatIsBroken(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken func(l *list)
		want   string
	}{
		{"loses single offsets", func(l *list) { l.lose = true }, "FreeBytes()"},
		{"accepts double frees", func(l *list) { l.blind = true }, "was accepted"},
		{"refuses what fits", func(l *list) { l.shortfall = true }, "Find("},
		{"promises too much", func(l *list) { l.stuck = true }, "Fits()"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(50) {
				got := &caught{TB: t}
				offsettest.Program(got, listConfig(c.broken), offsettest.Random(seed, 500))
				if strings.Contains(got.message, c.want) {
					if !strings.Contains(got.message, "operation ") || !strings.Contains(got.message, "\nlist") {
						t.Errorf("the report does not say where or draw the allocator: %s", got.message)
					}
					return
				}
			}
			t.Errorf("no program of 50 led to a message with %q", c.want)
		})
	}
}
