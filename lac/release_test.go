package lac

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// Arenas lent by one goroutine and released by another, at any moment of the
// next Get: each is zero and nobody else's, and none is lost from the counts.
func TestReleaseByAnotherGoroutine(t *testing.T) {
	const rounds, objects, live = 20_000, 6, 4
	p := quietPool(t)
	type lent struct {
		ac   *Allocator
		list [objects]*uint64
		id   uint64
	}
	var workers sync.WaitGroup
	for w := range uint64(2) {
		ch := make(chan lent, live)
		workers.Go(func() {
			defer close(ch)
			for i := range uint64(rounds) {
				l := lent{ac: p.Get(), id: w<<32 | i + 1}
				for k := range l.list {
					l.list[k] = New[uint64](l.ac)
					if *l.list[k] != 0 {
						t.Errorf("round %d: object %d holds %#x", i, k, *l.list[k])
						return
					}
					*l.list[k] = l.id
				}
				if i%3 == 0 {
					l.ac.Release()
					continue
				}
				ch <- l
			}
		})
		workers.Go(func() {
			for l := range ch {
				if l.id%7 == 0 {
					runtime.Gosched()
				}
				for _, v := range l.list {
					if *v != l.id {
						t.Errorf("an object of %#x holds %#x", l.id, *v)
					}
				}
				l.ac.Release()
			}
		})
	}
	workers.Wait()
	if s := p.Stats(); s.Gets != 2*rounds || s.Releases != 2*rounds || s.Cores > 1000 {
		t.Errorf("%d gets, %d releases, %d arenas made", s.Gets, s.Releases, s.Cores)
	}
}

// The memory of released handles is found again whatever order they come back
// in.
func TestReleaseOrders(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, order := range map[string][]int{"stack": {3, 2, 1, 0}, "queue": {0, 1, 2, 3}, "mixed": {3, 0, 2, 1}} {
		t.Run(name, func(t *testing.T) {
			p := quietPool(t)
			var acs [4]*Allocator
			for range 500 {
				for i := range acs {
					acs[i] = p.Get()
					if v := acs[i].Int(i); *v != i {
						t.Fatal("lost a value")
					}
				}
				for _, i := range order {
					acs[i].Release()
				}
			}
			if s := p.Stats(); s.Cores > 8 || s.Gets != s.Releases {
				t.Errorf("%d arenas made for four at a time, %d gets, %d releases", s.Cores, s.Gets, s.Releases)
			}
		})
	}
}

// Row 34 of the misuse table: misaligned. Odd sizes never lead to a misaligned
// object, and debug mode reads an object with a misaligned pointer without harm:
// it names the field if the pointer leads out of the arena.
func TestMisaligned(t *testing.T) {
	type holder struct {
		pad  byte
		Odd  *uint16
		Text string
	}
	eachMode(t, func(t *testing.T, p *AllocatorPool) {
		ac := p.Get()
		defer ac.Release()
		for i := range 300 {
			odd := NewSlice[byte](ac, 2*i+1, 2*i+1)
			odd[2*i] = 0xee
			h := New[holder](ac)
			c := NewEnum(ac, complex(1, 2))
			s := NewSlice[uint64](ac, i+1, i+1)
			for _, at := range []unsafe.Pointer{unsafe.Pointer(h), unsafe.Pointer(c), unsafe.Pointer(&s[0])} {
				if uintptr(at)%8 != 0 {
					t.Fatalf("after %d bytes: an object at %p", len(odd), at)
				}
			}
			if *h != (holder{}) || s[i] != 0 || odd[2*i] != 0xee {
				t.Fatalf("after %d bytes: objects overlap", len(odd))
			}
			// Into the arena, but not to where an object begins.
			h.Odd = (*uint16)(unsafe.Pointer(&NewSlice[byte](ac, 9, 9)[1]))
			h.Text = ac.NewString("abcdefg")[3:]
		}
		ac.CheckExternalPointers()
	})
	p, log := strictPool(t, WithDebug())
	ac := p.Get()
	outside := make([]byte, 64)
	New[holder](ac).Odd = (*uint16)(unsafe.Pointer(&outside[1]))
	ac.Release()
	var e *MisuseError
	if !errors.As(p.Err(), &e) || e.Err != ErrUnattached || !strings.HasSuffix(e.Path, "holder.Odd") {
		t.Errorf("got %v, want the field named; log %q", p.Err(), log.all())
	}
	if outside[1] != 0 {
		t.Error("debug mode wrote through the pointer")
	}
}

// Objects start on a multiple of 8 everywhere, also where a pointer has four bytes
// and elements of their type follow one another at odd multiples of it.
func TestOddWords(t *testing.T) {
	type counter struct {
		n uint64
		p *int
	}
	type large struct {
		n uint64
		p [301]*int
	}
	eachMode(t, func(t *testing.T, p *AllocatorPool) {
		for range 3 {
			ac := p.Get()
			for i := range uint64(300) {
				one, few, big := New[counter](ac), NewSlice[counter](ac, 1, 1+int(i%4)), New[large](ac)
				text := ac.String(fmt.Sprint(i))
				for _, at := range []*uint64{&one.n, &few[0].n, &big.n} {
					if uintptr(unsafe.Pointer(at))%8 != 0 || *at != 0 {
						t.Fatalf("round %d: %d at %p", i, *at, at)
					}
					atomic.AddUint64(at, i)
				}
				few[0].p, big.p[300] = new(int), new(int)
				if one.p != nil || one.n != i || *text != fmt.Sprint(i) {
					t.Fatalf("round %d: objects overlap", i)
				}
				if p.scanned {
					continue
				}
				few[0].p, big.p[300] = nil, nil // not attached
			}
			ac.Release()
		}
	})
}

// TestCountOfReferences: no reference is taken that the count has no room for.
func TestCountOfReferences(t *testing.T) {
	p, log := strictPool(t)
	ac := p.Get()
	ac.IncRef()
	ac.refs = math.MaxInt32
	ac.IncRef()
	if ac.refs != math.MaxInt32 || !errors.Is(p.Err(), ErrReferences) {
		t.Errorf("%d references, %q", ac.refs, log.all())
	}
	ac.refs = 1
	ac.Release()
}

// An arena released away from home is found there again, unless somebody at home
// released it at the same time, and maybe lent it again.
func TestSentHome(t *testing.T) {
	p := quietPool(t)
	s := &shard{slab: noHandles, last: &noHandles[0], half: &noHandles[slabLen/2]}
	lent := func() *Allocator {
		h, c := &Allocator{pool: p, next: &noHandles[0]}, p.newCore()
		s.turn(h, c)
		p.start(h, c)
		return h
	}
	a, b, again := lent(), lent(), lent()
	for _, h := range []*Allocator{a, b} {
		h.Int(1)
		if !h.sendHome(h.core) || h.sendHome(h.core) {
			t.Error("sent home twice, or not at all")
		}
	}
	ca, cb := a.core, b.core
	s.send(&returned{handle: again, core: again.core})        // lent again with its core
	s.send(&returned{handle: &Allocator{refs: -1}, core: ca}) // released again with another one
	s.drain()
	if s.idle != 2 || s.cores[0] == s.cores[1] || a.refs != 0 || b.refs != 0 || a.core != nil || b.core != nil {
		t.Errorf("%d idle arenas for two that came home", s.idle)
	}
	for _, c := range s.cores[:s.idle] {
		if c != ca && c != cb || c.first.used != header+word {
			t.Errorf("arena with %d bytes used came home", c.first.used)
		}
	}
	if again.refs != 1 || again.core == nil {
		t.Error("an arena was ended that is lent")
	}
}

// Arenas that come home where there is no room for them wait until there is.
func TestArenasThatCameHomeWait(t *testing.T) {
	p := quietPool(t)
	s := &shard{slab: noHandles, last: &noHandles[0], half: &noHandles[slabLen/2]}
	const more = 3
	seen := map[*core]bool{}
	for range shardCores + more {
		h, c := &Allocator{pool: p, next: &noHandles[0]}, p.newCore()
		s.turn(h, c)
		p.start(h, c)
		h.sendHome(c)
	}
	for _, want := range []int{shardCores, more, 0} {
		s.drain()
		if s.idle != want {
			t.Errorf("%d arenas came home, want %d", s.idle, want)
		}
		for ; s.idle > 0; s.idle-- {
			seen[s.cores[s.idle-1]] = true
		}
	}
	if len(seen) != shardCores+more {
		t.Errorf("%d arenas came home in all", len(seen))
	}
}

// An arena that was released away from home is lent there again.
func TestArenaThatCameHomeIsLent(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection may move the stack, or end a seat
	p := quietPool(t)
	ac := p.Get()
	for ac.core.home == nil { // a seat's, of the stack before and after it moved
		defer ac.Release()
		ac = p.Get()
	}
	c := ac.core
	if !ac.sendHome(c) {
		t.Fatal("it is not released")
	}
	again := p.Get()
	if again.core != c {
		t.Error("it waits at home")
	}
	again.Release()
}

// Arenas that stay lent cost no slab of handles each time that their turn comes.
func TestSlabStays(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	p := quietPool(t)
	kept := []*Allocator{p.Get(), p.Get(), p.Get()}
	slab := (*p.shards.Load())[0].slab
	for range 3 * slabLen {
		p.Get().Release()
	}
	if (*p.shards.Load())[0].slab != slab {
		t.Error("another slab")
	}
	for _, ac := range kept {
		ac.Release()
	}
}
