package lac

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

func TestL14ZeroSize(t *testing.T) {
	for _, opts := range [][]Option{nil, {WithScanned()}, {WithDebug()}} {
		ac := quietPool(t, opts...).Get()
		if New[struct{}](ac) == nil || NewFrom(ac, &struct{}{}) == nil {
			t.Error("nil for a zero-size type")
		}
		*New[[0]int](ac) = [0]int{}
		s := Append(ac, nil, struct{}{}, struct{}{})
		if len(s) != 2 || s == nil {
			t.Errorf("Append of zero-size elements: len %d", len(s))
		}
		if s := NewSlice[struct{}](ac, 3, 5); len(s) != 3 || cap(s) < 5 {
			t.Errorf("len %d cap %d", len(s), cap(s))
		}
		if s := NewSlice[int](ac, 0, 0); s == nil || len(s) != 0 {
			t.Error("an empty slice is nil")
		}
		if ac.NewString("") != "" || *ac.String("") != "" {
			t.Error("empty strings")
		}
		ac.Release()
	}
}

func TestL15NegativeLength(t *testing.T) {
	ac := quietPool(t).Get()
	defer ac.Release()
	a := ac.Int(1)
	huge := int(^uint(0) >> 1)
	for _, c := range [][2]int{{-1, -1}, {-5, 3}, {3, 2}, {0, -1}, {0, huge}, {huge, huge}} {
		func() {
			defer func() {
				err, _ := recover().(error)
				if !errors.Is(err, ErrInvalidSize) {
					t.Errorf("NewSlice(%d, %d): %v", c[0], c[1], err)
				}
			}()
			NewSlice[int](ac, c[0], c[1])
		}()
	}
	for _, c := range [][2]int{{-1, -1}, {3, 2}, {0, huge}} {
		func() {
			defer func() {
				var e *MisuseError
				if err, _ := recover().(error); !errors.As(err, &e) || e.Err != ErrInvalidSize || e.Pool != "" {
					t.Errorf("NewSlice(%d, %d) of a nil allocator: %v", c[0], c[1], err)
				}
			}()
			NewSlice[int](nil, c[0], c[1])
		}()
	}
	b := ac.Int(2)
	if uintptr(unsafe.Pointer(b))-uintptr(unsafe.Pointer(a)) != word {
		t.Error("a refused call moved the window")
	}
}

func TestNewFromNil(t *testing.T) {
	p := quietPool(t)
	ac := p.Get()
	defer ac.Release()
	a := ac.Int(1)
	if v := NewFrom[pbItem](ac, nil); v != nil {
		t.Errorf("NewFrom(ac, nil) = %v", v)
	}
	if v := NewFrom[pbItem](nil, nil); v != nil {
		t.Errorf("NewFrom(nil, nil) = %v", v)
	}
	if b := ac.Int(2); uintptr(unsafe.Pointer(b))-uintptr(unsafe.Pointer(a)) != word {
		t.Error("NewFrom of nil moved the window")
	}
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

type cyc struct {
	next  *cyc
	other *cyc
	v     *int
}

func TestL16Cycles(t *testing.T) {
	p := quietPool(t, WithDebug())
	ac := p.Get()
	a, b := New[cyc](ac), New[cyc](ac)
	a.next, b.next, a.other, b.other = b, a, a, b
	ac.CheckExternalPointers()
	ac.Release()
}

func TestL17FindsUnattached(t *testing.T) {
	type inner struct{ P *int }
	type outer struct {
		In    inner
		Any   any
		Err   error
		S     []int
		Str   string
		M     map[int]int
		F     func() int
		C     chan int
		U     unsafe.Pointer
		Arr   [3]*int
		Boxed any
		Deep  []struct{ Q [2]inner }
	}
	k := len(t.Name())
	heap := func() *int { return new(int) }
	cases := map[string]func(ac *Allocator){
		"lac.outer.In.P":      func(ac *Allocator) { New[outer](ac).In.P = heap() },
		"lac.outer.Any":       func(ac *Allocator) { New[outer](ac).Any = heap() },
		"lac.outer.Err":       func(ac *Allocator) { New[outer](ac).Err = errors.New(t.Name()) },
		"lac.outer.S":         func(ac *Allocator) { New[outer](ac).S = make([]int, k) },
		"lac.outer.Str":       func(ac *Allocator) { New[outer](ac).Str = strings.Repeat("x", k) },
		"lac.outer.M":         func(ac *Allocator) { New[outer](ac).M = make(map[int]int, k) },
		"lac.outer.F":         func(ac *Allocator) { New[outer](ac).F = func() int { k++; return k } },
		"lac.outer.C":         func(ac *Allocator) { New[outer](ac).C = make(chan int) },
		"lac.outer.U":         func(ac *Allocator) { New[outer](ac).U = unsafe.Pointer(heap()) },
		"lac.outer.Arr[2]":    func(ac *Allocator) { New[outer](ac).Arr[2] = heap() },
		"lac.outer.Boxed":     func(ac *Allocator) { New[outer](ac).Boxed = [4]int{k} },
		"*int":                func(ac *Allocator) { *New[*int](ac) = heap() },
		"[]*int[1]":           func(ac *Allocator) { NewSlice[*int](ac, 3, 3)[1] = heap() },
		"[]lac.inner[2].P":    func(ac *Allocator) { NewSlice[inner](ac, 3, 3)[2].P = heap() },
		"[]lac.inner[7].P":    func(ac *Allocator) { Append(ac, NewSlice[inner](ac, 7, 7), inner{heap()}) },
		"lac.outer.Any.ptr":   func(ac *Allocator) { NewFrom(ac, &outer{Any: heap()}) },
		"lac.outer.S.empty":   func(ac *Allocator) { New[outer](ac).S = make([]int, k)[:0:0] },
		"lac.outer.Str.empty": func(ac *Allocator) { New[outer](ac).Str = strings.Repeat("x", k)[1:1] },
	}
	for name, build := range cases {
		want := strings.TrimSuffix(strings.TrimSuffix(name, ".ptr"), ".empty")
		t.Run(name, func(t *testing.T) {
			if !exactHeap && (strings.HasSuffix(name, ".empty") || strings.HasSuffix(want, "Any") || strings.HasSuffix(want, "Err") ||
				strings.HasSuffix(want, "Str") || strings.HasSuffix(want, ".F") || strings.HasSuffix(want, "Boxed")) {
				t.Skip("not looked at in portable builds")
			}
			p, log := strictPool(t, WithDebug())
			ac := p.Get()
			build(ac)
			ac.Release()
			var e *MisuseError
			if !errors.As(p.Err(), &e) || e.Err != ErrUnattached {
				t.Fatalf("not reported; log %q", log.all())
			}
			if !strings.HasPrefix(e.Path, want) {
				t.Errorf("path %q, want %q", e.Path, want)
			}
		})
	}
}

func TestL18CorrectProgramsPass(t *testing.T) {
	type item struct {
		P    *int
		S    []int
		Name string
		M    map[string]item2
		F    func() string
		E    error
		A    any
		Ch   chan int
	}
	ac := quietPool(t, WithDebug()).Get()
	it := New[item](ac)
	big := &struct {
		pad  [100]int
		v, w int
	}{}
	Attach(ac, big)
	it.P = &big.w
	s := Attach(ac, make([]int, 5000))
	it.S = s[1000:1010]
	it.Name = "a constant"
	it.M = NewMap[string, item2](ac, 4)
	it.M["x"] = item2{1, ac.Int(2)}
	it.F = staticFunc
	it.E = &staticError
	it.A = 7
	it.Ch = Attach(ac, make(chan int, 1))
	two := New[item](ac)
	two.A = Attach[any](ac, [3]int{len(t.Name()), 2, 3})
	two.Name = ac.NewString(strings.Repeat("n", 10))
	small := Attach(ac, strings.Repeat("y", 20))
	two.Name = small[3:9]
	st := Attach(ac, struct{ p *int }{new(int)})
	two.P = st.p
	two.F = Attach(ac, func() string { return small })
	three := New[item](ac)
	three.S, three.Name = make([]int, len(s)-5000), Attach(ac, strings.Repeat("z", 9)[4:4])
	four := New[item](ac)
	four.S, four.Name = Attach(ac, make([]int, 3)[:0:0]), *ac.String(small[2:2])
	ac.CheckExternalPointers()
	ac.Release()
}

type item2 struct {
	n int
	p *int
}

// staticError is not on the heap, however little the compiler optimizes.
var staticError MisuseError

func TestL19DebugIsLinear(t *testing.T) {
	for _, n := range []int{100, 1000, 10000} {
		ac := quietPool(t, WithDebug()).Get()
		shared := New[cyc](ac)
		for range n {
			c := New[cyc](ac)
			c.next, c.other, c.v = shared, shared, ac.Int(1)
			shared = c
		}
		// Three pointers in each node, each looked at once, however shared.
		if got, want := ac.core.inspect().looked, 3*(n+1); got != want {
			t.Errorf("%d nodes: %d pointers looked at, want %d", n, got, want)
		}
		ac.Release()
	}
}

func TestL20LargeKeepsChunk(t *testing.T) {
	p := quietPool(t)
	ac := p.Get()
	asked := 0
	for range 200 {
		NewSlice[byte](ac, 64, 64)
		NewSlice[byte](ac, 64<<10, 64<<10)
		asked += 64 + 64<<10
	}
	taken := int(ac.core.first.size)
	for _, c := range ac.core.chunks {
		taken += int(c.size)
	}
	if taken > asked*5/4 {
		t.Errorf("asked %d KiB, took %d KiB", asked>>10, taken>>10)
	}
	ac.Release()
}

func TestL21StatsWhileWorking(t *testing.T) {
	p := quietPool(t)
	stop := make(chan struct{})
	var stats, work sync.WaitGroup
	stats.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if p.DumpStats(false) == "" {
					t.Error("empty statistics")
				}
				runtime.Gosched() // where nothing preempts it
			}
		}
	})
	for range 4 {
		work.Go(func() {
			for i := range 500 {
				ac := p.Get()
				NewSlice[byte](ac, i*100, i*100)
				NewSlice[byte](ac, 128<<10, 128<<10) // needs a chunk, which the pool keeps
				ac.Release()
			}
		})
	}
	work.Wait()
	close(stop)
	stats.Wait()
	if s := p.Stats(); s.Gets != 2000 || s.Releases != 2000 {
		t.Errorf("%d gets, %d releases, want 2000", s.Gets, s.Releases)
	}
}

func TestL22AttachKinds(t *testing.T) {
	ac := quietPool(t).Get()
	type mixed struct {
		p *int
		s []string
	}
	Attach(ac, make(chan int))
	Attach(ac, unsafe.Pointer(new(int)))
	Attach(ac, func() { runtime.GC() })
	Attach(ac, []string{"x"})
	Attach(ac, "text")
	Attach(ac, map[int]int{})
	Attach(ac, mixed{new(int), nil})
	Attach[any](ac, 5)
	Attach[error](ac, &staticError)
	Attach[any](ac, nil)
	Attach(ac, 7)
	Attach(ac, (*int)(nil))
	Attach(ac, [2]*int{new(int), nil})
	a, b := new(int), new(int)
	n, values := len(ac.core.attached.pointers), len(ac.core.attached.values)
	for range 200_000 {
		Attach(ac, a)
		Attach(ac, b)
	}
	if got := len(ac.core.attached.pointers) - n; got != 2 {
		t.Errorf("two pointers attached often are kept %d times", got)
	}
	if got := len(ac.core.attached.values) - values; got != 0 {
		t.Errorf("two pointers attached often are kept as %d values, too", got)
	}
	ac.Release()
}

// L-23, that the package can be imported and works on 32-bit machines, is what
// every test of the package shows there; this one shows the alignment.
func TestL23Alignment(t *testing.T) {
	for _, opts := range [][]Option{nil, {WithScanned()}, {WithDebug()}} {
		ac := quietPool(t, opts...).Get()
		for i := range 3000 {
			ac.Bool(true)
			ac.NewString("odd"[:i%4])
			if p := uintptr(unsafe.Pointer(New[uint64](ac))); p%8 != 0 {
				t.Fatalf("a uint64 at %#x", p)
			}
		}
		ac.Release()
	}
}

func staticFunc() string { return "static" }
