package offsettest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// ValidateAll checks that nothing was lost: on an allocator from which all has
// been freed, one request for fits offsets (Fits of the empty range) must be
// served at 0, and be given back. The allocator is as before.
func ValidateAll(a offset.Allocator, fits int) error {
	if got := a.Fits(); got != fits {
		return fmt.Errorf("all is free and Fits() = %d, want %d", got, fits)
	}
	if fits == 0 {
		return nil
	}
	if at := a.Allocate(fits); at != 0 {
		return fmt.Errorf("all is free and Allocate(%d) = %d, want 0", fits, at)
	}
	if err := a.Free(0, fits); err != nil {
		return fmt.Errorf("giving all back: %w", err)
	}
	return a.Verify()
}

// runPatterns fills a range with blocks and frees them in the orders that turn
// an unbalanced tree into a list or fragment a range as far as it goes.
func runPatterns(t *testing.T, cfg Config) {
	const blocks, size = 1 << 12, 64
	orders := []struct {
		name string
		put  func(order []int)
	}{
		{"ascending", func([]int) {}},
		{"descending", slices.Reverse[[]int]},
		{"every second", func(order []int) {
			slices.SortStableFunc(order, func(a, b int) int { return a/size&1 - b/size&1 })
		}},
		{"outside in", func(order []int) {
			for i, all := 0, slices.Clone(order); i < len(order); i++ {
				order[i] = all[i/2]
				if i&1 == 1 {
					order[i] = all[len(all)-1-i/2]
				}
			}
		}},
		{"shuffled", func(order []int) {
			r := rand.New(rand.NewPCG(1, 2))
			r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}},
	}
	for _, c := range orders {
		t.Run(c.name, func(t *testing.T) {
			a := cfg.New(blocks * size)
			fits := a.Fits()
			o := NewOracle(a.Size())
			var order []int
			for {
				at := a.Allocate(size)
				if at < 0 {
					break
				}
				if !o.Allocate(at, size) {
					t.Fatalf("%d was issued twice\n%v", at, a)
				}
				order = append(order, at)
			}
			if want := cfg.FreeBlocks(nil, o); cfg.Fits(want, size, 1) {
				t.Fatalf("no room for %d with %v free", size, want)
			}
			slices.Sort(order)
			c.put(order)
			for i, at := range order {
				if err := a.Free(at, size); err != nil {
					t.Fatalf("block %d of %d: %v\n%v", i, len(order), err, a)
				}
				o.Free(at, size)
				if i%512 == 0 || i == len(order)/2-1 {
					if err := a.Verify(); err != nil {
						t.Fatalf("after %d frees: %v", i+1, err)
					}
					if got, want := slices.Collect(a.Blocks()), cfg.FreeBlocks(nil, o); !slices.Equal(got, want) {
						t.Fatalf("after %d frees: Blocks() differ from the model's %d", i+1, len(want))
					}
				}
			}
			if err := ValidateAll(a, fits); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// runExtremes works at the top of the integers, where sums overflow.
func runExtremes(t *testing.T, cfg Config) {
	r := newRun(t, cfg, cfg.Large)
	r.trace = true
	defer func() {
		if f, ok := recover().(failure); ok {
			t.Fatal(r.report(string(f)))
		}
	}()
	r.check(true)
	for i := range 64 {
		r.op++
		r.badRequest(i, i)
		r.allocate(1<<(i%31), 1)
		r.check(true)
		r.allocate(1+i, 1<<(i%31))
		r.check(true)
		if _, p, ok := r.part(i); ok {
			r.outside(p, i)
			r.check(true)
		}
	}
	r.validateAll()
	r.allocate(math.MaxInt, 1<<30)
	r.allocate(math.MaxInt-1, 1<<20)
	r.check(true)
}

// runSteady counts Go allocations once the tables have grown to the load.
func runSteady(t *testing.T, cfg Config) {
	a := cfg.New(1 << 16)
	var at [100]int
	round := func() {
		for i := range at {
			at[i] = a.AllocateAligned(100+i, 1<<(i%7))
		}
		for i := range at {
			if i%2 == 0 {
				mustFree(t, a, at[i]+10, 20)
			}
		}
		for i := range at {
			if i%2 == 0 {
				mustFree(t, a, at[i], 10)
				mustFree(t, a, at[i]+30, 70+i)
			} else {
				mustFree(t, a, at[i], 100+i)
			}
		}
	}
	round()
	a.Reset()
	if n := testing.AllocsPerRun(50, round); n != 0 && !sanitized {
		t.Errorf("%v Go allocations in a round of a load seen before, want 0", n)
	}
}

func mustFree(t *testing.T, a offset.Allocator, start, size int) {
	if err := a.Free(start, size); err != nil {
		t.Fatalf("%v\n%v", err, a)
	}
}
