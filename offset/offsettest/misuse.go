package offsettest

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// runMisuse frees what may not be freed, one row a time on a fresh allocator:
// three blocks of 64, 128 and 256 offsets in a range of 4,096, and between them
// whatever the placement leaves.
func runMisuse(t *testing.T, cfg Config) {
	type blocks struct{ a, b, c int }
	const na, nb, nc = 64, 128, 256
	rows := []struct {
		name  string
		setup func(free func(start, size int), x blocks)
		bad   func(x blocks) (start, size int)
		want  []error
	}{
		{"freed twice", func(free func(int, int), x blocks) { free(x.a, na) },
			func(x blocks) (int, int) { return x.a, na }, []error{offset.ErrDoubleFree}},
		{"freed twice, merged to the left", func(free func(int, int), x blocks) { free(x.a, na); free(x.b, nb) },
			func(x blocks) (int, int) { return x.b, nb }, []error{offset.ErrDoubleFree}},
		{"freed twice, merged to the right", func(free func(int, int), x blocks) { free(x.b, nb); free(x.a, na) },
			func(x blocks) (int, int) { return x.a, na }, []error{offset.ErrDoubleFree}},
		{"freed twice, merged to both", func(free func(int, int), x blocks) { free(x.a, na); free(x.c, nc); free(x.b, nb) },
			func(x blocks) (int, int) { return x.b, nb }, []error{offset.ErrDoubleFree}},
		{"over a freed head", func(free func(int, int), x blocks) { free(x.b, 10) },
			func(x blocks) (int, int) { return x.b, nb }, []error{offset.ErrDoubleFree}},
		{"over a freed tail", func(free func(int, int), x blocks) { free(x.b+nb-10, 10) },
			func(x blocks) (int, int) { return x.b, nb }, []error{offset.ErrDoubleFree}},
		{"over a freed hole", func(free func(int, int), x blocks) { free(x.b+50, 10) },
			func(x blocks) (int, int) { return x.b + 40, 30 }, []error{offset.ErrDoubleFree}},
		{"one freed offset", func(free func(int, int), x blocks) { free(x.b+50, 1) },
			func(x blocks) (int, int) { return x.b + 50, 1 }, []error{offset.ErrDoubleFree}},
		{"never handed out", nil, func(blocks) (int, int) { return 2048, 16 }, []error{offset.ErrDoubleFree, offset.ErrNotOwned}},
		{"beyond the end", nil, func(x blocks) (int, int) { return x.c, 4096 }, []error{offset.ErrNotOwned, offset.ErrDoubleFree}},
		{"behind the range", nil, func(blocks) (int, int) { return 4096, 1 }, []error{offset.ErrNotOwned}},
		{"negative start", nil, func(blocks) (int, int) { return -64, 64 }, []error{offset.ErrNotOwned}},
		{"start+size overflows", nil, func(x blocks) (int, int) { return x.c, math.MaxInt - 1 }, []error{offset.ErrNotOwned, offset.ErrDoubleFree}},
		{"size 0", nil, func(x blocks) (int, int) { return x.a, 0 }, []error{offset.ErrInvalidSize}},
		{"negative size", nil, func(x blocks) (int, int) { return x.b, -na }, []error{offset.ErrInvalidSize}},
		{"least size", nil, func(x blocks) (int, int) { return x.b, math.MinInt }, []error{offset.ErrInvalidSize}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			a := cfg.New(4096)
			x := blocks{a.Allocate(na), a.Allocate(nb), a.Allocate(nc)}
			if x.a < 0 || x.b < 0 || x.c < 0 {
				t.Fatalf("no room for three blocks\n%v", a)
			}
			if row.setup != nil {
				row.setup(func(start, size int) { mustFree(t, a, start, size) }, x)
			}
			free, fits, before := a.FreeBytes(), a.Fits(), slices.Collect(a.Blocks())
			start, size := row.bad(x)
			err := a.Free(start, size)
			if !slices.ContainsFunc(row.want, func(w error) bool { return errors.Is(err, w) }) {
				t.Errorf("Free(%d, %d) = %v, want one of %v", start, size, err, row.want)
			}
			if re, ok := errors.AsType[*offset.RangeError](err); !ok || re.Range.Start != start {
				t.Errorf("Free(%d, %d) = %#v does not name the range", start, size, err)
			}
			if a.FreeBytes() != free || a.Fits() != fits || !slices.Equal(before, slices.Collect(a.Blocks())) {
				t.Errorf("a refused Free changed the state\n%v", a)
			}
			if err := a.Verify(); err != nil {
				t.Errorf("Verify after a refused Free: %v", err)
			}
		})
	}
}
