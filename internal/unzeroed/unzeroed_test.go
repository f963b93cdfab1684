package unzeroed_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/gomem-go/gomem/internal/unzeroed"
)

// TestMake: slices as make has them, of the length asked for, apart from each
// other and kept by the collector.
func TestMake(t *testing.T) {
	var all [][]uint32
	for n := range 300 {
		s := unzeroed.Make[uint32](n * n)
		if s == nil || len(s) != n*n || cap(s) != n*n {
			t.Fatalf("%d of %d elements, want %d", len(s), cap(s), n*n)
		}
		for i := range s {
			s[i] = uint32(n)
		}
		all = append(all, s)
		if n%50 == 0 {
			runtime.GC()
		}
	}
	for n, s := range all {
		for i, x := range s {
			if x != uint32(n) {
				t.Fatalf("element %d of slice %d holds %d", i, n, x)
			}
		}
	}
	if b := unzeroed.Make[byte](7); len(b) != 7 || cap(b) != 7 {
		t.Errorf("%d of %d bytes, want 7", len(b), cap(b))
	}
}

// TestMakePanics: a length that make refuses is refused.
func TestMakePanics(t *testing.T) {
	for _, n := range []int{-1, math.MinInt, math.MaxInt} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Make(%d) returned", n)
				}
			}()
			unzeroed.Make[uint32](n)
		}()
	}
}
