package offset_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// segregated is the placements of this file, by name, over 64 KiB.
func segregated() map[string]offset.Allocator {
	return map[string]offset.Allocator{
		"tlsf":  offset.NewTLSF(64<<10, 64),
		"buddy": offset.NewBuddy(64<<10, 64),
	}
}

// refused checks that Free(start, size) answers want and changes nothing.
func refused(t *testing.T, a offset.Allocator, start, size int, want error) {
	t.Helper()
	before := a.String()
	err := a.Free(start, size)
	if _, ok := errors.AsType[*offset.RangeError](err); !ok || !errors.Is(err, want) {
		t.Errorf("Free(%d, %d) = %v, want %v", start, size, err, want)
	}
	if after := a.String(); after != before {
		t.Errorf("Free(%d, %d) changed\n%s\nto\n%s", start, size, before, after)
	}
	if err := a.Verify(); err != nil {
		t.Error(err)
	}
}

// TestSegregatedRefuses: what must be refused of placements that know where
// their blocks end.
func TestSegregatedRefuses(t *testing.T) {
	for name, a := range segregated() {
		t.Run(name, func(t *testing.T) {
			x, y, z := a.Allocate(640), a.Allocate(1024), a.Allocate(1024)
			t.Run("G-13 negative size", func(t *testing.T) {
				for _, size := range []int{-200, -1, 0, math.MinInt} {
					if at := a.Allocate(size); at != -1 {
						t.Errorf("Allocate(%d) = %d", size, at)
					}
					refused(t, a, y, size, offset.ErrInvalidSize)
				}
				if err := a.Free(y, -200); fmt.Sprint(err) != fmt.Sprintf("invalid size: [%d,%d)", y, y-200) {
					t.Errorf("Free(%d, -200): %v", y, err)
				}
				if re, ok := errors.AsType[*offset.RangeError](a.Free(math.MinInt, -1)); !ok || re.Range.End > re.Range.Start {
					t.Errorf("Free of -1 at the least offset: %v", re)
				}
			})
			t.Run("G-19 interior offset", func(t *testing.T) {
				// It runs from its block into what is behind: live or free.
				want := offset.ErrNotOwned
				if z < y {
					want = offset.ErrDoubleFree
				}
				refused(t, a, y+64, 1024, want)
			})
			t.Run("into a live neighbour", func(t *testing.T) {
				first, second := min(y, z), max(y, z)
				if first+1024 != second {
					t.Fatalf("%d and %d are no neighbours", first, second)
				}
				refused(t, a, first, 1025, offset.ErrNotOwned)
				refused(t, a, first, 2048, offset.ErrNotOwned)
				refused(t, a, first+1000, 100, offset.ErrNotOwned)
			})
			t.Run("out of range", func(t *testing.T) {
				refused(t, a, -64, 64, offset.ErrNotOwned)
				refused(t, a, a.Size(), 1, offset.ErrNotOwned)
				refused(t, a, x, math.MaxInt, offset.ErrNotOwned)
				refused(t, a, math.MaxInt, math.MaxInt, offset.ErrNotOwned)
				refused(t, a, math.MinInt, 64, offset.ErrNotOwned)
			})
			t.Run("one byte too long", func(t *testing.T) {
				odd := a.Allocate(100)
				refused(t, a, odd, 101, offset.ErrDoubleFree)
				refused(t, a, odd, 128, offset.ErrDoubleFree)
				if err := a.Free(odd, 100); err != nil {
					t.Error(err)
				}
				refused(t, a, odd, 100, offset.ErrDoubleFree)
			})
			t.Run("in parts and once more", func(t *testing.T) {
				for _, part := range []offset.Block{{0, 10}, {630, 640}, {300, 310}, {10, 300}, {310, 630}} {
					if err := a.Free(x+part.Start, part.Size()); err != nil {
						t.Fatal(err)
					}
					refused(t, a, x, 640, offset.ErrDoubleFree)
					refused(t, a, x+part.Start, part.Size(), offset.ErrDoubleFree)
				}
			})
			for _, at := range []int{y, z} {
				if err := a.Free(at, 1024); err != nil {
					t.Error(err)
				}
			}
			if a.FreeBytes() != a.Size() || a.Allocate(a.Size()) != 0 {
				t.Errorf("not whole again\n%v", a)
			}
		})
	}
}

// TestSegregatedPanics: sizes and units that no placement can have.
func TestSegregatedPanics(t *testing.T) {
	units := math.MaxInt32
	over := units + 1 // negative where an int has 32 bits
	huge := over * 64
	if over < 0 {
		huge = over
	}
	for name, build := range map[string]func(){
		"tlsf granule 7":     func() { offset.NewTLSF(1024, 7) },
		"tlsf granule 4":     func() { offset.NewTLSF(1024, 4) },
		"tlsf granule 128":   func() { offset.NewTLSF(1024, 128) },
		"tlsf granule 0":     func() { offset.NewTLSF(1024, 0) },
		"tlsf negative size": func() { offset.NewTLSF(-1, 64) },
		"tlsf huge":          func() { offset.NewTLSF(huge, 64) },
		"buddy unit 0":       func() { offset.NewBuddy(1024, 0) },
		"buddy unit 3":       func() { offset.NewBuddy(1024, 3) },
		"buddy negative":     func() { offset.NewBuddy(-1, 64) },
		"buddy huge":         func() { offset.NewBuddy(over, 1) },
	} {
		func() {
			defer func() {
				if err, ok := recover().(error); !ok || !errors.Is(err, offset.ErrInvalidSize) {
					t.Errorf("%s: panics with %v, want ErrInvalidSize", name, err)
				}
			}()
			build()
		}()
	}
}

// TestBuddyLargest: as many units as there may be.
func TestBuddyLargest(t *testing.T) {
	b := offset.NewBuddy(math.MaxInt32, 1)
	if at := b.Allocate(1 << 30); at != 0 || b.Size() != math.MaxInt32 {
		t.Errorf("%d of %d offsets are at %d", 1<<30, b.Size(), at)
	}
	if err := b.Verify(); err != nil {
		t.Error(err)
	}
}

// TestTLSFFragmentation measures waste in the manner of the authors: requests
// of random size and life until one is refused, and then the part of the range
// that is not live. The authors state less than 15 % on average and less than
// 25 % at most.
func TestTLSFFragmentation(t *testing.T) {
	const size, granule = 4 << 20, 16
	type load struct {
		name     string
		min, max int
		keep     float64 // chance that a step allocates
	}
	loads := []load{
		{"small", 16, 512, 0.55}, {"medium", 64, 4096, 0.55}, {"large", 256, 32768, 0.55},
		{"wide", 16, 65536, 0.55}, {"slow growth", 16, 8192, 0.51},
	}
	var sum, worst float64
	const seeds = 4
	for _, l := range loads {
		for seed := range uint64(seeds) {
			a := offset.NewTLSF(size, granule)
			rng := rand.New(rand.NewPCG(seed, 1))
			var live []offset.Block
			for {
				if len(live) > 0 && rng.Float64() > l.keep {
					i := rng.IntN(len(live))
					if err := a.Free(live[i].Start, live[i].Size()); err != nil {
						t.Fatal(err)
					}
					live[i] = live[len(live)-1]
					live = live[:len(live)-1]
					continue
				}
				n := int(float64(l.min) * math.Pow(float64(l.max)/float64(l.min), rng.Float64()))
				at := a.Allocate(n)
				if at < 0 {
					break
				}
				live = append(live, offset.Block{Start: at, End: at + n})
			}
			waste := float64(a.FreeBytes()) / size
			sum, worst = sum+waste, max(worst, waste)
			if waste >= 0.25 {
				t.Errorf("%s, seed %d: %.1f %% of the range is not live at the first refusal", l.name, seed, 100*waste)
			}
		}
	}
	average := sum / float64(len(loads)*seeds)
	t.Logf("waste: %.1f %% on average, %.1f %% at most", 100*average, 100*worst)
	if average >= 0.15 {
		t.Errorf("waste is %.1f %% on average, want less than 15 %%", 100*average)
	}
}
