package gomem

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

// Each tag is an option too, and changes the default alone.
func TestDefaultsAreOptions(t *testing.T) {
	s := new(settings)
	s.asBuilt()
	if name := s.config().Source.Name(); strings.HasPrefix(name, "buddy+") != defaultPooled {
		t.Errorf("chunks come from %s, pooled by default is %v", name, defaultPooled)
	}
	if want := map[bool]backing.Source{false: backing.Heap(), true: backing.Mmap()}[defaultMmap]; s.Source != want {
		t.Errorf("chunks come from %s", s.Source.Name())
	}
	if s.Spans != (defaultPlacement == SizeClasses) || defaultTwoTree != (defaultPlacement == TwoTree) {
		t.Errorf("placement %d, slots %v, two trees %v", defaultPlacement, s.Spans, defaultTwoTree)
	}
	for _, p := range []Placement{SizeClasses, TLSF, SingleTree, TwoTree, -1, 99} {
		if WithPlacement(p)(s); s.Spans != (p < TLSF || p > TwoTree) {
			t.Errorf("placement %d: slots %v", p, s.Spans)
		}
		for _, src := range []backing.Source{backing.Heap(), backing.Mmap(), backing.Mmap(backing.HugePages()), nil} {
			for _, pool := range []bool{false, true} {
				a := NewScalableMemoryAllocator(5000, WithPlacement(p), WithBacking(src), WithPooledChunks(pool), nil)
				newShadow(t, a, 1).run(200)
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// The trees place to the byte, in the chunk of a large block too.
func TestTreesPlaceLargeBlocksToTheByte(t *testing.T) {
	plainOnly(t)
	for _, p := range []Placement{SingleTree, TwoTree} {
		a := NewScalableMemoryAllocator(0, WithPlacement(SizeClasses), WithPlacement(p))
		b := a.Malloc(8 << 20)
		if !a.Free(b[1:102]) {
			t.Fatalf("placement %d: a part is not freed", p)
		}
		if c := a.Malloc(101); &c[0] != &b[1] {
			t.Errorf("placement %d: what was freed of a large block is not found", p)
		}
		a.Recycle()
	}
}

// Options take any number.
func TestOptionsTakeAnyNumber(t *testing.T) {
	for _, n := range []int{math.MinInt, -1, 0, 1, math.MaxInt - 1, math.MaxInt} {
		for name, opt := range map[string]Option{
			"SampledGuard": WithSampledGuard(SampleOptions{Rate: n, Slots: n, Interval: time.Duration(n)}),
			"Debug":        WithDebug(DebugOptions{Quarantine: n, StackDepth: n}),
			"Misuse":       WithMisuse(nil),
		} {
			a := NewScalableMemoryAllocator(5000, opt)
			for range 10 {
				b := a.Malloc(100)
				if len(b) != 100 || !a.Free(b) {
					t.Errorf("%s with %d: %d bytes", name, n, len(b))
				}
			}
			if err := a.Close(); err != nil {
				t.Errorf("%s with %d: %v", name, n, err)
			}
		}
	}
}

func TestWithBackingIsUsedAsItIs(t *testing.T) {
	src := backing.NewFaulty(backing.Heap())
	a := NewScalableMemoryAllocator(5000, WithBacking(src))
	a.Malloc(1)
	if _, bytes := src.Live(); bytes != a.Stats().Backing || bytes == 0 {
		t.Errorf("%d bytes mapped, Backing is %d", bytes, a.Stats().Backing)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if n, _ := src.Live(); n != 0 {
		t.Errorf("closed, %d mappings left", n)
	}
	a = NewScalableMemoryAllocator(5000, WithBacking(src), WithPooledChunks(true))
	a.Malloc(1)
	if _, bytes := src.Live(); bytes != segmentSize {
		t.Errorf("the pool took %d bytes", bytes)
	}
}

// limited counts what is mapped, and fails the test when it is too much.
type limited struct {
	*backing.Faulty
	t     *testing.T
	limit int
}

func (l *limited) Map(size int) ([]byte, error) {
	mem, err := l.Faulty.Map(size)
	if _, bytes := l.Live(); bytes > l.limit {
		l.t.Errorf("%d bytes are mapped, the limit is %d", bytes, l.limit)
	}
	return mem, err
}

func TestMaxBytesIsNeverExceeded(t *testing.T) {
	plainOnly(t)
	eachKind(t, func(t *testing.T, k kind) {
		for _, limit := range []int{1, 63, 64, 5000, 100_000, 1 << 20, 3<<20 + 17} {
			src := &limited{backing.NewFaulty(backing.Heap()), t, limit}
			a := NewScalableMemoryAllocator(3000, WithPlacement(k.place), WithBacking(src), WithMaxBytes(limit))
			s := newShadow(t, a, uint64(limit))
			failed := 0
			for range 1200 {
				n := 1 + s.rng.IntN(max(2, limit/3))
				if s.rng.IntN(3) > 0 {
					n = 1 + n%700
				}
				b, err := a.TryMalloc(n)
				switch {
				case err == nil:
					s.live = append(s.live, newStamp(b, 1))
					s.size += n
				case !errors.Is(err, ErrLimit):
					t.Fatalf("limit %d: Malloc(%d): %v", limit, n, err)
				default:
					failed++
				}
				for len(s.live) > 0 && (err != nil || s.rng.IntN(3) == 0) {
					i := s.rng.IntN(len(s.live))
					s.free(i, 0, len(s.live[i].b))
					if s.rng.IntN(4) == 0 {
						break
					}
				}
			}
			if failed == 0 {
				t.Errorf("limit %d: never reached", limit)
			}
			s.drain()
			// Whatever was mapped before does not stand in the way of one block.
			if n := (limit - 32<<10) &^ 63; n > 0 {
				if b, err := a.TryMalloc(n); err != nil {
					t.Errorf("limit %d: nothing is live, and Malloc(%d): %v", limit, n, err)
				} else {
					a.Free(b)
				}
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestWithMisuseMayPanic(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		a := k.make(t, WithMisuse(func(err error) { panic(err) }))
		b := a.Malloc(100)
		func() {
			defer func() {
				err, _ := recover().(error)
				if !errors.Is(err, ErrNotOwned) {
					t.Errorf("panicked with %v", err)
				}
			}()
			a.Free(make([]byte, 10))
		}()
		if err := a.Verify(); err != nil || !a.Free(b) {
			t.Errorf("after a panic: %v", err)
		}
	})
}

// The callback may use the allocator: no lock is held.
func TestWithMisuseMayCallBack(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		var a *ScalableMemoryAllocator
		calls := 0
		a = k.make(t, WithMisuse(func(error) {
			calls++
			a.Free(a.Malloc(5000))
			_, _ = a.Stats(), a.Verify()
		}))
		b := a.Malloc(100)
		a.Free(make([]byte, 1))
		a.FreeRest(&b, 101)
		a.Free(b)
		a.Free(b)
		if calls != 3 {
			t.Errorf("%d calls", calls)
		}
	})
}

func TestAllocatorIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(ScalableMemoryAllocator{}); size > 768 {
		t.Errorf("an allocator takes %d bytes", size)
	}
}
