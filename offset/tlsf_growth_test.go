package offset

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

// The tables of a range in any state grow with nothing lost and nothing believed that
// nobody wrote: in each step the tags that nothing relies on are soiled.
func TestTLSFGrowth(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 0))
		a := NewTLSF(8<<14, 8)
		var live []Block
		for grown := 0; grown < 5; {
			if len(live) > 0 && rng.IntN(3) == 0 {
				i := rng.IntN(len(live))
				if err := a.Free(live[i].Start, live[i].Size()); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				live[i] = live[len(live)-1]
				live = live[:len(live)-1]
				continue
			}
			was, size := len(a.tags), 1+rng.IntN(8<<rng.IntN(11))
			soilTags(a, rng)
			at := a.Allocate(size)
			if at < 0 {
				break
			}
			live = append(live, Block{at, at + size})
			if len(a.tags) > was {
				grown++
			}
			if err := a.Verify(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for _, b := range live {
			if err := a.Free(b.Start, b.Size()); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		a.Reset()
		if err := a.Verify(); err != nil || a.FreeBytes() != a.Size() {
			t.Fatalf("seed %d: %d bytes free: %v", seed, a.FreeBytes(), err)
		}
	}
}

// Growth copies what it knows of the blocks, and not the tags between them.
func TestTLSFGrowthCopiesTheBlocks(t *testing.T) {
	const blocks, mark = 6, 0xfeedface
	a := NewTLSF(1<<20, 8)
	for range blocks {
		a.Allocate(1 << 15)
	}
	was := len(a.tags)
	for g := range a.tags {
		if a.starts.floor(uint(g)) != uint(g) {
			a.tags[g] = mark
		}
	}
	if a.Allocate(1 << 15); len(a.tags) == was {
		t.Fatalf("%d tags, as before", was)
	}
	marks := 0
	for _, k := range a.tags {
		if k == mark {
			marks++
		}
	}
	if marks > 64*(blocks+1) {
		t.Errorf("%d tags were copied for %d blocks", marks, blocks)
	}
	if err := a.Verify(); err != nil {
		t.Error(err)
	}
}

// What takes over from a Few makes its tables once.
func TestFewMakesTheTablesOnce(t *testing.T) {
	const granules, granule = 1 << 18, 64
	least := ^uint64(0)
	for range 5 { // others may allocate meanwhile
		f := NewFew(granules*granule, granule)
		f.Allocate(f.Size())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := 1; f.Many() == nil; i++ {
			if err := f.Free(i*f.Size()/32, granule); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if most := uint64(granules * 4 * 5 / 4); least > most {
		t.Errorf("%d bytes for %d granules, want at most %d", least, granules, most)
	}
}
