package lac

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

type twoHalves struct{ front, back [5000]int }

// Debug mode knows all of what was attached, however it was attached, and all of
// the object in front of it.
func TestAttachedInParts(t *testing.T) {
	if !exactHeap {
		t.Skip("portable builds cannot tell where an object begins")
	}
	type holder struct {
		P *int
		S []int
		T string
	}
	for name, store := range map[string]func(ac *Allocator, h *holder){
		"slice in a struct": func(ac *Allocator, h *holder) {
			h.S = Attach(ac, struct{ s []int }{make([]int, 5000)}).s[2000:3000]
		},
		"string in a struct": func(ac *Allocator, h *holder) {
			h.T = Attach(ac, struct{ s string }{string(make([]byte, 50_000))}).s[30_000:]
		},
		"interface in a struct": func(ac *Allocator, h *holder) {
			x := new(twoHalves)
			Attach(ac, struct {
				x any
				e error
			}{x: x})
			h.P = &x.back[7]
		},
		"slice in an interface in a struct": func(ac *Allocator, h *holder) {
			h.S = Attach(ac, struct{ x any }{make([]int, 5000)}).x.([]int)[4000:]
		},
		"pointers in an array": func(ac *Allocator, h *holder) {
			h.P = &Attach(ac, [2]*twoHalves{1: new(twoHalves)})[1].back[7]
		},
		"part of a slice, all of it, and the part": func(ac *Allocator, h *holder) {
			s := make([]int, 10_000)
			Attach(ac, &s[0])
			h.S = Attach(ac, s)[5000:]
			Attach(ac, &s[0])
		},
		"front of an object by its back": func(ac *Allocator, h *holder) {
			x := new(twoHalves)
			Attach(ac, &x.back)
			h.P = &x.front[7]
		},
		"front of an array by its back": func(ac *Allocator, h *holder) {
			s := make([]int, 10_000)
			Attach(ac, s[5000:5010])
			h.S = s[:1000]
		},
	} {
		t.Run(name, func(t *testing.T) {
			ac := quietPool(t, WithDebug()).Get()
			defer ac.Release()
			store(ac, New[holder](ac))
		})
	}
}

// The object behind an attached one is another.
func TestNotAttachedBeside(t *testing.T) {
	var all [500]*[64]byte
	at := map[uintptr]*[64]byte{}
	for i := range all {
		all[i] = new([64]byte)
		at[uintptr(unsafe.Pointer(all[i]))] = all[i]
	}
	for _, x := range all {
		next := at[uintptr(unsafe.Pointer(x))+64]
		if next == nil {
			continue
		}
		p, _ := strictPool(t, WithDebug())
		ac := p.Get()
		*New[*[64]byte](ac) = Attach(ac, x)
		*New[*[64]byte](ac) = next
		ac.Release()
		if !errors.Is(p.Err(), ErrUnattached) {
			t.Errorf("what lies behind an attached object counts as attached: %v", p.Err())
		}
		return
	}
	t.Skip("no two objects side by side")
}

// An unattached pointer may lead to where no object is, because what it pointed to is
// gone. The runtime stops a program that asks about such an address.
func TestUnattachedWhereNoObjectIs(t *testing.T) {
	if !exactHeap {
		t.Skip("portable builds ask the runtime nothing")
	}
	// One of them is the first on its page, and no page ends with one.
	var all [200]*[18]uint64
	size := uintptr(math.MaxInt)
	for i := range all {
		all[i] = new([18]uint64)
		for _, x := range all[:i] {
			gap := int(uintptr(unsafe.Pointer(all[i])) - uintptr(unsafe.Pointer(x)))
			size = min(size, uintptr(max(gap, -gap)))
		}
	}
	for _, x := range all {
		p, _ := strictPool(t, WithDebug())
		ac := p.Get()
		Attach(ac, &x[3])
		at := uintptr(unsafe.Pointer(x))
		check := func(a uintptr, found bool) {
			t.Helper()
			h := (*uintptr)(unsafe.Pointer(New[*int](ac)))
			*h = a // a number to the collector, and nobody follows it
			ac.CheckExternalPointers()
			if p.Err() != nil != found {
				t.Fatalf("pointer at %d of an object of %d bytes: %v", int(a-at), size, p.Err())
			}
			*h = 0
			p.DumpStats(true)
		}
		check(at, false)
		check(at+size-1, false)
		check(at+143, false)
		check(at+size, true)
		check(at|(pageSize-1), true)
		ac.Release()
	}
	// All of the last page of a large object counts as its own.
	p := quietPool(t, WithDebug())
	ac := p.Get()
	large := make([]byte, 40_000)
	Attach(ac, &large[39_000])
	h := (*uintptr)(unsafe.Pointer(New[*byte](ac)))
	*h = uintptr(unsafe.Pointer(&large[39_000])) | (pageSize - 1)
	ac.Release()
}

// A pointer from one arena in debug mode to another one is not checked, wherever the
// two lie.
func TestBetweenDebugArenas(t *testing.T) {
	blocks := func() (n int) {
		debugBlocks.Range(func(any, any) bool { n++; return true })
		return n
	}
	before := blocks()
	a, b := quietPool(t, WithDebug()).Get(), quietPool(t, WithDebug()).Get()
	*New[*int](a) = New[int](b)
	a.Release()
	b.Release()
	if now := blocks(); now != before {
		t.Errorf("%d blocks known, then %d", before, now)
	}
}

// The pages of released arenas are bounded in the process, not for each pool.
func TestGravesOfAllPools(t *testing.T) {
	if _, protector := guarded(); protector == nil {
		t.Skip("no pages to protect")
	}
	for range 3 {
		ac := quietPool(t, WithDebug()).Get()
		NewSlice[byte](ac, 0, graveBytes/2) // nobody touches them
		ac.Release()
	}
	graves.mu.Lock()
	defer graves.mu.Unlock()
	sum := 0
	for _, b := range graves.blocks {
		sum += len(b)
	}
	if sum != graves.bytes || sum > graveBytes || sum < graveBytes/2 {
		t.Errorf("%d bytes, %d counted", sum, graves.bytes)
	}
}

// graveyardPages notes what is unmapped, and may refuse to protect.
type graveyardPages struct {
	backing.Source
	refuse bool
	gone   []*byte
}

func (s *graveyardPages) Unmap(b []byte) error {
	s.gone = append(s.gone, &b[0])
	return nil
}

func (s *graveyardPages) Protect([]byte) error {
	if s.refuse {
		return errors.ErrUnsupported
	}
	return nil
}

func (s *graveyardPages) Unprotect([]byte) error { return nil }

// As many pages stay inaccessible as fit the bound; then the oldest are unmapped, and at
// once those that cannot be made inaccessible.
func TestOldestGravesGoFirst(t *testing.T) {
	const size, fit = graveBytes / 4, 4
	var g graveyard
	src := &graveyardPages{}
	mem := make([]byte, size+8) // nobody touches it
	for i := range 8 {
		g.bury(mem[i:i+size], src, src)
		if want := max(0, i+1-fit); len(src.gone) != want || want > 0 && src.gone[want-1] != &mem[want-1] {
			t.Fatalf("after %d blocks %d are unmapped, want the first %d", i+1, len(src.gone), want)
		}
	}
	src.refuse = true
	g.bury(mem[8:8+size], src, src)
	if n := len(src.gone); n != 5 || src.gone[4] != &mem[8] || len(g.blocks) != fit || g.bytes != graveBytes {
		t.Errorf("%d are unmapped, %d blocks of %d bytes stay", n, len(g.blocks), g.bytes)
	}
}

// A large arena in debug mode has few blocks.
func TestDebugBlocksGrow(t *testing.T) {
	ac := quietPool(t, WithDebug()).Get()
	defer ac.Release()
	for range 10 << 10 {
		New[[1 << 10]byte](ac)
	}
	// 64 KiB and twice as much each time.
	if r := ac.core.debug; len(r.mapped)+len(r.heap) != 8 {
		t.Errorf("10 MiB are in %d blocks", len(r.mapped)+len(r.heap))
	}
}

// Arenas come and go while DebugCheck looks at all there are.
func TestDebugCheckWhileReleased(t *testing.T) {
	p := NewPool(t.Name(), WithDebug(), WithMisuse(func(err error) {
		if !errors.Is(err, ErrLeaked) {
			t.Errorf("unexpected report: %v", err)
		}
	}))
	stop := make(chan struct{})
	var checks sync.WaitGroup
	for range 2 {
		checks.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					p.DebugCheck()
					runtime.Gosched() // where nothing preempts it
				}
			}
		})
	}
	s := make([]int, 20)
	for range 200 {
		ac := p.Get()
		NewSlice[twoPointers](ac, 500, 500) // and nobody writes to it
		for i := range 20 {
			Attach(ac, &s[i])
		}
		runtime.Gosched()
		ac.Release()
	}
	close(stop)
	checks.Wait()
}

type twoPointers struct{ a, b *int }

// DebugCheck at the end of a test finds the arenas that nobody released.
func TestDebugCheckFindsLeaks(t *testing.T) {
	for name, opts := range modes {
		p, log := strictPool(t, opts...)
		p.Get().Release()
		p.DebugCheck()
		if p.Err() != nil {
			t.Errorf("%s: nothing is live, %v", name, p.Err())
		}
		one, two := p.Get(), p.Get()
		two.IncRef()
		two.DecRef()
		p.DebugCheck()
		if !errors.Is(p.Err(), ErrLeaked) || !strings.HasSuffix(log.all(), "2 of 3") {
			t.Errorf("%s: two are live, %v", name, p.Err())
		}
		one.Release()
		two.Release()
		p.DumpStats(true)
		if p.DebugCheck(); p.Err() != nil {
			t.Errorf("%s: nothing is live any more, %v", name, p.Err())
		}
	}
}

// A report of a release is the last that it does.
func TestReportPanics(t *testing.T) {
	reports := 0
	p := NewPool(t.Name(), WithDebug(), WithMisuse(func(err error) { reports++; panic(err) }))
	ac := p.Get()
	*New[*int](ac) = new(int)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		ac.Release()
	}()
	p.DebugCheck()
	if len(p.live) != 0 || reports != 1 {
		t.Errorf("%d arenas live, %d reports", len(p.live), reports)
	}
}

// What the objects of a debug arena point to stays when arena and pool are dropped.
func TestDroppedDebugPool(t *testing.T) {
	var gone atomic.Int32
	drop := func() **[100]int {
		ac := NewPool(t.Name(), WithDebug()).Get()
		child := new([100]int)
		runtime.AddCleanup(child, func(g *atomic.Int32) { g.Add(1) }, &gone)
		child[7] = 7
		return NewEnum(ac, Attach(ac, child))
	}
	object := drop()
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if gone.Load() != 0 || (*object)[7] != 7 {
		t.Error("the child of an object was collected")
	}
	// An arena that is released holds nothing.
	p := NewPool(t.Name(), WithDebug())
	a, b := p.Get(), p.Get()
	a.Release()
	if _, held := holding.Load(p); !held {
		t.Error("a pool with a live arena is not held")
	}
	b.Release()
	if _, held := holding.Load(p); held {
		t.Error("a pool without live arenas is held")
	}
}

// Every object with pointers of a scanned arena is zero after the release, also in
// blocks that are not the last, and on their own.
func TestScannedDebugZeroes(t *testing.T) {
	ac := quietPool(t, WithScanned(), WithDebug()).Get()
	var all []*twoPointers
	for range 3000 {
		all = append(all, NewEnum(ac, twoPointers{a: new(int)}))
	}
	large := NewSlice[twoPointers](ac, 5000, 5000)
	large[4999].b = new(int)
	ac.Release()
	all = append(all, &large[4999])
	for i, o := range all {
		if *o != (twoPointers{}) {
			t.Fatalf("object %d of %d is not zero", i, len(all))
		}
	}
}

// TestOwnHandleNeedsNoAttach: an object may hold the handle of its arena, which is in
// use until the release, but not that of another.
func TestOwnHandleNeedsNoAttach(t *testing.T) {
	type owner struct{ AC *Allocator }
	pool := quietPool(t, WithDebug())
	for range 3 {
		ac := pool.Get()
		New[owner](ac).AC = ac
		ac.CheckExternalPointers()
		ac.Release()
		pool.DebugCheck()
	}
	var got error
	pool = NewPool("two", WithDebug(), WithMisuse(func(err error) { got = err }))
	one, two := pool.Get(), pool.Get()
	New[owner](one).AC = two
	one.Release()
	if !errors.Is(got, ErrUnattached) {
		t.Errorf("the handle of another arena: %v", got)
	}
	two.Release()
}
