package native

import (
	"errors"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/internal/trace"
)

// TestBuildAndRun: what is installed compiles and replays; bad input is refused.
func TestBuildAndRun(t *testing.T) {
	variants, err := Build(t.Context(), t.TempDir())
	if errors.Is(err, ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(variants, func(v Variant) bool { return v.Name == "glibc" }) {
		t.Errorf("no variant for the C library among %v", variants)
	}
	tr, err := trace.New([]uint32{100, 200, trace.FreeBit}, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variants {
		best, median, err := v.Run(t.Context(), Encode(tr), 3)
		if err != nil || best <= 0 || median < best {
			t.Errorf("%s: best %v, median %v, %v", v.Name, best, median, err)
		}
		for name, bad := range map[string][]byte{
			"truncated": {1, 0, 0}, "unknown id": {9, 0, 0, 128}, "twice": {1, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 128}, "empty": {},
		} {
			if _, _, err := v.Run(t.Context(), bad, 1); err == nil {
				t.Errorf("%s replayed a trace that is %s", v.Name, name)
			}
		}
	}
}
