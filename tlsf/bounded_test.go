package tlsf_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/gomem-go/gomem/internal/check"
	"github.com/gomem-go/gomem/internal/trace"
	"github.com/gomem-go/gomem/tlsf"
)

// blockCounts are the numbers of free blocks over which time must not grow.
func blockCounts() []int {
	if scaled(100) < 100 {
		return []int{10, 1_000}
	}
	return []int{10, 1_000, 100_000, 1_000_000}
}

// fragmented makes a pool with n free blocks of different classes, each
// between two live ones.
func fragmented(t testing.TB, n int) *tlsf.Pool {
	t.Helper()
	const mean = 16 + 464
	p := mustNew(t, n*mean+1<<20, tlsf.WithMmap(), tlsf.WithBlocks(2*n+100))
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	holes := make([][]byte, n)
	for i := range holes {
		holes[i] = mustAlloc(t, p, 16*(20+rng.IntN(19)))
		mustAlloc(t, p, 16)
	}
	for _, b := range holes {
		mustFree(t, p, b)
	}
	return p
}

// With the tables grown by WithBlocks no operation allocates, at any number of
// blocks, also when there is no room.
func TestNoOperationAllocates(t *testing.T) {
	for _, n := range blockCounts() {
		t.Run(fmt.Sprintf("blocks=%d", n), func(t *testing.T) {
			p := fragmented(t, n)
			got := testing.AllocsPerRun(100, func() {
				a, err := p.Alloc(100)
				if err != nil {
					t.Fatal(err)
				}
				b, err := p.AllocAligned(100, 256)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.Alloc(math.MaxInt); err == nil {
					t.Fatal("more than any pool found")
				}
				if b, err = p.Resize(b, 300); err != nil {
					t.Fatal(err)
				}
				if b, err = p.Resize(b, 50); err != nil {
					t.Fatal(err)
				}
				_ = p.Stats()
				if p.Free(a) != nil || p.Free(b) != nil {
					t.Fatal("not freed")
				}
			})
			if got != 0 && !check.Enabled {
				t.Errorf("%v Go allocations in a round of operations, want 0", got)
			}
		})
	}
}

// A small block from a pool that nobody used yet takes its class and no more.
func TestSmallBlockLeavesThePool(t *testing.T) {
	for _, size := range []int{4 << 10, 1 << 20, 1 << 30} {
		p := mustNew(t, size, tlsf.WithMmap())
		b := mustAlloc(t, p, 16)
		if s := p.Stats(); s.Used != 16 || s.Largest != size-16 {
			t.Errorf("of %d bytes, a block of 16 leaves %d in one piece", size, s.Largest)
		}
		mustFree(t, p, b)
	}
}

// Random workloads as the authors of TLSF measured them: blocks of random size
// come and go around a constant load. Fragmentation is the memory the pool had
// to reach into beyond the most that was live.
func TestFragmentation(t *testing.T) {
	if check.Enabled {
		t.Skip("a Verify after each of these operations takes minutes")
	}
	workloads := []struct {
		name string
		size func(*rand.Rand) int
	}{
		{"uniform 16–512", func(r *rand.Rand) int { return 16 + r.IntN(497) }},
		{"uniform 1–4 KiB", func(r *rand.Rand) int { return 1<<10 + r.IntN(3<<10) }},
		{"uniform 16–16384", func(r *rand.Rand) int { return 16 + r.IntN(16369) }},
		{"exponential 256", func(r *rand.Rand) int { return 1 + int(r.ExpFloat64()*256) }},
		{"exponential 4096", func(r *rand.Rand) int { return 1 + int(r.ExpFloat64()*4096) }},
		{"two sizes", func(r *rand.Rand) int { return 64 + 1436*r.IntN(2) }},
		{"powers of two", func(r *rand.Rand) int { return 16 << r.IntN(10) }},
	}
	const load = 4 << 20
	rounds := scaled(60_000)
	sum, worst := 0.0, 0.0
	for i, w := range workloads {
		rng := rand.New(rand.NewPCG(uint64(i), 4))
		p := mustNew(t, 3*load, tlsf.WithMmap())
		base := mustAlloc(t, p, 1)
		var live [][]byte
		reach := 0
		for range rounds {
			for p.Stats().Used >= load {
				pick := rng.IntN(len(live))
				mustFree(t, p, live[pick])
				live[pick] = live[len(live)-1]
				live = live[:len(live)-1]
			}
			b := mustAlloc(t, p, w.size(rng))
			live = append(live, b)
			reach = max(reach, distance(base, b)+len(b))
		}
		got := float64(reach)/float64(p.Stats().Peak) - 1
		t.Logf("%-18s %5.1f %%", w.name, 100*got)
		sum, worst = sum+got, max(worst, got)
	}
	if mean := sum / float64(len(workloads)); mean >= 0.15 || worst >= 0.25 {
		t.Errorf("fragmentation %.1f %% on average, %.1f %% at most; want below 15 and 25", 100*mean, 100*worst)
	}
}

// The same on recorded programs. They have many blocks of a few bytes, each of
// which takes 16, so what is asked for is rounded up to that here.
func TestFragmentationOfTraces(t *testing.T) {
	if check.Enabled {
		t.Skip("a Verify after each of these operations takes minutes")
	}
	names, err := filepath.Glob("../bench/testdata/*.trace.gz")
	if err != nil || len(names) == 0 {
		t.Skipf("no traces here: %v", err)
	}
	for _, name := range names {
		tr, err := trace.ReadFile(name, trace.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		p := mustNew(t, int(2*tr.PeakBytes)+16*tr.PeakBlocks, tlsf.WithMmap())
		var live [][]byte
		base, used, peak, reach := mustAlloc(t, p, 1), 0, 0, 0
		for _, op := range tr.Ops {
			if op&trace.FreeBit != 0 {
				b := live[op&^trace.FreeBit]
				used -= (len(b) + 15) &^ 15
				mustFree(t, p, b)
				continue
			}
			b := mustAlloc(t, p, int(op))
			live = append(live, b)
			used += (len(b) + 15) &^ 15
			peak = max(peak, used)
			reach = max(reach, distance(base, b)+len(b))
		}
		got := float64(reach)/float64(peak) - 1
		t.Logf("%-40s %5.1f %% of %d bytes, %d blocks", name, 100*got, peak, tr.PeakBlocks)
		if got >= 0.25 {
			t.Errorf("%s: fragmentation %.1f %%, want below 25", name, 100*got)
		}
	}
}

// The pair that the wcet command splits up, over the number of free blocks.
func BenchmarkPair(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("blocks=%d", n), func(b *testing.B) {
			p := fragmented(b, n)
			b.ReportAllocs()
			for b.Loop() {
				mem, err := p.Alloc(100)
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Free(mem); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
