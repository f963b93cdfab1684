package lac

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// modes are the kinds of pools that every general test runs on.
var modes = map[string][]Option{
	"plain":   nil,
	"small":   {WithChunkSize(512)},
	"scanned": {WithScanned()},
	"debug":   {WithDebug()},
}

func eachMode(t *testing.T, f func(t *testing.T, p *AllocatorPool)) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) { f(t, quietPool(t, opts...)) })
	}
}

// Row 37: use after the release is reported and works on the Go heap.
func TestAllocateAfterRelease(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			p, _ := strictPool(t, opts...)
			ac := p.Get()
			ac.Int(1)
			ac.Release()
			next := p.Get()
			n := next.Int(5)
			*ac.Int(7)++
			*ac.String("late") += "r"
			s := Append(ac, NewSlice[int](ac, 1, 1), 2, 3)
			Attach(ac, new(int))
			NewMap[int, int](ac, 1)[1] = 1
			ac.IncRef()
			if ac.Fork() != nil {
				t.Error("forked a released handle")
			}
			ac.CheckExternalPointers()
			if fmt.Sprint(s) != "[0 2 3]" || *n != 5 {
				t.Errorf("got %v, %d", s, *n)
			}
			if m := p.Stats().Misuses; m < 8 || !errors.Is(p.Err(), ErrReleased) {
				t.Errorf("%d reports, last %v", m, p.Err())
			}
			next.Release()
		})
	}
}

func TestNilAllocator(t *testing.T) {
	var p *AllocatorPool
	ac := p.Get()
	if ac != nil {
		t.Fatal("a nil pool lent something")
	}
	ac.IncRef()
	ac.DecRef()
	ac.CheckExternalPointers()
	src := &pbItem{}
	if NewFrom(ac, src) != src || *ac.Int(3) != 3 || *ac.String("s") != "s" || ac.NewString("t") != "t" ||
		len(NewSlice[int](ac, 2, 3)) != 2 || len(Append(ac, []int{1}, 2)) != 2 || ac.Fork() != nil ||
		Attach(ac, src) != src || NewMap[int, int](ac, 1) == nil || *New[int](ac) != 0 || *NewEnum(ac, 4) != 4 {
		t.Error("a nil allocator is not the Go heap")
	}
	ac.Release()
	p.EnableDebugMode(true)
	p.DebugCheck()
	if p.Err() != nil || p.Stats() != (Stats{}) || !strings.Contains(p.DumpStats(true), "no pool") {
		t.Errorf("a nil pool: %v, %+v, %q", p.Err(), p.Stats(), p.DumpStats(true))
	}
	used := NewPool("used")
	used.Get().Release()
	DisableAllLac = true
	defer func() { DisableAllLac = false }()
	if NewPool("off").Get() != nil || used.Get() != nil {
		t.Error("DisableAllLac is ignored")
	}
}

// Every size and length, written full and checked against its neighbours.
func TestSizes(t *testing.T) {
	eachMode(t, func(t *testing.T, p *AllocatorPool) {
		seed := uint64(1)
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		for round := range 3 {
			ac := p.Get()
			var all [][]byte
			for i := range 400 {
				n := r.IntN(100)
				if i%20 == 0 {
					n = r.IntN(200_000)
				}
				b := NewSlice[byte](ac, n, n)
				for k := range b {
					if b[k] != 0 {
						t.Fatalf("round %d: byte %d of %d is not zero", round, k, n)
					}
					b[k] = byte(i)
				}
				all = append(all, b)
			}
			for i, b := range all {
				for k := range b {
					if b[k] != byte(i) {
						t.Fatalf("slice %d was overwritten at %d", i, k)
					}
				}
			}
			ac.Release()
		}
	})
}

// Texts of every short length come out whole, and touch no neighbour.
func TestStrings(t *testing.T) {
	const text = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	check := func(t *testing.T, ac *Allocator) {
		var all [len(text) + 1]*string
		for n := range all {
			all[n] = ac.String(text[len(text)-n:])
			if after := ac.Uint64(^uint64(0)); *after != ^uint64(0) {
				t.Fatal("lost a value")
			}
		}
		for n, s := range all {
			if *s != text[len(text)-n:] || ac.NewString(*s) != *s {
				t.Errorf("%d bytes: %q", n, *s)
			}
		}
	}
	eachMode(t, func(t *testing.T, p *AllocatorPool) {
		ac := p.Get()
		defer ac.Release()
		check(t, ac)
		ac.IncRef()
		defer ac.DecRef()
		check(t, ac)
	})
	check(t, nil)
}

// Goroutines share an arena by IncRef, and each checks what it wrote.
func TestShared(t *testing.T) {
	for name, opts := range modes {
		for _, fork := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/fork=%v", name, fork), func(t *testing.T) {
				p := quietPool(t, opts...)
				for range 5 {
					shareOnce(t, p, fork)
				}
				s := p.Stats()
				if s.Gets != 5 || s.Releases != 5 {
					t.Errorf("%d gets, %d releases", s.Gets, s.Releases)
				}
			})
		}
	}
}

func shareOnce(t *testing.T, p *AllocatorPool, fork bool) {
	ac := p.Get()
	first := ac.Int(-1)
	var wg sync.WaitGroup
	for g := range 16 {
		own := ac
		if fork {
			own = ac.Fork()
		} else {
			ac.IncRef()
		}
		wg.Go(func() {
			if fork {
				defer own.Release()
			} else {
				defer own.DecRef()
			}
			var list *cyc
			var nums []int
			for i := range 500 {
				c := New[cyc](own)
				if c.next != nil || c.v != nil {
					t.Error("not zero")
					return
				}
				c.next, c.v = list, own.Int(g*1000+i)
				list = c
				nums = Append(own, nums, i)
				if i%100 == 0 {
					deep(own, 20)
					runtime.Gosched()
				}
			}
			for i := 499; i >= 0; i-- {
				if *list.v != g*1000+i || nums[i] != i {
					t.Errorf("goroutine %d: object %d overwritten", g, i)
					return
				}
				list = list.next
			}
		})
	}
	wg.Wait()
	if *first != -1 {
		t.Error("the first object was overwritten")
	}
	*ac.Int(2)++
	ac.Release()
}

// deep allocates at many depths of the stack, which grows and moves meanwhile.
func deep(ac *Allocator, n int) int {
	var pad [600]byte
	pad[n] = byte(n)
	v := ac.Int(n)
	if n > 0 {
		deep(ac, n-1)
	}
	if *v != n {
		panic("overwritten")
	}
	return int(pad[n])
}

func TestHeapChildrenGoAfterRelease(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			p := quietPool(t, opts...)
			ac := p.Get()
			var gone atomic.Int32
			const n = 100
			for range n {
				child := new([4]int)
				runtime.AddCleanup(child, func(c *atomic.Int32) { c.Add(1) }, &gone)
				*New[*[4]int](ac) = Attach(ac, child)
			}
			runtime.GC()
			if g := gone.Load(); g != 0 {
				t.Fatalf("%d children died early", g)
			}
			ac.Release()
			for range 100 {
				runtime.GC()
				if gone.Load() == n {
					return
				}
				time.Sleep(time.Millisecond)
			}
			t.Errorf("%d of %d children collected after the release", gone.Load(), n)
		})
	}
}

func TestPeakGoesBack(t *testing.T) {
	p := quietPool(t)
	var acs []*Allocator
	for range 50 {
		ac := p.Get()
		for range 20 {
			NewSlice[byte](ac, 60<<10, 60<<10)
		}
		acs = append(acs, ac)
	}
	for _, ac := range acs {
		ac.Release()
	}
	acs = nil
	if p.Stats().IdleBytes < 10<<20 {
		t.Fatalf("the pool keeps only %d bytes", p.Stats().IdleBytes)
	}
	for range 200 {
		runtime.GC()
		if p.Stats().IdleBytes == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d bytes idle after many collections", p.Stats().IdleBytes)
}

func TestChunksAreShared(t *testing.T) {
	p := quietPool(t)
	for range 100 {
		a, b := p.Get(), p.Get()
		for range 4 {
			NewSlice[byte](a, 50<<10, 50<<10)
			NewSlice[byte](b, 50<<10, 50<<10)
		}
		a.Release()
		b.Release()
	}
	if s := p.Stats(); s.ChunksMade > 40 || s.ChunksReused < 500 {
		t.Errorf("%d chunks made, %d reused", s.ChunksMade, s.ChunksReused)
	}
}

func TestReleaseElsewhere(t *testing.T) {
	p := quietPool(t)
	ch := make(chan *Allocator, 64)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for ac := range ch {
				ac.Release()
			}
		})
	}
	for i := range 20000 {
		ac := p.Get()
		if v := ac.Int(i); *v != i {
			t.Error("wrong value")
		}
		ch <- ac
	}
	close(ch)
	wg.Wait()
	if s := p.Stats(); s.Gets != 20000 || s.Releases != 20000 || s.Cores > 5000 {
		t.Errorf("gets %d, releases %d, arenas made %d", s.Gets, s.Releases, s.Cores)
	}
}

func TestProcsGrow(t *testing.T) {
	old := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(old)
	p := quietPool(t)
	p.Get().Release()
	runtime.GOMAXPROCS(8)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for i := range 200 {
				ac := p.Get()
				ac.String(strings.Repeat("x", i))
				ac.Release()
			}
		})
	}
	wg.Wait()
	if s := p.Stats(); s.Gets != 6401 || s.Releases != 6401 {
		t.Errorf("gets %d, releases %d", s.Gets, s.Releases)
	}
}

func TestDebugModeSwitch(t *testing.T) {
	p, _ := strictPool(t)
	before := p.Get()
	p.EnableDebugMode(true)
	in := p.Get()
	if in.core.debug == nil || before.core.debug != nil {
		t.Fatal("the switch is for arenas lent from now on")
	}
	*New[*int](in) = new(int)
	p.DebugCheck()
	if !errors.Is(p.Err(), ErrUnattached) {
		t.Error("DebugCheck found nothing")
	}
	before.Release()
	p.EnableDebugMode(false)
	in.Release()
	after := p.Get()
	if after.core.debug != nil {
		t.Error("debug mode stays on")
	}
	after.Release()
}

// An arena that was idle when debug mode was switched on is not lent any more, wherever
// it waited.
func TestDebugModeAfterIdleArenas(t *testing.T) {
	p := quietPool(t)
	for _, on := range []bool{false, true, false} {
		p.EnableDebugMode(on)
		var all [40]*Allocator // more than a seat and a processor keep
		for i := range all {
			all[i] = p.Get()
			if debug := all[i].core.debug != nil; debug != on {
				t.Errorf("arena %d: debug mode is %v, want %v", i, debug, on)
			}
		}
		for _, ac := range all {
			ac.Release()
		}
	}
}

func TestErrorsRead(t *testing.T) {
	e := &MisuseError{Pool: "p", Op: "Release", Err: ErrHeld}
	if e.Error() != `lac: pool "p": Release: arena is still held` {
		t.Error(e)
	}
	e = &MisuseError{Pool: "p", Op: "Release", Err: ErrUnattached, Path: "T.F"}
	if !strings.HasSuffix(e.Error(), "unattached heap pointer in T.F") {
		t.Error(e)
	}
}
