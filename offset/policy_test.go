package offset_test

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/offset/offsettest"
)

// TestPolicy: which of the free blocks that fit is taken is part of what the
// trees promise: the lowest, or the smallest and of these the lowest.
func TestPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		a      offset.Allocator
		better func(x, y offset.Block) bool // whether x is taken before y
	}{
		"first fit": {offset.NewSingleTree(1 << 14), func(x, y offset.Block) bool { return x.Start < y.Start }},
		"best fit": {offset.NewTwoTree(1 << 14), func(x, y offset.Block) bool {
			return x.Size() < y.Size() || x.Size() == y.Size() && x.Start < y.Start
		}},
	} {
		t.Run(name, func(t *testing.T) {
			const seed = 1
			rng := rand.New(rand.NewPCG(seed, 0))
			o := offsettest.NewOracle(c.a.Size())
			var free []offset.Block
			for op := range 20_000 {
				if parts := o.Parts(); rng.IntN(2) == 0 && len(parts) > 0 {
					p := parts[rng.IntN(len(parts))]
					start, size := p.Start, p.Size()
					if rng.IntN(2) == 0 {
						start += rng.IntN(size)
						size = 1 + rng.IntN(p.End-start)
					}
					if err := c.a.Free(start, size); err != nil || !o.Free(start, size) {
						t.Fatalf("seed %d, operation %d: Free(%d, %d): %v", seed, op, start, size, err)
					}
					continue
				}
				size := 1 + rng.IntN(64)
				if rng.IntN(8) == 0 {
					size = 1 + rng.IntN(1024)
				}
				want := offset.Block{Start: -1, End: -1}
				free = o.AppendFree(free[:0])
				for _, b := range free {
					if b.Size() >= size && (want.Start < 0 || c.better(b, want)) {
						want = b
					}
				}
				if got := c.a.Allocate(size); got != want.Start {
					t.Fatalf("seed %d, operation %d: Allocate(%d) = %d, want %d of %v", seed, op, size, got, want.Start, free)
				} else if got >= 0 {
					o.Allocate(got, size)
				}
			}
		})
	}
}

// TestTLSFTakesTheLeastClass: a block of the lowest class that surely fits is
// taken before any larger one, over all words of the list maps.
func TestTLSFTakesTheLeastClass(t *testing.T) {
	const granule = 16
	for need := 1; need < 1<<14; need += 1 + need/7 {
		a := offset.NewTLSF(1<<20*granule, granule)
		// Two free blocks, the first far too large, the second just large
		// enough for any request of its class, between live ones.
		sure := need + need/32 + 1
		large, wall := a.Allocate(8*sure*granule), a.Allocate(granule)
		fit, last := a.Allocate(sure*granule), a.Allocate(granule)
		if large < 0 || wall < 0 || fit < 0 || last < 0 {
			t.Fatal("no room")
		}
		// The rest of the range must not serve either.
		if rest := a.Fits(); a.Allocate(rest) < 0 {
			t.Fatal("no room")
		}
		if a.Free(large, 8*sure*granule) != nil || a.Free(fit, sure*granule) != nil {
			t.Fatal("refused")
		}
		if got := a.Allocate(need * granule); got != fit {
			t.Errorf("a block of %d granules is cut from the one at %d, want %d", need, got, fit)
		}
	}
}

// TestTLSFAligned: an aligned request is served from the block that Allocate would
// take if it fits there, else from one that has room for any gap, else from the first
// of the highest class.
func TestTLSFAligned(t *testing.T) {
	const granule, align = 16, 256
	a := offset.NewTLSF(1<<20, granule)
	a.Allocate(granule) // so that what follows is at odd multiples of the granule
	wall := func() { a.Allocate(align + granule) }
	small, sure, large := a.Allocate(align), 0, 0
	wall()
	sure = a.Allocate(2 * align)
	wall()
	large = a.Allocate(8 * align)
	a.Allocate(a.Fits()) // what is behind does not serve
	for _, b := range [][2]int{{small, align}, {sure, 2 * align}, {large, 8 * align}} {
		if err := a.Free(b[0], b[1]); err != nil {
			t.Fatal(err)
		}
	}
	up := func(at int) int { return (at + align - 1) &^ (align - 1) }
	if small == up(small) || sure == up(sure) || large == up(large) {
		t.Fatal("a block is aligned by chance")
	}
	for i, want := range []int{up(sure), up(large)} {
		if at := a.AllocateAligned(align, align); at != want {
			t.Errorf("request %d is served at %d, want %d\n%v", i, at, want, a)
		}
	}
	// There the gap before the first multiple serves as well.
	if n := up(small) - small; a.AllocateAligned(n, granule) != small {
		t.Errorf("%d bytes are not served at %d\n%v", n, small, a)
	}
	if at := a.AllocateAligned(1, 1<<(bits.UintSize-2)); at != -1 {
		t.Errorf("beyond the range: %d", at)
	}
}

// TestZeroPlacements: the zero value of any placement answers every call, and has no
// room, also after a Reset. Each call is made on a fresh one: it may leave it
// otherwise than zero.
func TestZeroPlacements(t *testing.T) {
	for _, fresh := range []func() offset.Allocator{
		func() offset.Allocator { return new(offset.SingleTree) },
		func() offset.Allocator { return new(offset.TwoTree) },
		func() offset.Allocator { return new(offset.TLSF) },
		func() offset.Allocator { return new(offset.Few) },
		func() offset.Allocator { return new(offset.Buddy) },
	} {
		for _, size := range []int{-1, 0, 1, 64} {
			for _, reset := range []bool{false, true} {
				made := func() offset.Allocator {
					a := fresh()
					if reset {
						a.Reset()
					}
					return a
				}
				if made().Allocate(size) != -1 || made().AllocateAligned(size, 8) != -1 || made().Find(size) != -1 || made().Free(0, size) == nil {
					t.Errorf("%T, reset %v: something of %d offsets", made(), reset, size)
				}
				a := made()
				if a.Fits() != 0 || a.Size() != 0 || a.FreeBytes() != 0 || len(slices.Collect(a.Blocks())) != 0 {
					t.Errorf("%T, reset %v: something: %v", a, reset, a)
				}
				if s, ok := a.(interface{ Split(at int) bool }); ok && s.Split(size) {
					t.Errorf("%T, reset %v: Split(%d)", a, reset, size)
				}
				if err := a.Verify(); err != nil {
					t.Errorf("%T, reset %v: %v", a, reset, err)
				}
			}
		}
	}
}
