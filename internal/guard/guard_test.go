package guard

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// TestReportsNameStacks: what is said of a block has the places of its life, with the
// functions that led there.
func TestReportsNameStacks(t *testing.T) {
	b := Watch(make([]byte, 64), 16, 32, Callers(4))
	if _, _, err := b.Free(b.addr()+16, 8, Callers(4)); err != nil {
		t.Fatal(err)
	}
	_, _, again := b.Free(b.addr()+20, 8, Callers(4))
	b.Mem[18] = 1
	for what, c := range map[string]struct {
		err    error
		events []string
	}{
		"freed twice":        {again, []string{"allocated", "first freed", "this free"}},
		"written after free": {b.CheckAll(), []string{"allocated", "freed"}},
		"freed":              {b.Explain(b.addr() + 17), []string{"allocated", "freed"}},
		"live":               {b.Explain(b.addr() + 24), []string{"allocated"}},
	} {
		var e *Error
		if !errors.As(c.err, &e) {
			t.Errorf("%s: %v", what, c.err)
			continue
		}
		var got []string
		for _, ev := range e.Events {
			got = append(got, ev.What)
			if !strings.Contains(e.Error(), "\n"+ev.What+" at\n") || !strings.Contains(ev.Stack.String(), "testing.tRunner") {
				t.Errorf("%s: no stack for %q in %v", what, ev.What, e)
			}
		}
		if !slices.Equal(got, c.events) {
			t.Errorf("%s: %q, want %q", what, got, c.events)
		}
	}
}

// TestSegments: they are as few as there are states, and end where Mem does.
func TestSegments(t *testing.T) {
	b := Watch(make([]byte, 64), 0, 64, nil) // no red zones
	if _, _, err := b.Free(b.addr()+32, 33, nil); !errors.Is(err, offset.ErrNotOwned) {
		t.Errorf("one byte too many: %v", err)
	}
	if _, _, err := b.Free(b.addr(), 64, nil); err != nil || len(b.segs) != 1 || b.Left != 0 {
		t.Errorf("%v, %d segments, %d bytes left", err, len(b.segs), b.Left)
	}
	b = Watch(make([]byte, 64), 16, 32, nil)
	for i, want := range []int{4, 6, 6} {
		if _, _, err := b.Free(b.addr()+16+8*uintptr([]int{0, 2, 1}[i]), 8, nil); err != nil || len(b.segs) != want {
			t.Errorf("part %d: %v, %d segments, want %d", i, err, len(b.segs), want)
		}
	}
}
