package lac

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
)

// testLogger collects what a pool reports.
type testLogger struct {
	mu    sync.Mutex
	lines []string
}

func (l *testLogger) Errorf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *testLogger) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// quietPool is a pool that must not see any misuse during the test.
func quietPool(t testing.TB, opts ...Option) *AllocatorPool {
	p := NewPool(t.Name(), append(opts, WithMisuse(func(err error) { t.Errorf("unexpected report: %v", err) }))...)
	return p
}

// strictPool is a pool whose reports the test reads from the log.
func strictPool(t testing.TB, opts ...Option) (*AllocatorPool, *testLogger) {
	l := &testLogger{}
	return NewPool(t.Name(), append(opts, WithLogger(l))...), l
}

type big32 struct {
	a, b, c, d uint64
}

func TestL01SliceSize(t *testing.T) {
	ac := quietPool(t).Get()
	defer ac.Release()
	for round := range 50 {
		s := NewSlice[big32](ac, 4, 4)
		n := ac.Int(1)
		str := ac.String("hello neighbour")
		for i := range s {
			s[i] = big32{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
		}
		if *n != 1 || *str != "hello neighbour" {
			t.Fatalf("round %d: the slice overwrote its neighbours: %d %q", round, *n, *str)
		}
		names := NewSlice[string](ac, 3, 3)
		v := ac.NewString("value")
		names[0], names[1], names[2] = "x", "y", "z"
		if v != "value" {
			t.Fatalf("string header overwritten: %q", v)
		}
	}
}

func TestL02SliceBeyondChunk(t *testing.T) {
	ac := quietPool(t, WithChunkSize(1024)).Get()
	defer ac.Release()
	others := make([]*[64]byte, 200)
	for i := range others {
		others[i] = new([64]byte)
	}
	s := NewSlice[[64]byte](ac, 100, 100)
	for i := range s {
		for j := range s[i] {
			s[i][j] = 0xee
		}
	}
	for i, o := range others {
		if *o != ([64]byte{}) {
			t.Fatalf("heap object %d was overwritten", i)
		}
	}
}

func TestL03SliceCleared(t *testing.T) {
	p := quietPool(t, WithChunkSize(4096))
	for range 300 {
		ac := p.Get()
		junk := NewSlice[byte](ac, 3000, 3000)
		for i := range junk {
			junk[i] = 0xc0
		}
		ac.Release()
		ac = p.Get()
		s := NewSlice[[3]*int](ac, 40, 40)
		for i := range s {
			if s[i] != ([3]*int{}) {
				t.Fatal("a slice was handed out uncleared")
			}
			s[i][1] = ac.Int(i)
		}
		if *s[39][1] != 39 {
			t.Fatal("lost a value")
		}
		ac.Release()
	}
	runtime.GC()
}

func TestL04SmallElements(t *testing.T) {
	ac := quietPool(t).Get()
	defer ac.Release()
	before := ac.off
	NewSlice[byte](ac, 1000, 1000)
	if got := ac.off - before; got != 1000 {
		t.Errorf("1000 bytes take %d", got)
	}
}

func TestL05AppendSeveral(t *testing.T) {
	ac := quietPool(t).Get()
	defer ac.Release()
	s := NewSlice[int](ac, 1, 4)
	n := ac.Int(777)
	s = Append(ac, s, 1, 2, 3, 4, 5)
	if len(s) != 6 || cap(s) < 6 || *n != 777 {
		t.Errorf("len %d cap %d neighbour %d", len(s), cap(s), *n)
	}
	back := []int{0, 1, 2, 3, 4, 5}
	if got := Append(ac, back[:1:2], 100, 101, 102); fmt.Sprint(got) != "[0 100 101 102]" {
		t.Errorf("append to a heap slice: %v", got)
	}
	if fmt.Sprint(back) != "[0 1 2 3 4 5]" {
		t.Errorf("append ran behind the capacity: %v", back)
	}
}

// within fails the test if f does not return: the predecessor's hangs.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("has not returned")
	}
}

func TestL06OddLarge(t *testing.T) {
	for _, chunk := range []int{512, 1024, 65536} {
		p := quietPool(t, WithChunkSize(chunk))
		for d := -20; d <= 20; d++ {
			within(t, func() {
				ac := p.Get()
				defer ac.Release()
				want := strings.Repeat("x", chunk+d)
				if got := ac.NewString(want); got != want {
					t.Errorf("NewString of %d bytes differs", chunk+d)
				}
			})
		}
	}
}

func TestL07AppendBytes(t *testing.T) {
	ac := quietPool(t).Get()
	defer ac.Release()
	within(t, func() {
		var b []byte
		for i := range 1 << 20 {
			b = Append(ac, b, byte(i))
		}
		for i := range b {
			if b[i] != byte(i) {
				t.Errorf("byte %d is %d", i, b[i])
				return
			}
		}
	})
}

func TestL08JustBelowChunk(t *testing.T) {
	p := quietPool(t, WithChunkSize(1024))
	for n := 1000; n <= 1040; n++ {
		within(t, func() {
			ac := p.Get()
			defer ac.Release()
			a, b := NewSlice[byte](ac, n, n), NewSlice[byte](ac, n, n)
			for i := range a {
				a[i] = 1
			}
			for i := range b {
				if b[i] != 0 {
					t.Errorf("%d bytes: slices overlap", n)
					return
				}
			}
		})
	}
}

type listNode struct {
	next *listNode
	_    [1000]uint64
	v    uint64
}

//go:noinline
func buildList(p *AllocatorPool, n int, each func(i int, node *listNode)) *listNode {
	ac := p.Get()
	var head *listNode
	for i := range n {
		node := New[listNode](ac)
		node.next, node.v = head, uint64(i)
		each(i, node)
		head = node
	}
	return head
}

func churn() {
	for range 3 {
		runtime.GC()
		for range 500 {
			b := make([]uint64, 1001)
			for i := range b {
				b[i] = 0x5a5a5a5a5a5a5a5a
			}
			runtime.KeepAlive(b)
		}
	}
}

func TestL09DroppedArena(t *testing.T) {
	for _, scanned := range []bool{false, true} {
		t.Run(fmt.Sprintf("scanned=%v", scanned), func(t *testing.T) {
			opts := []Option{WithChunkSize(16 << 10)}
			if scanned {
				opts = append(opts, WithScanned())
			}
			head := buildList(quietPool(t, opts...), 200, func(int, *listNode) {})
			churn()
			i := 199
			for n := head; n != nil; n = n.next {
				if n.v != uint64(i) {
					t.Fatalf("node %d reads %#x", i, n.v)
				}
				i--
			}
			if i != -1 {
				t.Fatalf("the list ends at %d", i)
			}
		})
	}
}

func TestL10ReleasedTwice(t *testing.T) {
	t.Run("at once", func(t *testing.T) {
		p, log := strictPool(t)
		x := p.Get()
		x.Release()
		x.Release()
		x.DecRef()
		y, z := p.Get(), p.Get()
		if y == z || y == x || z == x {
			t.Error("one handle has two owners")
		}
		a, b := y.String("owner Y"), z.String("owner Z")
		y.Release()
		if *b != "owner Z" || unsafe.Pointer(a) == unsafe.Pointer(b) {
			t.Error("two arenas share memory")
		}
		z.Release()
		if n := p.Stats().Misuses; n != 2 {
			t.Errorf("%d misuses counted, want 2", n)
		}
		if !errors.Is(p.Err(), ErrReleased) || !strings.Contains(log.all(), "Release") {
			t.Errorf("not reported: %v, log %q", p.Err(), log.all())
		}
	})
	t.Run("after the memory was lent again", func(t *testing.T) {
		p, _ := strictPool(t)
		x := p.Get()
		x.Release()
		y := p.Get()
		s := y.String("owner Y")
		x.Release()
		z := p.Get()
		zs := z.String("owner Z")
		if *s != "owner Y" || *zs != "owner Z" || p.Stats().Misuses != 1 {
			t.Errorf("%q %q, %d misuses", *s, *zs, p.Stats().Misuses)
		}
	})
	t.Run("by two goroutines", func(t *testing.T) {
		p := NewPool(t.Name(), WithMisuse(func(error) {}))
		const rounds = 2000
		for range rounds {
			x := p.Get()
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(x.Release)
			}
			wg.Wait()
			a, b := p.Get(), p.Get()
			if a.core == b.core {
				t.Fatal("one arena has two owners")
			}
			a.Release()
			b.Release()
		}
	})
}

func TestL11ReleasedWhileHeld(t *testing.T) {
	p, log := strictPool(t)
	ac := p.Get()
	s := ac.String("still in use")
	ac.IncRef()
	ac.Release()
	if !errors.Is(p.Err(), ErrHeld) || log.all() == "" {
		t.Errorf("not reported: %v", p.Err())
	}
	for range 10 {
		other := p.Get()
		other.String("OVERWRITTEN")
		if other.core == ac.core {
			t.Fatal("a held arena was lent again")
		}
		defer other.Release()
	}
	if *s != "still in use" {
		t.Errorf("string reads %q", *s)
	}
	ac.DecRef()
	live := p.Get()
	ac.DecRef()
	if again := p.Get(); again.core == live.core {
		t.Error("a late DecRef lent a live arena again")
	}
	if n := p.Stats().Misuses; n != 2 {
		t.Errorf("%d misuses, want 2", n)
	}
}

func TestL12PoolNeverDies(t *testing.T) {
	for _, logger := range []Logger{nil, &testLogger{}} {
		p := NewAllocatorPool("small", logger, 1, 1024, 1, 1)
		for range 5000 {
			a, b := p.Get(), p.Get()
			*a.Int(1)++
			*b.Int(2)++
			a.Release()
			b.Release()
		}
	}
	p := NewAllocatorPool("absurd", nil, -1, -1, -1, -1)
	ac := p.Get()
	*ac.Int(1)++
	ac.Release()
}

func TestL13EnumWithPointers(t *testing.T) {
	type pair struct {
		p *int
		_ []string
	}
	p := quietPool(t)
	// While the collector marks, a store looks at what it overwrites, and the runtime ends
	// the program if that is an address in the Go heap where nothing is.
	nothing := make([]byte, 64<<20)
	stale := uintptr(unsafe.Pointer(&nothing[32<<20]))
	nothing = nil
	runtime.GC()
	collectMeanwhile(t)
	for i := range 20_000 {
		ac := p.Get()
		b := NewSlice[uintptr](ac, 500, 500)
		for k := range b {
			b[k] = stale
		}
		ac.Release()
		ac = p.Get()
		e := NewEnum(ac, pair{p: ac.Int(i)})
		if *e.p != i {
			t.Fatal("wrong value")
		}
		ac.Release()
	}
}
