package gomem

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomem-go/gomem/internal/check"
)

func blocksOf(a *Allocator) string {
	var s strings.Builder
	for _, b := range a.GetBlocks() {
		s.WriteString(b.String())
	}
	return s.String()
}

func TestAllocatorModel(t *testing.T) {
	const seed, size = 7, 2000
	steps := 20000
	if testing.Short() || check.Enabled {
		steps = 2000
	}
	t.Logf("seed %d", seed)
	a := NewAllocator(size)
	rnd := rand.New(rand.NewPCG(seed, 0))
	inUse := make([]bool, size)
	var live []Block
	// largest is the longest run of free offsets.
	largest := func() (longest int) {
		run := 0
		for _, used := range inUse {
			if run++; used {
				run = 0
			}
			longest = max(longest, run)
		}
		return longest
	}
	for step := range steps {
		if rnd.IntN(2) == 0 || len(live) == 0 {
			n := 1 + rnd.IntN(1+rnd.IntN(120))
			found, at := a.Find(n), a.Allocate(n)
			if found != at {
				t.Fatalf("step %d: Find(%d) = %d, Allocate = %d", step, n, found, at)
			}
			if at < 0 {
				if fit := largest(); fit >= n {
					t.Fatalf("step %d: Allocate(%d) = -1 with %d free in one block", step, n, fit)
				}
				continue
			}
			for i := at; i < at+n; i++ {
				if inUse[i] {
					t.Fatalf("step %d: Allocate(%d) = %d, where %d is in use", step, n, at, i)
				}
				inUse[i] = true
			}
			live = append(live, Block{Start: at, End: at + n})
			continue
		}
		i := rnd.IntN(len(live))
		b := live[i]
		lo := b.Start + rnd.IntN(b.Size())
		hi := lo + 1 + rnd.IntN(b.End-lo)
		live = slices.Delete(live, i, i+1)
		for _, rest := range []Block{{Start: b.Start, End: lo}, {Start: hi, End: b.End}} {
			if rest.Size() > 0 {
				live = append(live, rest)
			}
		}
		if err := a.TryFree(lo, hi-lo); err != nil {
			t.Fatalf("step %d: TryFree(%d, %d) of %v: %v", step, lo, hi-lo, b, err)
		}
		for i := lo; i < hi; i++ {
			inUse[i] = false
		}
		if err := a.TryFree(lo, hi-lo); !errors.Is(err, ErrDoubleFree) {
			t.Fatalf("step %d: second TryFree(%d, %d): %v", step, lo, hi-lo, err)
		}
	}
	free := 0
	for _, b := range a.GetBlocks() {
		for i := b.Start; i < b.End; i++ {
			if inUse[i] {
				t.Fatalf("%v in GetBlocks is in use at %d", b, i)
			}
			free++
		}
	}
	if free != a.GetFreeSize() {
		t.Errorf("GetBlocks has %d, GetFreeSize is %d", free, a.GetFreeSize())
	}
	if err := a.Verify(); err != nil {
		t.Error(err)
	}
	for _, b := range live {
		if err := a.TryFree(b.Start, b.Size()); err != nil {
			t.Fatal(err)
		}
	}
	if a.Allocate(size) != 0 || a.GetFreeSize() != 0 {
		t.Errorf("after everything was freed the whole cannot be allocated: %s", blocksOf(a))
	}
}

func TestG05LargeBlockIsFound(t *testing.T) {
	a := NewAllocator(1000)
	for _, n := range []int{500, 100, 100, 100, 100, 100} {
		if a.Allocate(n) < 0 {
			t.Fatal("no room")
		}
	}
	for _, b := range []Block{{Start: 0, End: 500}, {Start: 600, End: 700}, {Start: 800, End: 900}} {
		if err := a.TryFree(b.Start, b.Size()); err != nil {
			t.Fatal(err)
		}
	}
	if at := a.Allocate(400); at != 0 {
		t.Errorf("Allocate(400) = %d although [0,500) is free", at)
	}
}

// Not a measurement: the predecessor needed minutes for this.
func TestG07EqualBlocks(t *testing.T) {
	n := 40000
	if check.Enabled {
		n = 500 // each step checks all blocks
	}
	a := NewAllocator(n * 64)
	begin := time.Now()
	for i := range n {
		if at := a.Allocate(64); at != i*64 {
			t.Fatalf("Allocate(64) = %d, want %d", at, i*64)
		}
	}
	for i := 0; i < n; i += 2 {
		if err := a.TryFree(i*64, 64); err != nil {
			t.Fatal(err)
		}
	}
	for i := 1; i < n; i += 2 {
		if err := a.TryFree(i*64, 64); err != nil {
			t.Fatal(err)
		}
	}
	if got := blocksOf(a); got != fmt.Sprintf("[0,%d)", n*64) {
		t.Errorf("free blocks %s", got)
	}
	t.Logf("%d blocks in %v", n, time.Since(begin))
}

func TestAllocatorMisuse(t *testing.T) {
	a := NewAllocator(1000)
	a.Allocate(1000)
	for _, b := range []Block{{Start: 100, End: 200}, {Start: 500, End: 600}} {
		if err := a.TryFree(b.Start, b.Size()); err != nil {
			t.Fatal(err)
		}
	}
	const want = "[100,200)[500,600)"
	for _, c := range []struct {
		id          string
		start, size int
		err         error
	}{
		{"G-11", 100, 100, ErrDoubleFree},
		{"G-11", 500, 100, ErrDoubleFree},
		{"G-12 head", 50, 51, ErrDoubleFree},
		{"G-12 tail", 599, 10, ErrDoubleFree},
		{"G-12 hole", 50, 800, ErrDoubleFree},
		{"G-12 beyond the end", 900, 101, ErrNotOwned},
		{"G-12 before the start", -10, 20, ErrNotOwned},
		{"G-12 overflow", 900, math.MaxInt, ErrNotOwned},
		{"G-13", 300, -100, ErrInvalidSize},
		{"G-13", 300, math.MinInt, ErrInvalidSize},
		{"G-36", 300, 0, ErrInvalidSize},
	} {
		if err := a.TryFree(c.start, c.size); !errors.Is(err, c.err) {
			t.Errorf("%s: TryFree(%d, %d) = %v, want %v", c.id, c.start, c.size, err, c.err)
		}
		if got := blocksOf(a); got != want || a.GetFreeSize() != 200 {
			t.Fatalf("%s: refused TryFree(%d, %d) changed the free blocks to %s", c.id, c.start, c.size, got)
		}
	}
	for _, n := range []int{-1, -200, math.MinInt, 0, 101, 1001, math.MaxInt} {
		if f, at := a.Find(n), a.Allocate(n); f != -1 || at != -1 || blocksOf(a) != want {
			t.Errorf("G-13: Allocate(%d) = %d, Find = %d, free %s", n, at, f, blocksOf(a))
		}
	}
	if err := a.TryFree(0, 100); err != nil {
		t.Error(err)
	}
}

func TestAllocatorLifecycle(t *testing.T) {
	for _, size := range []int{0, -1, math.MinInt} {
		a := NewAllocator(size)
		if a.Size != 0 || a.Allocate(1) != -1 || a.Find(1) != -1 || a.GetFreeSize() != 0 || len(a.GetBlocks()) != 0 {
			t.Errorf("NewAllocator(%d) has room: %v", size, a)
		}
		if err := a.TryFree(0, 1); !errors.Is(err, ErrNotOwned) {
			t.Errorf("NewAllocator(%d).TryFree(0, 1) = %v", size, err)
		}
	}
	a := NewAllocator(100)
	a.Allocate(30)
	a.Init(100)
	if blocksOf(a) != "[0,100)" {
		t.Errorf("Init leaves %s", blocksOf(a))
	}
	a.Allocate(30)
	a.Init(50)
	if a.Size != 50 || blocksOf(a) != "[0,50)" {
		t.Errorf("Init(50) leaves %s of %d", blocksOf(a), a.Size)
	}
	a.GetBlocks()[0].Start = 49
	if at := a.Allocate(10); at != 0 {
		t.Errorf("a change of the snapshot moved the block to %d", at)
	}
	for range 2 {
		a.Recycle()
		if a.Size != 0 || a.Allocate(1) != -1 || a.Find(1) != -1 || len(a.GetBlocks()) != 0 || a.GetFreeSize() != 0 {
			t.Errorf("a recycled allocator has room: %v", a)
		}
		if err := a.TryFree(0, 10); !errors.Is(err, ErrNotOwned) {
			t.Errorf("Free after Recycle = %v", err)
		}
		if err := a.TryFree(10, math.MaxInt); !errors.Is(err, ErrNotOwned) {
			t.Errorf("Free after Recycle = %v", err)
		}
		if err := a.Verify(); err != nil {
			t.Error(err)
		}
	}
	a.Init(10)
	if at := a.Allocate(10); at != 0 {
		t.Errorf("Init after Recycle: Allocate(10) = %d", at)
	}
	a.Size = 11
	if a.Verify() == nil {
		t.Error("Verify does not see that Size was changed")
	}
}

func BenchmarkAllocator(b *testing.B) {
	run := func(name string, sizes ...int) {
		b.Run("op=AllocateFree/size="+name, func(b *testing.B) {
			b.ReportAllocs()
			a := NewAllocator(64 << 10)
			i := 0
			for b.Loop() {
				n := sizes[i%len(sizes)]
				i++
				if err := a.TryFree(a.Allocate(n), n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("1024", 1024)
	run("64", 64)
	run("8192", 8192)
	run("mixed", 64, 128, 256, 512, 1024, 2048, 4096)
	b.Run("op=50then50/size=1024", func(b *testing.B) {
		a := NewAllocator(64 << 10)
		var at [50]int
		for b.Loop() {
			for i := range at {
				at[i] = a.Allocate(1024)
			}
			for _, start := range at {
				if err := a.TryFree(start, 1024); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	a := NewAllocator(64 << 10)
	b.Run("op=Find/size=1024", func(b *testing.B) {
		for b.Loop() {
			if a.Find(1024) < 0 {
				b.Fatal("no room")
			}
		}
	})
	b.Run("op=GetFreeSize", func(b *testing.B) {
		for b.Loop() {
			if a.GetFreeSize() == 0 {
				b.Fatal("no room")
			}
		}
	})
}

// TestGetBlocksAllocates: the list and the blocks, however many there are.
func TestGetBlocksAllocates(t *testing.T) {
	inlinedOnly(t)
	if check.Enabled {
		t.Skip("a debug build allocates more")
	}
	a := NewAllocator(2000)
	for range 1000 {
		a.Allocate(2)
	}
	for i := range 500 {
		a.Free(4*i, 2)
	}
	if n := len(a.GetBlocks()); n != 500 {
		t.Fatalf("%d blocks", n)
	}
	if allocs := leastAllocs(5, func() { a.GetBlocks() }); allocs != 2 {
		t.Errorf("GetBlocks makes %v allocations", allocs)
	}
}
