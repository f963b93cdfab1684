package offset_test

import (
	"fmt"
	"math/rand/v2"
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

func ExampleTLSF_Split() {
	t := offset.NewTLSF(4096, 64)
	at := t.Allocate(1000)
	fmt.Println(t.Split(at+640), t.Split(at+700))
	fmt.Println(t.FreeBlock(at+640, 360), t.FreeBlock(at, 640))
	// Output:
	// true false
	// true true
}
