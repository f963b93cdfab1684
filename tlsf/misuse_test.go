package tlsf_test

import (
	"errors"
	"math"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/tlsf"
)

// refused checks that f is refused with want and changes nothing but the count.
func refused(t *testing.T, p *tlsf.Pool, name string, want error, f func() error) {
	t.Helper()
	picture, before := p.String(), p.Stats()
	if err := f(); !errors.Is(err, want) {
		t.Errorf("%s = %v, want %v", name, err, want)
	}
	after := p.Stats()
	if after.Misuses != before.Misuses+1 {
		t.Errorf("%s: %d misuses counted, want 1", name, after.Misuses-before.Misuses)
	}
	after.Misuses = before.Misuses
	if now := p.String(); now != picture || after != before {
		t.Errorf("%s changed the pool: from %+v\n%s\nto %+v\n%s", name, before, picture, after, now)
	}
	if err := p.Verify(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func TestMisuseOfFree(t *testing.T) {
	for _, backing := range backings {
		t.Run(backing.name, func(t *testing.T) {
			p := mustNew(t, 64<<10, backing.opts...)
			other := mustNew(t, 64<<10, backing.opts...)
			a, b, c := mustAlloc(t, p, 100), mustAlloc(t, p, 200), mustAlloc(t, p, 300)
			fill(a, 1)
			fill(c, 3)
			foreign := mustAlloc(t, other, 100)
			start := unsafe.Pointer(unsafe.SliceData(b))

			free := func(mem []byte) func() error { return func() error { return p.Free(mem) } }
			pointer := func(ptr unsafe.Pointer) func() error { return func() error { return p.FreePointer(ptr) } }
			resize := func(mem []byte) func() error {
				return func() error { _, err := p.Resize(mem, 50); return err }
			}
			moved := append(b, 1)
			for name, mem := range map[string][]byte{
				"interior":             b[1:],
				"interior, granule":    b[16:],
				"shorter":              b[:100:100],
				"one byte short":       b[:199:199],
				"longer":               unsafe.Slice(unsafe.SliceData(b), 208),
				"into the next block":  unsafe.Slice(unsafe.SliceData(b), 300),
				"Go heap":              make([]byte, 200),
				"another pool":         foreign,
				"moved by append":      moved,
				"one before the block": unsafe.Slice((*byte)(unsafe.Add(start, -1)), 1),
			} {
				want := tlsf.ErrNotOwned
				if name == "one before the block" {
					want = tlsf.ErrDoubleFree // the slack of the block before is free
				}
				refused(t, p, "Free: "+name, want, free(mem))
				refused(t, p, "Resize: "+name, want, resize(mem))
			}
			var local byte
			refused(t, p, "FreePointer: interior", tlsf.ErrNotOwned, pointer(unsafe.Add(start, 16)))
			refused(t, p, "FreePointer: unaligned", tlsf.ErrNotOwned, pointer(unsafe.Add(start, 3)))
			refused(t, p, "FreePointer: foreign", tlsf.ErrNotOwned, pointer(unsafe.Pointer(&local)))
			refused(t, p, "FreePointer: free memory", tlsf.ErrDoubleFree, pointer(unsafe.Add(start, 10_000)))

			mustFree(t, p, b)
			refused(t, p, "double free", tlsf.ErrDoubleFree, free(b))
			refused(t, p, "double free by pointer", tlsf.ErrDoubleFree, pointer(start))
			refused(t, p, "Resize of freed memory", tlsf.ErrDoubleFree, resize(b))
			checkFill(t, a, 1)
			mustFree(t, p, a)
			refused(t, p, "double free after a merge to the left", tlsf.ErrDoubleFree, free(b))
			checkFill(t, c, 3)
			mustFree(t, p, c)
			for _, mem := range [][]byte{a, b, c} {
				refused(t, p, "double free after all merged", tlsf.ErrDoubleFree, free(mem))
			}
			mustFree(t, other, foreign)
		})
	}
}

func TestRefusalNamesTheRange(t *testing.T) {
	p := mustNew(t, 4096)
	a, b := mustAlloc(t, p, 100), mustAlloc(t, p, 100)
	mustFree(t, p, a)
	var bad *tlsf.RangeError
	err := p.Free(a)
	if !errors.As(err, &bad) || bad.Range != (tlsf.Block{Start: 0, End: 100}) || bad.Conflict != (tlsf.Block{Start: 0, End: 112}) {
		t.Errorf("double free: %v", err)
	}
	err = p.Free(b[50:])
	if !errors.As(err, &bad) || bad.Range != (tlsf.Block{Start: 162, End: 212}) || bad.Conflict != (tlsf.Block{}) {
		t.Errorf("interior free: %v", err)
	}
}

func TestNothingIsFreedWithoutABlock(t *testing.T) {
	p := mustNew(t, 4096)
	empty, err := p.Alloc(0)
	if err != nil || empty == nil || len(empty) != 0 {
		t.Errorf("Alloc(0) = %v, %v", empty, err)
	}
	for name, err := range map[string]error{
		"nil": p.Free(nil), "empty": p.Free([]byte{}), "Alloc(0)": p.Free(empty), "nil pointer": p.FreePointer(nil),
	} {
		if err != nil {
			t.Errorf("Free of %s: %v", name, err)
		}
	}
	if s := p.Stats(); s.Misuses != 0 || s.Frees != 0 {
		t.Errorf("%+v after freeing nothing", s)
	}
}

// mapper is a source of which only Map is of interest.
type mapper struct {
	backing.Source
	get func(size int) ([]byte, error)
}

func (m mapper) Map(size int) ([]byte, error) { return m.get(size) }
func (m mapper) PageSize() int                { return 4096 }

// TestPointersBesidePool: the bytes next to a pool are not its own.
func TestPointersBesidePool(t *testing.T) {
	wide, err := backing.Heap().Map(3 * 4096)
	if err != nil {
		t.Fatal(err)
	}
	p := mustNew(t, 4096, tlsf.WithBacking(mapper{backing.Heap(), func(size int) ([]byte, error) {
		return wide[4096:][:size:size], nil
	}}))
	for _, at := range []int{0, 4095, 8192, 8193} {
		err := p.FreePointer(unsafe.Pointer(&wide[at]))
		if re, ok := errors.AsType[*tlsf.RangeError](err); !ok || !errors.Is(err, tlsf.ErrNotOwned) || re.Range != (tlsf.Block{}) {
			t.Errorf("FreePointer %d bytes from the start: %v", at-4096, err)
		}
	}
}

// TestLargePools: the granule grows with the pool, to 64 bytes; the source is asked
// for whole ones, and for no more than there may be.
func TestLargePools(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("there are no such pools")
	}
	granules := math.MaxInt32
	for _, c := range []struct{ size, asked int }{
		{1, 16}, {16 * granules, 16 * granules}, {16*granules + 1, 16*granules + 32 - 16*granules%32},
		{32 * granules, 32 * granules}, {32*granules + 1, 32*granules + 64 - 32*granules%64},
		{64*granules - 1, 64 * granules}, {64 * granules, 64 * granules}, {64*granules + 1, 0}, {math.MaxInt, 0},
	} {
		asked, want := 0, tlsf.ErrOutOfMemory
		if c.asked == 0 {
			want = tlsf.ErrInvalidSize
		}
		_, err := tlsf.New(c.size, tlsf.WithBacking(mapper{backing.Heap(), func(size int) ([]byte, error) {
			asked = size
			return nil, tlsf.ErrOutOfMemory
		}}))
		if asked != c.asked || !errors.Is(err, want) {
			t.Errorf("New(%d) asks for %d, want %d: %v", c.size, asked, c.asked, err)
		}
	}
}

// A block is known by its start and capacity: its user may reslice its end.
func TestFreeOfAReslicedBlock(t *testing.T) {
	p := mustNew(t, 4096)
	for _, keep := range []int{0, 1, 50, 100} {
		b := mustAlloc(t, p, 100)
		mustFree(t, p, b[:keep])
	}
	if got := p.Stats().Used; got != 0 {
		t.Errorf("%d bytes in use", got)
	}
}

// invalidSize reports that err is ErrInvalidSize and nothing else: a program that
// frees blocks and tries again at ErrBlockNotFound would never end.
func invalidSize(err error) bool {
	return errors.Is(err, tlsf.ErrInvalidSize) && !errors.Is(err, tlsf.ErrBlockNotFound)
}

func TestMisuseOfAlloc(t *testing.T) {
	p := mustNew(t, 64<<10)
	for _, n := range []int{-1, math.MinInt, -16} {
		if b, err := p.Alloc(n); b != nil || !invalidSize(err) {
			t.Errorf("Alloc(%d) = %d bytes, %v; want ErrInvalidSize", n, len(b), err)
		}
		if b, err := p.AllocAligned(n, 64); b != nil || !invalidSize(err) {
			t.Errorf("AllocAligned(%d, 64) = %d bytes, %v; want ErrInvalidSize", n, len(b), err)
		}
	}
	for _, n := range []int{64<<10 + 1, 1 << 30, math.MaxInt - 15, math.MaxInt} {
		if b, err := p.Alloc(n); b != nil || !errors.Is(err, tlsf.ErrBlockNotFound) {
			t.Errorf("Alloc(%d) = %d bytes, %v; want ErrBlockNotFound", n, len(b), err)
		}
		if b, err := p.AllocAligned(n, 4096); b != nil || !errors.Is(err, tlsf.ErrBlockNotFound) {
			t.Errorf("AllocAligned(%d, 4096) = %d bytes, %v; want ErrBlockNotFound", n, len(b), err)
		}
	}
	page := backing.Heap().PageSize()
	for _, align := range []int{0, -1, -16, 3, 24, 2 * page, math.MinInt, 1 << 30} {
		if b, err := p.AllocAligned(100, align); b != nil || !invalidSize(err) {
			t.Errorf("AllocAligned(100, %d) = %d bytes, %v; want ErrInvalidSize", align, len(b), err)
		}
	}
	b := mustAlloc(t, p, 100)
	for _, n := range []int{0, -1, math.MinInt} {
		if got, err := p.Resize(b, n); got != nil || !invalidSize(err) {
			t.Errorf("Resize(b, %d) = %d bytes, %v; want ErrInvalidSize", n, len(got), err)
		}
	}
	for _, n := range []int{64<<10 + 1, math.MaxInt} {
		if got, err := p.Resize(b, n); got != nil || !errors.Is(err, tlsf.ErrBlockNotFound) {
			t.Errorf("Resize(b, %d) = %d bytes, %v; want ErrBlockNotFound", n, len(got), err)
		}
	}
	mustFree(t, p, b)
	if s := p.Stats(); s.Used != 0 || s.Largest != 64<<10 || s.Misuses != 0 {
		t.Errorf("%+v after requests that were all refused", s)
	}
}

func TestNewSizes(t *testing.T) {
	for _, n := range []int{0, -1, math.MinInt, math.MaxInt, math.MaxInt - 15} {
		if p, err := tlsf.New(n, tlsf.WithMmap()); p != nil || err == nil ||
			!errors.Is(err, tlsf.ErrInvalidSize) && !errors.Is(err, tlsf.ErrOutOfMemory) {
			t.Errorf("New(%d) = %v", n, err)
		}
	}
	for n := 1; n < 100; n++ {
		p := mustNew(t, n)
		want := (n + 15) &^ 15
		if s := p.Stats(); s.Size != want || s.Largest != want {
			t.Errorf("New(%d): %+v", n, s)
		}
		mustFree(t, p, mustAlloc(t, p, want))
	}
}

func TestClosedPool(t *testing.T) {
	for _, backing := range backings {
		t.Run(backing.name, func(t *testing.T) {
			p := mustNew(t, 64<<10, backing.opts...)
			b := mustAlloc(t, p, 100)
			ptr := unsafe.Pointer(unsafe.SliceData(b))
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			for name, f := range map[string]func() error{
				"Close":       p.Close,
				"Reset":       p.Reset,
				"Alloc":       func() error { _, err := p.Alloc(1); return err },
				"Alloc(0)":    func() error { _, err := p.Alloc(0); return err },
				"Alloc(-1)":   func() error { _, err := p.Alloc(-1); return err },
				"Aligned":     func() error { _, err := p.AllocAligned(1, 64); return err },
				"Free":        func() error { return p.Free(b) },
				"FreePointer": func() error { return p.FreePointer(ptr) },
				"Resize":      func() error { _, err := p.Resize(b, 200); return err },
				"Resize(nil)": func() error { _, err := p.Resize(nil, 200); return err },
			} {
				if err := f(); !errors.Is(err, tlsf.ErrClosed) {
					t.Errorf("%s of a closed pool = %v, want ErrClosed", name, err)
				}
			}
			if s := p.Stats(); s.Size != 0 || s.Used != 0 || s.Free != 0 || s.Largest != 0 || s.Blocks != 0 {
				t.Errorf("%+v once closed", s)
			}
			for block := range p.Blocks() {
				t.Errorf("a closed pool has block %v", block)
			}
			if err := p.Verify(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBackingFaults(t *testing.T) {
	boom := errors.New("boom")
	src := backing.NewFaulty(backing.Mmap())
	src.Fail(backing.OpMap, 1, boom)
	if p, err := tlsf.New(1<<20, tlsf.WithBacking(src)); p != nil || !errors.Is(err, tlsf.ErrOutOfMemory) || !errors.Is(err, boom) {
		t.Errorf("New on a failing Map = %v", err)
	}
	p, err := tlsf.New(1<<20, tlsf.WithBacking(src))
	if err != nil {
		t.Fatal(err)
	}
	b := mustAlloc(t, p, 100)
	fill(b, 7)
	src.Fail(backing.OpUnmap, 1, boom)
	if err := p.Close(); !errors.Is(err, boom) {
		t.Errorf("Close on a failing Unmap = %v", err)
	}
	if err := p.Verify(); err != nil {
		t.Errorf("after a failed Close: %v", err)
	}
	checkFill(t, b, 7)
	mustFree(t, p, b)
	if err := p.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if n, bytes := src.Live(); n != 0 || bytes != 0 {
		t.Errorf("%d mappings of %d bytes leaked", n, bytes)
	}
}

// A source that does not keep its promise is found out before a block is.
func TestBackingBreaksItsPromise(t *testing.T) {
	const size = 1 << 16
	for name, part := range map[string]func(mem []byte) []byte{
		"nothing": func([]byte) []byte { return nil },
		"short":   func(mem []byte) []byte { return mem[:size/2] },
		"long":    func(mem []byte) []byte { return mem[:size+16] },
		"askew":   func(mem []byte) []byte { return mem[16 : size+16] },
	} {
		given, taken := []byte(nil), []byte(nil)
		p, err := tlsf.New(size, tlsf.WithBacking(unmapper{mapper{backing.Heap(), func(int) ([]byte, error) {
			mem, err := backing.Heap().Map(2 * size)
			given = part(mem)
			return given, err
		}}, &taken}))
		if p != nil || !errors.Is(err, tlsf.ErrOutOfMemory) {
			t.Errorf("%s: New = %v, %v", name, p, err)
		}
		if len(given) != len(taken) || unsafe.SliceData(given) != unsafe.SliceData(taken) {
			t.Errorf("%s: %d bytes were mapped and %d given back", name, len(given), len(taken))
		}
	}
}

// unmapper is a source that notes what is given back.
type unmapper struct {
	mapper
	taken *[]byte
}

func (u unmapper) Unmap(mem []byte) error {
	*u.taken = mem
	return nil
}
