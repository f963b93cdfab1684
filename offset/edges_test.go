package offset_test

import (
	"errors"
	"iter"
	"math"
	"math/bits"
	"runtime"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// What is larger than the range, or aligned to more than it, finds no room, however
// far beyond it is.
func TestNoRoomForMoreThanTheRange(t *testing.T) {
	const size = 1 << 10
	for _, a := range []offset.Allocator{
		offset.NewSingleTree(size), offset.NewTwoTree(size), offset.NewTLSF(size, 8), offset.NewFew(size, 8), offset.NewBuddy(size, 1),
	} {
		a.Allocate(1) // 0 is a multiple of everything
		free := a.FreeBytes()
		for shift := bits.Len(size); shift < bits.UintSize-1; shift++ {
			for _, n := range []int{1<<shift - 1, 1 << shift, 1<<shift + 1} {
				if a.Allocate(n) != -1 || a.Find(n) != -1 || a.AllocateAligned(n, 8) != -1 || a.AllocateAligned(1, 1<<shift) != -1 {
					t.Errorf("%T: room for %d offsets or a multiple of %d in %d", a, n, 1<<shift, size)
				}
			}
		}
		if err := a.Verify(); err != nil || a.FreeBytes() != free {
			t.Errorf("%T: %d offsets are free, want %d; %v", a, a.FreeBytes(), free, err)
		}
	}
}

// A TwoTree serves an aligned request from the smallest of the first eight blocks that
// holds it, else from the smallest that would hold it wherever it lay, else from the
// smallest that happens to.
func TestTwoTreeLooksAtEightBlocks(t *testing.T) {
	const (
		size, align = 8, 64
		sure        = size + align - 1
	)
	for _, c := range []struct {
		name   string
		askew  int // blocks of size that lie between two multiples
		large  bool
		onSure bool
	}{
		{"the eighth holds it", 7, true, false},
		{"the ninth would hold it", 8, true, true},
		{"the ninth holds it and none is large", 8, false, false},
	} {
		a := offset.NewTwoTree(1 << 12)
		a.Allocate(a.Size())
		free := func(start, size int) {
			if err := a.Free(start, size); err != nil {
				t.Fatal(err)
			}
		}
		for i := range c.askew {
			free((2*i+1)*align+4, size)
		}
		const lucky, large = 32 * align, 40*align + 1
		free(lucky, size+1)
		want := lucky
		if c.large {
			free(large, sure)
		}
		if c.onSure {
			want = 41 * align
		}
		if at := a.AllocateAligned(size, align); at != want {
			t.Errorf("%s: at %d, want %d\n%v", c.name, at, want, a)
		}
	}
}

// TLSF looks into the highest class even if neither the block that Allocate would take
// holds an aligned request nor any has room for every gap.
func TestTLSFAlignedInTheHighestClass(t *testing.T) {
	const granule, align = 8, 64
	a := offset.NewTLSF(16*granule, granule)
	for range 16 {
		a.Allocate(granule)
	}
	for _, g := range []int{1, 2, 8, 9, 10} {
		if err := a.Free(g*granule, granule); err != nil {
			t.Fatal(err)
		}
	}
	if at := a.AllocateAligned(granule, align); at != 8*granule {
		t.Errorf("at %d, want %d\n%v", at, 8*granule, a)
	}
}

// The tables of a TLSF grow wherever a block ends, also just where they do.
func TestTLSFGrowsItsTables(t *testing.T) {
	const granule = 16
	for n := range 300 {
		a := offset.NewTLSF(1<<20, granule)
		if a.Allocate(1) != 0 || a.Free(0, 1) != nil { // there is a node to spare
			t.Fatal("no room, or a refusal")
		}
		if at := a.Allocate(n*granule + 1); at != 0 {
			t.Fatalf("%d granules at %d", n+1, at)
		}
		if at := a.Allocate(granule); at != (n+1)*granule {
			t.Errorf("behind %d granules: at %d", n+1, at)
		}
		if err := a.Verify(); err != nil {
			t.Errorf("%d granules: %v", n+1, err)
		}
	}
}

// The tables that a TLSF starts with are as large as its comment says.
func TestTLSFStartsSmall(t *testing.T) {
	var a *offset.TLSF
	for granules, most := range map[int]uint64{16: 1 << 10, 1 << 16: 8 << 10, math.MaxInt32 / 8: 16 << 10} {
		least := uint64(math.MaxUint64)
		for range 5 { // others may allocate meanwhile
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			a = offset.NewTLSF(granules*8, 8)
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		if least > most {
			t.Errorf("a TLSF of %d granules starts with %d bytes, want at most %d", a.Size()/8, least, most)
		}
	}
}

// The zero value has no room, whatever is reserved, and nothing is wrong with it.
func TestZeroTLSFReserve(t *testing.T) {
	var a offset.TLSF
	a.Reserve(5)
	if at := a.Allocate(1); at >= 0 {
		t.Errorf("a block at %d", at)
	}
	if err := a.Verify(); err != nil {
		t.Error(err)
	}
}

// Reserve makes room for as many blocks as it is told, and for none if that is
// negative.
func TestTLSFReserve(t *testing.T) {
	const runs, blocks = 2, 100 // AllocsPerRun runs once more than it counts
	fresh := func(reserve ...int) (all []*offset.TLSF) {
		for range runs {
			a := offset.NewTLSF(1<<20, 64)
			for _, n := range reserve {
				a.Reserve(n)
			}
			all = append(all, a)
		}
		return all
	}
	allocs := func(ready []*offset.TLSF, do func(a *offset.TLSF)) float64 {
		i := 0
		return testing.AllocsPerRun(runs-1, func() { do(ready[i]); i++ })
	}
	if n := allocs(fresh(2*blocks), func(a *offset.TLSF) {
		var at [blocks]int
		for i := range at {
			at[i] = a.Allocate(100 * i)
		}
		for i := 1; i < blocks; i += 2 {
			a.Free(at[i], 100*i)
		}
	}); n != 0 {
		t.Errorf("%d blocks took %v allocations behind Reserve(%d)", blocks, n, 2*blocks)
	}
	// What is cut off and joined at once is no block more.
	three := fresh(4)
	for _, a := range three {
		for range 3 {
			a.Allocate(64)
		}
	}
	if n := allocs(three, func(a *offset.TLSF) { a.Resize(2*64, 64, 2*64) }); n != 0 {
		t.Errorf("a Resize took %v allocations behind Reserve(4)", n)
	}
	for _, a := range three {
		a.Allocate(a.Fits())
		a.Free(2*64, 2*64)
	}
	if n := allocs(three, func(a *offset.TLSF) { a.Free(4*64, 64) }); n != 0 {
		t.Errorf("a Free of a block's head took %v allocations behind Reserve(4)", n)
	}
	for reserve, more := range map[int]float64{-1: 0, math.MinInt: 0, 1000: 1, math.MaxInt: 1} {
		if n := allocs(fresh(0), func(a *offset.TLSF) { a.Reserve(reserve) }); n != more {
			t.Errorf("Reserve(%d) behind Reserve(0) took %v allocations, want %v", reserve, n, more)
		}
	}
}

// Nothing lies outside of the range of a TLSF, and only a whole block can change its
// length.
func TestTLSFRefusesToNameAndToResize(t *testing.T) {
	a := offset.NewTLSF(1<<12, 64)
	b, part := a.Allocate(100), a.Allocate(200)
	if err := a.Free(part, 10); err != nil {
		t.Fatal(err)
	}
	for _, pos := range []int{-1, math.MinInt, 1 << 12, math.MaxInt} {
		if run, live := a.At(pos); run != (offset.Block{}) || live {
			t.Errorf("At(%d) = %v, %v", pos, run, live)
		}
	}
	free := a.FreeBytes()
	for _, r := range [][3]int{
		{b, 99, 50}, {b, 101, 50}, {b, 99, 110}, {b, 100, 0}, {b, 100, -1}, {b, 100, 129}, {b, 100, math.MaxInt},
		{b + 1, 99, 50}, {b + 64, 36, 20}, {part, 200, 100}, {part, 190, 100}, {part + 256, 64, 32}, {-64, 64, 32}, {1 << 12, 64, 32},
	} {
		if a.Resize(r[0], r[1], r[2]) || a.FreeBytes() != free {
			t.Errorf("Resize(%d, %d, %d), %d bytes free, %d before", r[0], r[1], r[2], a.FreeBytes(), free)
		}
	}
	if err := a.Verify(); err != nil {
		t.Error(err)
	}
}

// A block with a hole has no length, and cannot change it, at none of its parts.
func TestTLSFBlockWithAHoleHasNoLength(t *testing.T) {
	a := offset.NewTLSF(1<<12, 64)
	b := a.Allocate(300)
	if err := a.Free(b+70, 10); err != nil {
		t.Fatal(err)
	}
	for _, run := range []offset.Block{{Start: b, End: b + 70}, {Start: b, End: b + 64}, {Start: b + 80, End: b + 300}, {Start: b + 128, End: b + 300}} {
		if n, ok := a.BlockSize(run.Start); ok || a.Resize(run.Start, run.Size(), 10) {
			t.Errorf("%v: a block of %d bytes\n%v", run, n, a)
		}
	}
	if err := a.Verify(); err != nil {
		t.Error(err)
	}
}

// No range of less than one offset is freed, wherever it begins: not at the end of
// the live bytes of a block, nor in what lies behind them.
func TestFreeOfNothing(t *testing.T) {
	for _, a := range []offset.Allocator{
		offset.NewSingleTree(1 << 10), offset.NewTwoTree(1 << 10), offset.NewTLSF(1<<10, 64), offset.NewFew(1<<10, 64), offset.NewBuddy(1<<10, 64),
	} {
		b := a.Allocate(100)
		free := a.FreeBytes()
		for start := b; start <= b+128; start++ {
			for _, size := range []int{0, -1, b + 100 - start} {
				if size > 0 {
					continue
				}
				if err := a.Free(start, size); !errors.Is(err, offset.ErrInvalidSize) || a.FreeBytes() != free {
					t.Errorf("%T: Free(%d, %d): %v", a, start, size, err)
				}
			}
		}
		if err := a.Verify(); err != nil {
			t.Errorf("%T: %v", a, err)
		}
	}
}

// A loop over the blocks may end before they do.
func TestLoopOverBlocksEndsEarly(t *testing.T) {
	for _, a := range []offset.Allocator{
		offset.NewSingleTree(1 << 10), offset.NewTwoTree(1 << 10), offset.NewTLSF(1<<10, 64), offset.NewFew(1<<10, 64), offset.NewBuddy(1<<10, 64),
	} {
		for range 4 {
			a.Allocate(64)
		}
		for _, at := range []int{0, 128} {
			if err := a.Free(at, 64); err != nil {
				t.Fatal(err)
			}
		}
		for b := range a.Blocks() {
			if b != (offset.Block{Start: 0, End: 64}) {
				t.Errorf("%T: the first free block is %v", a, b)
			}
			break
		}
		if all, ok := a.(interface {
			All() iter.Seq2[offset.Block, bool]
		}); ok {
			for b, live := range all.All() {
				if live || b != (offset.Block{Start: 0, End: 64}) {
					t.Errorf("%T: the first block is %v, %v", a, b, live)
				}
				break
			}
		}
	}
}

// A Buddy knows the length of a block beyond 4 GiB as well.
func TestBuddyBlockBeyond4GiB(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("no such length")
	}
	gib := 1
	gib <<= 30
	b := offset.NewBuddy(16*gib, 1<<20)
	at, size := b.Allocate(5*gib), 5*gib
	if got, ok := b.BlockSize(at); got != size || !ok {
		t.Errorf("a block of %d bytes is one of %d, %v", size, got, ok)
	}
	if err := b.Free(at, size); err != nil || b.FreeBytes() != b.Size() {
		t.Errorf("%d of %d bytes are free: %v", b.FreeBytes(), b.Size(), err)
	}
}

// TestRangeErrorText: what is not known is not named.
func TestRangeErrorText(t *testing.T) {
	free := offset.RangeError{Range: offset.Block{Start: 8, End: 16}, Conflict: offset.Block{Start: 12, End: 20}, Err: offset.ErrDoubleFree}
	foreign := offset.RangeError{Range: offset.Block{Start: 8, End: 16}, Err: offset.ErrNotOwned}
	nowhere := offset.RangeError{Err: offset.ErrNotOwned}
	for want, err := range map[string]*offset.RangeError{
		offset.ErrDoubleFree.Error() + ": [8,16) overlaps free block [12,20)": &free,
		offset.ErrNotOwned.Error() + ": [8,16)":                               &foreign,
		offset.ErrNotOwned.Error():                                            &nowhere,
	} {
		if got := err.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
