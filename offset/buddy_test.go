package offset_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// TestBuddyLastCut frees the block allocated last more often than not, so that
// what is remembered of its cut is used and outdated in every order.
func TestBuddyLastCut(t *testing.T) {
	const seed, unit, size = 3, 16, 3000 * 16
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	b := offset.NewBuddy(size, unit)
	var live []offset.Block
	for step := range 6000 {
		switch what := rng.IntN(8); {
		case what < 4 || len(live) == 0:
			n, align := 1+rng.IntN(1<<rng.IntN(12)), 1
			if what == 0 {
				align = unit << rng.IntN(5)
			}
			want := b.Find(n)
			at := b.AllocateAligned(n, align)
			if align == 1 && at != want {
				t.Fatalf("step %d: Allocate(%d) = %d, Find said %d", step, n, at, want)
			}
			if at >= 0 {
				live = append(live, offset.Block{Start: at, End: at + n})
			}
		case what < 7:
			last := live[len(live)-1]
			live = live[:len(live)-1]
			if what == 6 && last.Size() > 1 {
				if err := b.Free(last.Start, last.Size()/2); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				last.Start += last.Size() / 2
				if b.FreeAt(last.Start) {
					t.Fatalf("step %d: FreeAt(%d) takes the rest of a block", step, last.Start)
				}
			} else if b.FreeAt(last.Start) {
				continue
			}
			if err := b.Free(last.Start, last.Size()); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
		default:
			i := rng.IntN(len(live))
			if !b.FreeAt(live[i].Start) {
				t.Fatalf("step %d: FreeAt(%d) of %v", step, live[i].Start, live[i])
			}
			live = append(live[:i], live[i+1:]...)
		}
		if err := b.Verify(); err != nil {
			t.Fatalf("step %d: %v\n%v", step, err, b)
		}
	}
	for _, x := range live {
		if !b.FreeAt(x.Start) {
			t.Fatalf("FreeAt(%d) of %v", x.Start, x)
		}
	}
	if b.FreeBytes() != b.Size() || b.Fits() != 2048*unit {
		t.Errorf("after everything was freed: %v", b)
	}
}

func TestBuddyFreeAtRefuses(t *testing.T) {
	b := offset.NewBuddy(1<<20, 64)
	at, part := b.Allocate(500), b.Allocate(500)
	if err := b.Free(part, 10); err != nil {
		t.Fatal(err)
	}
	free := b.FreeBytes()
	for _, start := range []int{at + 1, at + 64, part, part + 64, 1 << 19, 1 << 20, -1, -64, math.MinInt, math.MaxInt} {
		if b.FreeAt(start) || b.FreeBytes() != free {
			t.Errorf("FreeAt(%d) frees something", start)
		}
	}
	if !b.FreeAt(at) || b.FreeAt(at) {
		t.Error("a block is not freed exactly once")
	}
	if err := b.Verify(); err != nil {
		t.Error(err)
	}
}

// A range that is no power of two ends in a block whose buddy would lie beyond it,
// and maybe beyond the table.
func TestBuddyBeyondTheRange(t *testing.T) {
	const unit, block = 16, 16 << 10
	for blocks := 1; blocks <= 16; blocks++ {
		b := offset.NewBuddy(blocks*block, unit)
		for range blocks {
			if b.Allocate(block) < 0 {
				t.Fatalf("no room for %d blocks", blocks)
			}
		}
		// Blocks that are no buddies of each other, the last of the range among them.
		for i := (blocks - 1) % 2; i < blocks; i += 2 {
			if err := b.Free(i*block, block); err != nil {
				t.Fatalf("%d blocks: %v", blocks, err)
			}
			if err := b.Verify(); err != nil {
				t.Fatalf("%d blocks: %v\n%v", blocks, err, b)
			}
		}
	}
}

// What Verify costs does not depend on how long a block is that was freed in part.
func TestBuddyVerifiesAHugeBlock(t *testing.T) {
	const units = math.MaxInt32
	b := offset.NewBuddy(units, 1)
	at := b.Allocate(1 << 30)
	for _, part := range []int{0, 1 << 20, 1<<30 - 1} {
		if err := b.Free(at+part, 1); err != nil {
			t.Fatal(err)
		}
		if err := b.Verify(); err != nil {
			t.Fatal(err)
		}
	}
	if want := units - (1<<30 - 3); b.FreeBytes() != want {
		t.Errorf("%d offsets are free, want %d", b.FreeBytes(), want)
	}
}
