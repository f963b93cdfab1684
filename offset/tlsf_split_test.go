package offset_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// TestSplit: the parts of a split block are blocks, and nothing else changes.
func TestSplit(t *testing.T) {
	const seed, size, granule = 3, 16 << 10, 64
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range 200 {
		p := offset.NewTLSF(size, granule)
		p.Allocate(1 + rng.IntN(300))
		n := 3*granule + rng.IntN(4000)
		at := p.Allocate(n)
		free := p.FreeBytes()
		cut := at + granule*(1+rng.IntN((n-1)/granule))
		for _, bad := range []int{-granule, 0, at, cut + 1, at + (n+granule-1)&^(granule-1), size - granule, size} {
			if bad != cut && p.Split(bad) {
				t.Fatalf("seed %d round %d: Split(%d) of [%d,%d)", seed, round, bad, at, at+n)
			}
		}
		if !p.Split(cut) || p.Split(cut) || p.FreeBytes() != free {
			t.Fatalf("seed %d round %d: Split(%d) of [%d,%d)", seed, round, cut, at, at+n)
		}
		if err := p.Verify(); err != nil {
			t.Fatalf("seed %d round %d: %v", seed, round, err)
		}
		refused(t, p, at, n, offset.ErrNotOwned)
		for _, b := range rng.Perm(2) {
			from, to := at, cut
			if b == 1 {
				from, to = cut, at+n
			}
			if !p.FreeBlock(from, to-from) {
				t.Fatalf("seed %d round %d: [%d,%d) is no block", seed, round, from, to)
			}
		}
		if err := p.Verify(); err != nil || p.FreeBytes() != free+n {
			t.Fatalf("seed %d round %d: %d free: %v", seed, round, p.FreeBytes(), err)
		}
	}
}

// TestSplitParts: a block of which something was freed can be split too, but
// not inside what is free.
func TestSplitParts(t *testing.T) {
	p := offset.NewTLSF(16<<10, 64)
	at := p.Allocate(1000)
	if err := p.Free(at+100, 500); err != nil {
		t.Fatal(err)
	}
	if p.Split(at + 256) {
		t.Error("split free bytes")
	}
	if !p.Split(at+64) || !p.Split(at+704) {
		t.Error("did not split live bytes")
	}
	if err := p.Verify(); err != nil {
		t.Error(err)
	}
	refused(t, p, at, 100, offset.ErrNotOwned)
	for _, b := range [][2]int{{0, 64}, {64, 36}, {704, 296}, {600, 104}} {
		if err := p.Free(at+b[0], b[1]); err != nil {
			t.Error(err)
		}
	}
	if err := p.Verify(); err != nil || p.FreeBytes() != p.Size() {
		t.Errorf("%d free: %v", p.FreeBytes(), err)
	}
}

// TestSplitBesideHole: the bytes on either side of a granule with a hole are one
// block with the live ones in it, until they are split there.
func TestSplitBesideHole(t *testing.T) {
	for name, p := range map[string]interface {
		offset.Allocator
		Split(at int) bool
	}{"tlsf": offset.NewTLSF(1024, 64), "few": offset.NewFew(1024, 64)} {
		t.Run(name, func(t *testing.T) {
			p.Allocate(300)
			if err := p.Free(70, 3); err != nil {
				t.Fatal(err)
			}
			for _, at := range []int{64, 128} {
				if !p.Split(at) || p.Split(at) {
					t.Errorf("Split(%d)\n%v", at, p)
				}
				refused(t, p, at-1, 2, offset.ErrNotOwned)
			}
			for _, b := range [][2]int{{128, 172}, {0, 64}, {64, 6}, {73, 55}} {
				if err := p.Free(b[0], b[1]); err != nil {
					t.Error(err)
				}
			}
			if err := p.Verify(); err != nil || p.FreeBytes() != p.Size() {
				t.Errorf("%d free: %v", p.FreeBytes(), err)
			}
		})
	}
}

// TestFreeInsideJoined: of a long block beside a hole any part may be freed, also
// one that ends where a word of state, taken for slack alone, would have it end.
func TestFreeInsideJoined(t *testing.T) {
	for _, back := range []int{1 << 8, 1 << 16, 1 << 17, 1 << 18} {
		p := offset.NewTLSF(1<<20, 64)
		n := 1<<19 + 64
		p.Allocate(n)
		if err := p.Free(70, 3); err != nil {
			t.Fatal(err)
		}
		free := p.FreeBytes()
		if err := p.Free(4096, n-back-4096); err != nil {
			t.Fatal(err)
		}
		if err := p.Verify(); err != nil || p.FreeBytes() != free+n-back-4096 {
			t.Errorf("all but %d: %d free: %v", back, p.FreeBytes(), err)
		}
		if b, live := p.At(n - 1); !live || b.Size() != back {
			t.Errorf("all but %d: left is %v, live %v", back, b, live)
		}
	}
}

// TestFewIsTLSF: of what is freed and split in the same blocks a Few and a TLSF say
// the same, refusals included.
func TestFewIsTLSF(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		granule := 8 << rng.IntN(4)
		few, tlsf := offset.NewFew(4096, granule), offset.NewTLSF(4096, granule)
		end := 0
		for range 4 {
			n := 1 + rng.IntN(8*granule)
			few.Allocate(n)
			end = tlsf.Allocate(n) + n
		}
		for op := range 60 {
			at, n := rng.IntN(end+granule), 1+rng.IntN(2*granule)
			if rng.IntN(2) == 0 {
				n = 1 + rng.IntN(4)
			}
			if a, b := fmt.Sprint(few.Free(at, n)), fmt.Sprint(tlsf.Free(at, n)); a != b {
				t.Fatalf("seed %d, operation %d: Free(%d, %d): %s and %s", seed, op, at, n, a, b)
			}
			cut := rng.IntN(end+granule) &^ (granule/2 - 1)
			if a, b := few.Split(cut), tlsf.Split(cut); a != b {
				t.Fatalf("seed %d, operation %d: Split(%d): %v and %v", seed, op, cut, a, b)
			}
		}
		if a, b := slices.Collect(few.Blocks()), slices.Collect(tlsf.Blocks()); !slices.Equal(a, b) {
			t.Fatalf("seed %d: free are %v and %v", seed, a, b)
		}
	}
}

func ExampleTLSF_Split() {
	t := offset.NewTLSF(4096, 64)
	at := t.Allocate(1000)
	fmt.Println(t.Split(at+640), t.Split(at+700))
	fmt.Println(t.FreeBlock(at+640, 360), t.FreeBlock(at, 640))
	// Output:
	// true false
	// true true
}
