package rival

import (
	"slices"
	"testing"

	"github.com/gomem-go/gomem/internal/trace"
)

// free is the operation that frees the block with that id.
func free(id uint32) uint32 { return trace.FreeBit | id }

// TestWalk: the loop comes by each operation once, in order, and finds by its id what it
// entered, for tables of words and of slices.
func TestWalk(t *testing.T) {
	for _, ops := range [][]uint32{
		nil,
		{7},
		{7, free(0)},
		{7, 8, free(1), 9, free(0), free(2)},
	} {
		tr := &trace.Trace{Ops: ops, Sizes: make([]uint32, 3)}
		sizes, slots := tableOf(places[*uint32](tr)), tableOf(places[[]uint32](tr))
		var seen, of []uint32
		for w := over(tr); w.more(); {
			op := w.next()
			seen = append(seen, op)
			if isFree(op) {
				if got := **sizes.of(op); got != (*slots.of(op))[0] {
					t.Errorf("%v: one table has %d, the other %d", ops, got, (*slots.of(op))[0])
				}
				of = append(of, **sizes.of(op))
				continue
			}
			sizes.add(&op)
			slots.add([]uint32{op})
		}
		if !slices.Equal(seen, ops) {
			t.Errorf("came by %v of %v", seen, ops)
		}
		if want := []uint32{8, 7, 9}; len(ops) == 6 && !slices.Equal(of, want) {
			t.Errorf("freed %v, not %v", of, want)
		}
	}
}

// TestRoundFreesAll: a round of GoMem's replayer frees all that it allocated, so it has
// come by the last operation, too.
func TestRoundFreesAll(t *testing.T) {
	tr, err := trace.New([]uint32{100, 5000, free(0), 30}, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := NewGomem(tr).(*gomemReplayer)
	defer r.Close()
	for range 3 {
		r.Round(tr)
		if s := r.a.Stats(); s.Live != 0 || s.Malloced == 0 {
			t.Fatalf("%d bytes live of %d", s.Live, s.Malloced)
		}
	}
}
