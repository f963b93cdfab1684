package offset_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/offset/offsettest"
)

// TestFewGoesOver: with one block too many all of them are in a TLSF, as they were:
// whole, without head, tail or middle, within a granule too, and beside each other.
// When that is empty the array serves again.
func TestFewGoesOver(t *testing.T) {
	const seed, granule = 5, 64
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range 200 {
		f := offset.NewFew(1<<16, granule)
		o := offsettest.NewOracle(f.Size())
		free := func(from, size int) {
			if err := f.Free(from, size); err != nil || !o.Free(from, size) {
				t.Fatalf("seed %d round %d: Free(%d, %d): %v", seed, round, from, size, err)
			}
		}
		for f.Many() == nil {
			if err := f.Verify(); err != nil {
				t.Fatalf("seed %d round %d: %v\n%v", seed, round, err, f)
			}
			if parts := o.Parts(); len(parts) > 0 && rng.IntN(2) == 0 {
				p := parts[rng.IntN(len(parts))]
				from := p.Start + rng.IntN(p.Size())
				free(from, 1+rng.IntN(min(p.End-from, 100)))
				continue
			}
			size := 1 + rng.IntN(400)
			o.Allocate(f.Allocate(size), size)
		}
		if err := f.Verify(); err != nil {
			t.Fatalf("seed %d round %d: %v\n%v", seed, round, err, f)
		}
		if got, want := slices.Collect(f.Blocks()), o.AppendFree(nil); !slices.Equal(got, want) {
			t.Fatalf("seed %d round %d: free %v, want %v", seed, round, got, want)
		}
		parts := slices.Clone(o.Parts())
		for i := range parts[1:] {
			p, next := parts[i], parts[i+1]
			if err := f.Free(p.Start, next.Start+1-p.Start); p.End == next.Start && !errors.Is(err, offset.ErrNotOwned) {
				t.Fatalf("seed %d round %d: freeing %v and the start of %v: %v", seed, round, p.Block, next.Block, err)
			}
		}
		for _, i := range rng.Perm(len(parts)) {
			free(parts[i].Start, parts[i].Size())
		}
		if f.Many() != nil {
			t.Fatalf("seed %d round %d: many, and none is live", seed, round)
		}
		if err := offsettest.ValidateAll(f, f.Size()); err != nil {
			t.Fatalf("seed %d round %d: %v", seed, round, err)
		}
	}
}

// TestFewSplit: the parts of a split block are blocks, while they are few and when
// they are many.
func TestFewSplit(t *testing.T) {
	for _, parts := range []int{2, 3, 29, 30, 31, 32, 50} {
		f := offset.NewFew(1<<16, 64)
		f.Allocate(1)
		at := f.Allocate(64*parts - 1)
		for _, i := range rand.New(rand.NewPCG(7, uint64(parts))).Perm(parts - 1) {
			cut := at + 64*(i+1)
			if f.Split(cut+1) || !f.Split(cut) || f.Split(cut) {
				t.Fatalf("%d parts: Split(%d)\n%v", parts, cut, f)
			}
			if err := f.Verify(); err != nil {
				t.Fatalf("%d parts: %v", parts, err)
			}
		}
		for _, bad := range []int{-64, 0, at, at + 64*parts, f.Size() - 64, f.Size(), f.Size() + 64} {
			if f.Split(bad) {
				t.Fatalf("%d parts: Split(%d)", parts, bad)
			}
		}
		for i := range parts - 1 {
			refused(t, f, at+64*i, 65, offset.ErrNotOwned)
		}
		for i := range parts - 1 {
			if err := f.Free(at+64*i, 64); err != nil {
				t.Fatalf("%d parts: %v", parts, err)
			}
		}
		if f.FreeBytes() != f.Size()-64 {
			t.Fatalf("%d parts: %v", parts, f)
		}
	}
}

// TestFewFirst: the first gap serves that has room, up to a granule that belongs to
// somebody.
func TestFewFirst(t *testing.T) {
	f := offset.NewFew(4096, 64)
	for range 4 {
		f.Allocate(256)
	}
	for _, b := range [][2]int{{0, 100}, {256, 192}, {512, 200}} {
		if err := f.Free(b[0], b[1]); err != nil {
			t.Fatal(err)
		}
	}
	// Free: [0,100) for 64, [256,448) for 192, [512,712) for 192 and the rest.
	for _, c := range [][2]int{{65, 256}, {129, 512}, {64, 0}, {1, 384}, {65, 1024}} {
		if at := f.Find(c[0]); at != c[1] {
			t.Errorf("Find(%d) = %d, want %d\n%v", c[0], at, c[1], f)
		}
		if at := f.Allocate(c[0]); at != c[1] {
			t.Errorf("Allocate(%d) = %d, want %d\n%v", c[0], at, c[1], f)
		}
	}
}

// TestNewFewRefuses: what NewTLSF refuses.
func TestNewFewRefuses(t *testing.T) {
	wrong := [][2]int{{-1, 64}, {100, 4}, {100, 48}, {100, 128}, {100, 0}}
	granules, unit := math.MaxInt32, 8
	if most := granules * unit; most/unit == granules { // not where an int has 32 bits
		wrong = append(wrong, [2]int{most + unit, unit})
		if f := offset.NewFew(most, unit); f.Allocate(most) != 0 || f.Verify() != nil {
			t.Errorf("NewFew(%d, %d): %v", most, unit, f)
		}
	}
	for _, c := range wrong {
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, offset.ErrInvalidSize) {
					t.Errorf("NewFew(%d, %d): %v", c[0], c[1], err)
				}
			}()
			offset.NewFew(c[0], c[1])
		}()
	}
}

func TestFewVerifyNoticesFaults(t *testing.T) {
	var faults []offsettest.Fault[*offset.Few]
	for _, f := range offset.FewFaults() {
		faults = append(faults, offsettest.Fault[*offset.Few](f))
	}
	offsettest.Faults(t, offset.DamageableFew, faults)
}

func ExampleFew() {
	f := offset.NewFew(8<<20, 64)
	frame := f.Allocate(3_110_400)
	next := f.Allocate(3_110_400)
	fmt.Println(frame, next, f.Fits())
	f.Free(frame, 1_000_000) // any part, to the byte
	fmt.Println(f.Allocate(900_000), f.Free(frame, 3_110_400))
	// Output:
	// 0 3110400 2167808
	// 0 double free: [0,3110400) overlaps free block [900000,1000000)
}

func ExampleNewFew() {
	f := offset.NewFew(1000, 64)
	fmt.Println(f.Size(), f.Granule())
	// Output: 960 64
}

func ExampleFew_Split() {
	f := offset.NewFew(4096, 64)
	at := f.Allocate(1000)
	fmt.Println(f.Split(at+640), f.Split(at+700))
	fmt.Println(f.Free(at+640, 360), f.Free(at, 640))
	// Output:
	// true false
	// <nil> <nil>
}
