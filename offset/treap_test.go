package offset_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/offset/offsettest"
)

// onTrees runs a test on an allocator of size offsets of either kind.
func onTrees(t *testing.T, size int, test func(t *testing.T, a offset.Allocator)) {
	t.Helper()
	for _, p := range trees {
		t.Run(p.name, func(t *testing.T) { test(t, p.new(size)) })
	}
}

func mustVerify(t *testing.T, a offset.Allocator) {
	t.Helper()
	if err := a.Verify(); err != nil {
		t.Fatalf("%v\n%v", err, a)
	}
}

// TestG05 replays a false "no room": a tree that searched to the right only
// refused a request though the block on the left had it.
func TestG05NoFalseOutOfMemory(t *testing.T) {
	onTrees(t, 1000, func(t *testing.T, a offset.Allocator) {
		a.Allocate(1000)
		for _, free := range [][2]int{{700, 100}, {900, 50}, {0, 500}} {
			if err := a.Free(free[0], free[1]); err != nil {
				t.Fatal(err)
			}
		}
		if at := a.Allocate(400); at != 0 {
			t.Errorf("Allocate(400) = %d with [0,500) free, want 0", at)
		}
		mustVerify(t, a)
	})
	const size, seed = 1 << 20, 5
	onTrees(t, size, func(t *testing.T, a offset.Allocator) {
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		var live []offset.Block
		for op := range 40_000 {
			if n := 1 + r.IntN(4096); r.IntN(2) == 0 {
				fits := a.Fits()
				at := a.Allocate(n)
				if (at >= 0) != (n <= fits) {
					t.Fatalf("operation %d: Allocate(%d) = %d, Fits was %d", op, n, at, fits)
				}
				if at >= 0 {
					live = append(live, offset.Block{Start: at, End: at + n})
				}
			} else if len(live) > 0 {
				i := r.IntN(len(live))
				if err := a.Free(live[i].Start, live[i].Size()); err != nil {
					t.Fatalf("operation %d: %v", op, err)
				}
				live[i] = live[len(live)-1]
				live = live[:len(live)-1]
			}
		}
		mustVerify(t, a)
	})
}

// TestG07 builds 30,000 free blocks in the orders that made a list of an
// unbalanced tree.
func TestG07DepthStaysLogarithmic(t *testing.T) {
	const n = 30_000
	ascending := make([]int, n)
	for i := range ascending {
		ascending[i] = i
	}
	descending := slices.Clone(ascending)
	slices.Reverse(descending)
	shuffled := rand.New(rand.NewPCG(7, 0)).Perm(n)
	for _, c := range []struct {
		name  string
		order []int
		size  func(i int) int
	}{
		{"ascending, equal sizes", ascending, func(int) int { return 64 }},
		{"descending, equal sizes", descending, func(int) int { return 64 }},
		{"shuffled, equal sizes", shuffled, func(int) int { return 64 }},
		{"ascending, growing", ascending, func(i int) int { return 1 + i/300 }},
		{"ascending, shrinking", ascending, func(i int) int { return 101 - i/300 }},
		{"shuffled, mixed", shuffled, func(i int) int { return 1 + i*7919%101 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			single, two := offset.NewSingleTree(n*128), offset.NewTwoTree(n*128)
			for _, a := range []offset.Allocator{single, two} {
				a.Allocate(n * 128)
				for _, i := range c.order {
					if err := a.Free(i*128, c.size(i)); err != nil {
						t.Fatal(err)
					}
				}
				// A third of them goes, which is where a one-sided removal shows.
				for _, i := range c.order {
					if i%3 == 1 {
						if err := a.Free(i*128+c.size(i), 128-c.size(i)); err != nil {
							t.Fatal(err)
						}
					}
				}
				mustVerify(t, a)
			}
			depth, nodes := two.Depth()
			if limit := 1.44*math.Log2(float64(nodes+2)) + 2; float64(depth) > limit {
				t.Errorf("two trees: depth %d of %d nodes, want at most %.1f", depth, nodes, limit)
			}
			depth, nodes = single.Depth()
			if limit := 3 * math.Log2(float64(nodes+2)); float64(depth) > limit {
				t.Errorf("single tree: depth %d of %d nodes, want at most %.1f", depth, nodes, limit)
			}
		})
	}
}

// TestG11 frees a block twice; it must not be issued twice after that.
func TestG11DoubleFreeIsRefused(t *testing.T) {
	onTrees(t, 1000, func(t *testing.T, a offset.Allocator) {
		x, y := a.Allocate(100), a.Allocate(100)
		a.Free(x, 100)
		err := a.Free(x, 100)
		re, ok := errors.AsType[*offset.RangeError](err)
		if !ok || !errors.Is(err, offset.ErrDoubleFree) || re.Conflict != (offset.Block{Start: x, End: x + 100}) {
			t.Errorf("second Free = %v, want a double free of [%d,%d)", err, x, x+100)
		}
		if p, q := a.Allocate(100), a.Allocate(100); p == q || p == y || q == y {
			t.Errorf("[%d,…) and [%d,…) issued beside [%d,…)", p, q, y)
		}
		mustVerify(t, a)
	})
}

// TestG12 frees more than was allocated, into what is free already.
func TestG12FreeBeyondTheEndIsRefused(t *testing.T) {
	onTrees(t, 1024, func(t *testing.T, a offset.Allocator) {
		x := a.Allocate(100)
		if err := a.Free(x, 200); !errors.Is(err, offset.ErrDoubleFree) {
			t.Errorf("Free(%d, 200) of a block of 100 = %v, want a double free", x, err)
		}
		if err := a.Free(x, 2000); !errors.Is(err, offset.ErrNotOwned) {
			t.Errorf("Free(%d, 2000) of a range of 1024 = %v, want not owned", x, err)
		}
		if got := a.FreeBytes(); got != 924 {
			t.Errorf("%d bytes free, want 924", got)
		}
		mustVerify(t, a)
	})
}

// TestG13 asks for a negative size, which once moved a free block over a live one.
func TestG13NegativeSizeIsRefused(t *testing.T) {
	onTrees(t, 1000, func(t *testing.T, a offset.Allocator) {
		x := a.Allocate(500)
		if at := a.Allocate(-200); at != -1 {
			t.Errorf("Allocate(-200) = %d, want -1", at)
		}
		if err := a.Free(x+500, -60); !errors.Is(err, offset.ErrInvalidSize) {
			t.Errorf("Free(%d, -60) = %v, want invalid size", x+500, err)
		}
		if at := a.Allocate(100); at < x+500 {
			t.Errorf("Allocate(100) = %d, inside the live block [%d,%d)", at, x, x+500)
		}
		mustVerify(t, a)
	})
}

// TestG36 frees nothing, and makes a range of nothing; neither may panic.
func TestG36NothingIsAnError(t *testing.T) {
	onTrees(t, 100, func(t *testing.T, a offset.Allocator) {
		x := a.Allocate(10)
		for _, at := range []int{x, 50, 100, -1} {
			if err := a.Free(at, 0); !errors.Is(err, offset.ErrInvalidSize) {
				t.Errorf("Free(%d, 0) = %v, want invalid size", at, err)
			}
		}
		mustVerify(t, a)
	})
	onTrees(t, 0, func(t *testing.T, a offset.Allocator) {
		if at := a.Allocate(1); at != -1 || a.Fits() != 0 || a.Find(1) != -1 {
			t.Errorf("an empty range serves %d", at)
		}
		mustVerify(t, a)
	})
}

func TestNegativeRangePanics(t *testing.T) {
	for _, p := range trees {
		func() {
			defer func() {
				if err, ok := recover().(error); !ok || !errors.Is(err, offset.ErrInvalidSize) {
					t.Errorf("%s: a range of -1 offsets: %v, want ErrInvalidSize", p.name, err)
				}
			}()
			p.new(-1)
		}()
	}
}

// TestTableIsBounded holds the node table to the most free blocks at once.
func TestTableIsBounded(t *testing.T) {
	onTrees(t, 1<<16, func(t *testing.T, a offset.Allocator) {
		for range 200 {
			for a.Allocate(64) >= 0 {
			}
			for at := 0; at < a.Size(); at += 128 {
				a.Free(at, 64)
			}
			for at := 64; at < a.Size(); at += 128 {
				a.Free(at, 64)
			}
		}
		if got := a.(interface{ Table() int }).Table(); got > 1024 {
			t.Errorf("room for %d nodes after at most 512 free blocks", got)
		}
	})
}

// TestAlignedSearchIsExact leaves one block in which the alignment works out,
// behind many that are as large.
func TestAlignedSearchIsExact(t *testing.T) {
	onTrees(t, 1<<16, func(t *testing.T, a offset.Allocator) {
		a.Allocate(1 << 16)
		for at := 256; at < 1<<16; at += 256 {
			a.Free(at-128, 64)
		}
		if at := a.AllocateAligned(64, 256); at != -1 {
			t.Errorf("AllocateAligned = %d, want none", at)
		}
		a.Free(40<<10-8, 80)
		a.Free(50<<10, 64)
		if at := a.AllocateAligned(72, 256); at != 40<<10 {
			t.Errorf("AllocateAligned = %d, want %d", at, 40<<10)
		}
		if at := a.AllocateAligned(64, 256); at != 50<<10 {
			t.Errorf("AllocateAligned = %d, want %d", at, 50<<10)
		}
		mustVerify(t, a)
	})
}

func TestStringIsBounded(t *testing.T) {
	onTrees(t, 1<<16, func(t *testing.T, a offset.Allocator) {
		a.Allocate(1 << 16)
		for at := 0; at < 1<<16; at += 64 {
			a.Free(at, 32)
		}
		s := a.String()
		if lines := strings.Count(s, "\n"); lines > 40 || !strings.Contains(s, "and 992 more") {
			t.Errorf("%d lines:\n%s", lines, s)
		}
	})
}

// TestTracesPlay replays the recorded programs: everything they free is free
// afterwards, and the range reaches little beyond the peak of live bytes.
func TestTracesPlay(t *testing.T) {
	all := traces(t)
	if len(all) == 0 {
		t.Skip("no recorded traces in bench/testdata")
	}
	for name, trace := range all {
		t.Run(name, func(t *testing.T) {
			onTrees(t, 1<<28, func(t *testing.T, a offset.Allocator) {
				p, err := offsettest.Play(trace, a)
				if err != nil {
					t.Fatal(err)
				}
				if p.Fallback != 0 || float64(p.Reach) > 1.25*float64(p.Peak) {
					t.Errorf("%+v: want no fallback, and to reach at most 1.25 of the peak", p)
				}
				if err := offsettest.ValidateAll(a, 1<<28); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
