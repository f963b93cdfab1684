package gomem

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

// misuseBench is an allocator under misuse: what it reports, and a shadow of what is
// live in it.
type misuseBench struct {
	*shadow
	k       kind
	reports []error
}

func newMisuseBench(t *testing.T, k kind, opts ...Option) *misuseBench {
	m := &misuseBench{k: k}
	a := k.make(t, append(opts, WithMisuse(func(err error) { m.reports = append(m.reports, err) }))...)
	m.shadow = newShadow(t, a, 1)
	m.run(50)
	return m
}

// refuse frees b, which must be refused for one of the reasons, and change
// nothing.
func (m *misuseBench) refuse(b []byte, why ...error) {
	m.t.Helper()
	before := m.a.Stats()
	m.reports = nil
	if m.a.Free(b) {
		m.t.Fatalf("Free of %d bytes that are not live is true", len(b))
	}
	m.refused(b, before, why...)
}

func (m *misuseBench) refused(b []byte, before Stats, why ...error) {
	m.t.Helper()
	after := m.a.Stats()
	if after.Refused != before.Refused+1 {
		m.t.Errorf("Refused went from %d to %d", before.Refused, after.Refused)
	}
	after.Refused = before.Refused
	if after != before {
		m.t.Errorf("the state changed from %+v to %+v", before, after)
	}
	if err := m.a.Verify(); err != nil {
		m.t.Fatal(err)
	}
	if len(m.reports) != 1 {
		m.t.Fatalf("%d reports: %v", len(m.reports), m.reports)
	}
	var report *MisuseError
	if !errors.As(m.reports[0], &report) {
		m.t.Fatalf("reported %T, %v", m.reports[0], m.reports[0])
	}
	if report.Size != len(b) || report.Addr != uintptr(unsafe.Pointer(unsafe.SliceData(b))) {
		m.t.Errorf("reported %d bytes at %#x, freed %d at %p", report.Size, report.Addr, len(b), b)
	}
	for _, w := range why {
		if errors.Is(report, w) {
			return
		}
	}
	m.t.Errorf("reported %v, want %v", report, why)
}

// sizes of blocks that are treated in different ways: a slot, the largest slot,
// what does not fit one, and a chunk of its own.
var misuseSizes = []int{64, 100, 2048, 2049, 20000, 5 << 20}

// misuseRows are the frees that are no frees.
var misuseRows = []struct {
	name string
	try  func(m *misuseBench, n int)
}{
	{"01 twice", func(m *misuseBench, n int) {
		b, stay := m.malloc(n), m.malloc(n)
		m.drop(b)
		m.refuse(b, ErrDoubleFree)
		m.drop(stay)
	}},
	{"02 after merging", func(m *misuseBench, n int) {
		x, y, z := m.malloc(n), m.malloc(n), m.malloc(n)
		stay := m.malloc(n)
		m.drop(x)
		m.drop(z)
		m.drop(y)
		for _, b := range [][]byte{y, x, z, y[n/4 : n/2]} {
			m.refuse(b, ErrDoubleFree, ErrNotOwned)
		}
		m.drop(stay)
	}},
	{"03 from another goroutine", func(m *misuseBench, n int) {
		b, stay := m.malloc(n), m.malloc(n)
		m.drop(b)
		before := m.a.Stats()
		m.reports = nil
		freed := make(chan bool)
		go func() { freed <- m.a.Free(b) }()
		if <-freed {
			m.t.Fatal("true")
		}
		m.refused(b, before, ErrDoubleFree)
		m.drop(stay)
	}},
	{"06 over a freed head", func(m *misuseBench, n int) {
		b := m.malloc(n)
		i := len(m.live) - 1
		m.free(i, 0, n/2)
		m.refuse(b, ErrDoubleFree)
		m.refuse(b[:1], ErrDoubleFree)
		m.refuse(b[n/2-1:n/2+1], ErrDoubleFree)
		m.drop(b[n/2:])
		m.refuse(b[n/2:], ErrDoubleFree, ErrNotOwned)
	}},
	{"07 over a freed tail", func(m *misuseBench, n int) {
		b, stay := m.malloc(n), m.malloc(n)
		m.free(len(m.live)-2, n/2, n)
		m.refuse(b, ErrDoubleFree, ErrNotOwned)
		m.refuse(b[n-1:], ErrDoubleFree)
		m.refuse(b[n/2-1:n/2+1], ErrDoubleFree, ErrNotOwned)
		m.drop(b[:n/2])
		m.drop(stay)
	}},
	{"08 over a hole", func(m *misuseBench, n int) {
		b, stay := m.malloc(n), m.malloc(n)
		m.free(len(m.live)-2, n/4, n/2)
		m.refuse(b, ErrDoubleFree, ErrNotOwned)
		m.refuse(b[n/4:n/2], ErrDoubleFree)
		m.refuse(b[n/4+1:n/4+2], ErrDoubleFree)
		m.refuse(b[:n/4+1], ErrDoubleFree, ErrNotOwned)
		m.refuse(b[n/2-1:n/2+1], ErrDoubleFree)
		m.drop(b[:n/4])
		m.drop(b[n/2:])
		m.drop(stay)
	}},
	{"09 longer than the block", func(m *misuseBench, n int) {
		if !m.k.exact() {
			return // the trees do not know the end: see TestNotDetected
		}
		b, stay := m.malloc(n), m.malloc(n)
		for _, more := range []int{1, 16, 64, 4096, 1 << 30, math.MaxInt/2 + 1 - n} {
			m.refuse(wild(b, n+more), ErrNotOwned, ErrDoubleFree)
		}
		m.drop(b)
		m.drop(stay)
	}},
	{"10 Go heap", func(m *misuseBench, n int) {
		m.refuse(make([]byte, n), ErrNotOwned)
	}},
	{"11 another allocator", func(m *misuseBench, n int) {
		other := newShadow(m.t, m.k.make(m.t), 2)
		b := other.malloc(n)
		m.refuse(b, ErrNotOwned)
		other.drop(b)
	}},
	{"12 a chunk that is gone", func(m *misuseBench, n int) {
		b := m.malloc(n + 8<<20)
		m.drop(b)
		m.a.Trim()
		m.refuse(b, ErrNotOwned)
		m.refuse(b[n:n+1], ErrNotOwned)
	}},
	{"13 over the end of a chunk", func(m *misuseBench, n int) {
		b := m.malloc(8<<20 + n&^63)
		m.refuse(wild(b, len(b)+1<<20), ErrNotOwned)
		m.refuse(wild(b, math.MaxInt), ErrNotOwned)
		m.refuse(wild(b[len(b)-1:], 2<<20), ErrNotOwned)
		m.drop(b)
	}},
	{"16 nil and empty", func(m *misuseBench, n int) {
		b := m.malloc(n)
		before := m.a.Stats()
		for _, e := range [][]byte{nil, {}, b[:0], b[n:]} {
			if !m.a.Free(e) {
				m.t.Error("an empty free is false")
			}
		}
		if after := m.a.Stats(); after != before {
			m.t.Errorf("the state changed from %+v to %+v", before, after)
		}
		m.drop(b)
	}},
	{"18 moved by append", func(m *misuseBench, n int) {
		b := m.malloc(n)
		m.refuse(append(b, 1), ErrNotOwned)
		m.drop(b)
	}},
	{"26 Recycle with live blocks", func(m *misuseBench, n int) {
		b := m.malloc(n)
		m.a.Recycle()
		m.live, m.size = nil, 0
		m.refuse(b, ErrNotOwned)
		m.a.Recycle()
		m.a.Recycle()
		m.check()
		if m.k.shared {
			shareOut(m.a)
		}
	}},
	{"36 FreeRest out of range", func(m *misuseBench, n int) {
		b := m.malloc(n)
		for _, keep := range []int{-1, n + 1, math.MaxInt, math.MinInt} {
			before := m.a.Stats()
			m.reports = nil
			same := b
			m.a.FreeRest(&same, keep)
			if len(same) != n || unsafe.SliceData(same) != unsafe.SliceData(b) {
				m.t.Errorf("FreeRest(%d) changed the slice to %d bytes", keep, len(same))
			}
			m.refused(b, before, ErrInvalidSize)
		}
		m.a.FreeRest(nil, 1)
		m.drop(b)
	}},
}

// TestMisuse takes each row of misuse to each kind of allocator: the free is
// refused with its reason, nothing changes, and the allocator works on.
func TestMisuse(t *testing.T) {
	for _, row := range misuseRows {
		t.Run(row.name, func(t *testing.T) {
			eachKindAtRest(t, func(t *testing.T, k kind) {
				m := newMisuseBench(t, k)
				for _, n := range misuseSizes {
					if n > 1<<20 && testing.Short() {
						continue
					}
					row.try(m, n)
				}
				m.run(1000)
				m.drain()
			})
		})
	}
}

func TestMisuseSizes(t *testing.T) {
	eachKindAtRest(t, func(t *testing.T, k kind) {
		src := backing.NewFaulty(backing.Heap())
		m := newMisuseBench(t, kind{k.name, k.place, k.shared, nil}, WithBacking(src))
		maps := src.Calls(backing.OpMap)
		before := m.a.Stats()
		for _, n := range []int{-1, math.MinInt} {
			if b, err := m.a.TryMalloc(n); b != nil || !errors.Is(err, ErrInvalidSize) {
				t.Errorf("TryMalloc(%d) = %d bytes, %v", n, len(b), err)
			}
			if m.a.Malloc(n) != nil || m.a.Borrow(n) != nil {
				t.Errorf("Malloc(%d) is not nil", n)
			}
		}
		for _, n := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt - 4096, math.MaxInt - 1<<29} {
			if b, err := m.a.TryMalloc(n); b != nil || !errors.Is(err, ErrOutOfMemory) {
				t.Errorf("TryMalloc(%d) = %d bytes, %v", n, len(b), err)
			}
			if b, err := m.a.MallocAligned(n, 4096); b != nil || !errors.Is(err, ErrOutOfMemory) {
				t.Errorf("MallocAligned(%d, 4096) = %d bytes, %v", n, len(b), err)
			}
			if m.a.Malloc(n) != nil || m.a.Borrow(n) != nil {
				t.Errorf("Malloc(%d) is not nil", n)
			}
		}
		for _, align := range []int{0, -1, -16, 3, 24, 8192, math.MinInt, math.MaxInt} {
			for _, n := range []int{0, 1, 100, 5000} {
				if b, err := m.a.MallocAligned(n, align); b != nil || !errors.Is(err, ErrInvalidSize) {
					t.Errorf("MallocAligned(%d, %d) = %d bytes, %v", n, align, len(b), err)
				}
			}
		}
		if got := src.Calls(backing.OpMap); got != maps {
			t.Errorf("the source was asked %d times", got-maps)
		}
		if after := m.a.Stats(); after != before {
			t.Errorf("the state changed from %+v to %+v", before, after)
		}
		for _, b := range [][]byte{m.a.Malloc(0), m.a.Borrow(0)} {
			if b == nil || len(b) != 0 || cap(b) != 0 {
				t.Errorf("Malloc(0): nil %v, len %d, cap %d", b == nil, len(b), cap(b))
			}
		}
		for align := 1; align <= 4096; align *= 2 {
			for _, n := range []int{1, 100, 5000} {
				b, err := m.a.MallocAligned(n, align)
				if err != nil || len(b) != n || cap(b) != n || uintptr(unsafe.Pointer(&b[0]))%uintptr(align) != 0 {
					t.Fatalf("MallocAligned(%d, %d): len %d cap %d at %p, %v", n, align, len(b), cap(b), b, err)
				}
				if !m.a.Free(b) {
					t.Fatalf("MallocAligned(%d, %d): cannot be freed", n, align)
				}
			}
		}
		m.run(1000)
		m.drain()
	})
}

func TestMisuseAfterClose(t *testing.T) {
	eachKindAtRest(t, func(t *testing.T, k kind) {
		m := newMisuseBench(t, k)
		b, large := m.malloc(100), m.malloc(30000)
		m.refuse(make([]byte, 100), ErrNotOwned)
		if errors.Is(m.reports[0], ErrClosed) {
			t.Errorf("an allocator that is not closed reports %v", m.reports[0])
		}
		if err := m.a.Close(); err != nil {
			t.Fatal(err)
		}
		for _, why := range []error{ErrNotOwned, ErrClosed} {
			m.refuse(b, why)
			m.refuse(large[7:9], why)
		}
		for _, n := range []int{1, 100, 5000, 5 << 20} {
			if got, err := m.a.TryMalloc(n); got != nil || !errors.Is(err, ErrClosed) {
				t.Errorf("TryMalloc(%d) = %d bytes, %v", n, len(got), err)
			}
			if got, err := m.a.MallocAligned(n, 64); got != nil || !errors.Is(err, ErrClosed) {
				t.Errorf("MallocAligned(%d) = %d bytes, %v", n, len(got), err)
			}
			if m.a.Malloc(n) != nil || m.a.Borrow(n) != nil {
				t.Errorf("Malloc(%d) is not nil", n)
			}
		}
		if err := m.a.Close(); !errors.Is(err, ErrClosed) {
			t.Errorf("the second Close: %v", err)
		}
		m.a.Recycle()
		m.a.Trim()
		if s := m.a.Stats(); s.Live != 0 || s.Backing != 0 || s.Chunks != 0 || m.a.Verify() != nil {
			t.Errorf("closed: %+v, %v", s, m.a.Verify())
		}
		if len(m.a.GetChildren()) != 0 {
			t.Error("closed, and has children")
		}
	})
}

// consecutive is a source whose mappings lie one behind the other.
type consecutive struct {
	backing.Source
	rest []byte
}

func (c *consecutive) Map(size int) ([]byte, error) {
	if size = (size + 4095) &^ 4095; size > len(c.rest) {
		return nil, ErrOutOfMemory
	}
	mem := c.rest[:size:size]
	c.rest = c.rest[size:]
	return mem, nil
}

func (c *consecutive) Unmap([]byte) error { return nil }

func (c *consecutive) PageSize() int { return 4096 }

// Row 15: a range from the end of one mapping into the next belongs to neither.
func TestMisuseAdjacentMappings(t *testing.T) {
	eachKindAtRest(t, func(t *testing.T, k kind) {
		all, err := backing.Heap().Map(32 << 20)
		if err != nil {
			t.Fatal(err)
		}
		m := newMisuseBench(t, kind{k.name, k.place, k.shared, nil}, WithBacking(&consecutive{backing.Heap(), all}))
		x, y := m.malloc(5<<20), m.malloc(5<<20)
		// Where slots align chunks, a few KiB between the two are in neither.
		const over = 64 << 10
		m.refuse(wild(x, len(x)+over), ErrNotOwned)
		m.refuse(wild(x[len(x)-1:], 1+over), ErrNotOwned)
		m.refuse(wild(x, len(x)+len(y)), ErrNotOwned)
		m.drop(x)
		m.refuse(x, ErrDoubleFree, ErrNotOwned)
		m.drop(y)
		m.run(1000)
		m.drain()
	})
}

// TestMisuseZeroValue: calls of an allocator that no constructor made panic as a nil
// pointer does, wherever they begin, and the program can recover.
func TestMisuseZeroValue(t *testing.T) {
	for name, call := range map[string]func(a *ScalableMemoryAllocator){
		"Malloc":    func(a *ScalableMemoryAllocator) { a.Malloc(100) },
		"TryMalloc": func(a *ScalableMemoryAllocator) { _, _ = a.TryMalloc(100) },
		"Borrow":    func(a *ScalableMemoryAllocator) { a.Borrow(100) },
		"Free":      func(a *ScalableMemoryAllocator) { a.Free(make([]byte, 100)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				const nilPointer = "invalid memory address or nil pointer dereference"
				if err, _ := recover().(runtime.Error); err == nil || !strings.Contains(err.Error(), nilPointer) {
					t.Errorf("panicked with %v", err)
				}
			}()
			call(new(ScalableMemoryAllocator))
		})
	}
}
