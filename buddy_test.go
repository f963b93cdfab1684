package gomem

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
)

func TestBuddySizes(t *testing.T) {
	b := NewBuddy()
	for _, size := range []int{1, 2, 3, 5, 8, 1000, 1024, 1025, buddyGranules/2 - 1} {
		at, err := b.Alloc(size)
		power := 1 << bits.Len(uint(size-1))
		if err != nil || at%power != 0 || at+size > buddyGranules {
			t.Errorf("Alloc(%d) = %d, %v", size, at, err)
		}
	}
	for _, size := range []int{0, -1, math.MinInt} {
		if _, err := b.Alloc(size); err != InValidParameterErr {
			t.Errorf("Alloc(%d): %v", size, err)
		}
	}
	for _, size := range []int{buddyGranules + 1, math.MaxInt} {
		if _, err := b.Alloc(size); !errors.Is(err, InValidParameterErr) || !errors.Is(err, NotFoundErr) {
			t.Errorf("Alloc(%d): %v", size, err)
		}
	}
	if _, err := b.Alloc(buddyGranules); err != NotFoundErr {
		t.Errorf("Alloc of the whole with blocks in use: %v", err)
	}
}

func TestBuddyModel(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	b := NewBuddy()
	var live []Block
	for step := range 4000 {
		if rnd.IntN(5) < 3 || len(live) == 0 {
			size := 1 + rnd.IntN(1<<rnd.IntN(15))
			at, err := b.Alloc(size)
			if err == NotFoundErr {
				continue
			}
			if err != nil {
				t.Fatalf("step %d: Alloc(%d): %v", step, size, err)
			}
			i, _ := slices.BinarySearchFunc(live, at, func(l Block, at int) int { return l.Start - at })
			if i > 0 && live[i-1].End > at || i < len(live) && live[i].Start < at+size {
				t.Fatalf("step %d: Alloc(%d) = %d overlaps a live block", step, size, at)
			}
			live = slices.Insert(live, i, Block{Start: at, End: at + size})
			continue
		}
		i := rnd.IntN(len(live))
		at, size := live[i].Start, live[i].Size()
		if size > 1 {
			if err := b.Free(at + 1 + rnd.IntN(size-1)); err != NotFoundErr {
				t.Fatalf("step %d: Free inside %v: %v", step, live[i], err)
			}
		}
		if err := b.Free(at); err != nil {
			t.Fatalf("step %d: Free(%d): %v", step, at, err)
		}
		if err := b.Free(at); err != NotFoundErr {
			t.Fatalf("step %d: second Free(%d): %v", step, at, err)
		}
		live = slices.Delete(live, i, i+1)
	}
	for _, l := range live {
		if err := b.Free(l.Start); err != nil {
			t.Fatal(err)
		}
	}
	if at, err := b.Alloc(buddyGranules); at != 0 || err != nil {
		t.Errorf("after everything was freed Alloc of the whole = %d, %v", at, err)
	}
}

func TestG15SizesAreNotRoundedDown(t *testing.T) {
	b := NewBuddy()
	first, err1 := b.Alloc(3)
	second, err2 := b.Alloc(3)
	if err1 != nil || err2 != nil || first < second+3 && second < first+3 {
		t.Errorf("two blocks of 3 at %d (%v) and %d (%v)", first, err1, second, err2)
	}
}

func TestG16PoolSurvivesCollection(t *testing.T) {
	emptyPool(t)
	b := GetBuddy()
	at, err := b.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	PutBuddy(b)
	for range 3 {
		runtime.GC()
	}
	again := GetBuddy()
	if again != b {
		t.Fatal("a buddy with a live block was lost from the pool")
	}
	if err := again.Free(at); err != nil {
		t.Errorf("its block cannot be freed: %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		if _, err := NewBuddy().Alloc(1); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 100; each > 64<<10 {
		t.Errorf("a buddy takes %d bytes", each)
	}
}

func TestG17PoolReusesWhatIsFree(t *testing.T) {
	emptyPool(t)
	first := GetBuddy()
	PutBuddy(first)
	for range 300 {
		b := GetBuddy()
		if b != first {
			t.Fatal("the pool made another buddy although one is there")
		}
		at, err := b.Alloc(1 << 10)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Free(at); err != nil {
			t.Fatal(err)
		}
		PutBuddy(b)
	}
	if at, err := first.Alloc(buddyGranules); at != 0 || err != nil {
		t.Errorf("Alloc of the whole = %d, %v", at, err)
	}
	if err := first.Free(0); err != nil {
		t.Error(err)
	}
}

func TestG18BuddyPutTwice(t *testing.T) {
	emptyPool(t)
	b := NewBuddy()
	PutBuddy(b)
	PutBuddy(b)
	PutBuddy(nil)
	if x, y := GetBuddy(), GetBuddy(); x != b || y == b {
		t.Error("a buddy that was put twice has two owners")
	}
	busy := NewBuddy()
	if _, err := busy.Alloc(1); err != nil {
		t.Fatal(err)
	}
	for range 2 * idleBuddies {
		PutBuddy(NewBuddy())
	}
	PutBuddy(busy)
	if n := len(buddies.list); n != idleBuddies+1 {
		t.Errorf("%d buddies are kept, want %d", n, idleBuddies+1)
	}
	if GetBuddy() != busy {
		t.Error("a buddy with a live block was dropped")
	}
}

func TestG19BuddyFreeInside(t *testing.T) {
	b := NewBuddy()
	at, err := b.Alloc(8)
	if at != 0 || err != nil {
		t.Fatalf("Alloc(8) = %d, %v", at, err)
	}
	if err := b.Free(3); err != NotFoundErr {
		t.Errorf("Free(3) inside [0,8) = %v", err)
	}
	if next, err := b.Alloc(8); next != 8 || err != nil {
		t.Errorf("next Alloc(8) = %d, %v", next, err)
	}
	for _, off := range []int{-1, math.MinInt, buddyGranules, math.MaxInt} {
		if err := b.Free(off); err != InValidParameterErr {
			t.Errorf("Free(%d) = %v", off, err)
		}
	}
	for _, off := range []int{16, 1000, buddyGranules - 1} {
		if err := b.Free(off); err != NotFoundErr {
			t.Errorf("Free(%d) = %v", off, err)
		}
	}
	if err := errors.Join(b.Free(8), b.Free(0)); err != nil {
		t.Error(err)
	}
	if err := b.Free(0); err != NotFoundErr {
		t.Errorf("second Free(0) = %v", err)
	}
}

func TestBuddyConcurrent(t *testing.T) {
	b := NewBuddy()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 1000 {
				at, err := b.Alloc(1 + (g+i)%50)
				if err != nil {
					t.Error(err)
					return
				}
				if err := b.Free(at); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if at, err := b.Alloc(buddyGranules); at != 0 || err != nil {
		t.Errorf("Alloc of the whole = %d, %v", at, err)
	}
}

// emptyPool makes the test start and end without buddies in the pool.
func emptyPool(t *testing.T) {
	drop := func() {
		buddies.Lock()
		defer buddies.Unlock()
		for _, b := range buddies.list {
			b.pooled = false
		}
		buddies.list = nil
	}
	drop()
	t.Cleanup(drop)
}

func BenchmarkBuddy(b *testing.B) {
	for name, size := range map[string]int{"1024": 1024, "64": 64, "8192": 8192, "1000": 1000} {
		b.Run("op=AllocFree/size="+name, func(b *testing.B) {
			b.ReportAllocs()
			buddy := NewBuddy()
			for b.Loop() {
				at, err := buddy.Alloc(size)
				if err == nil {
					err = buddy.Free(at)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("op=100then100/size=1024", func(b *testing.B) {
		b.ReportAllocs()
		buddy := NewBuddy()
		var at [100]int
		for b.Loop() {
			for i := range at {
				at[i], _ = buddy.Alloc(1024)
			}
			for _, off := range at {
				if err := buddy.Free(off); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// TestZeroBuddy: a buddy that NewBuddy did not make is like one that it made.
func TestZeroBuddy(t *testing.T) {
	var b Buddy
	if err := b.Free(1); !errors.Is(err, NotFoundErr) {
		t.Errorf("Free = %v", err)
	}
	if at, err := b.Alloc(buddyGranules); at != 0 || err != nil {
		t.Errorf("Alloc of all = %d, %v", at, err)
	}
	if err := b.Free(0); err != nil {
		t.Error(err)
	}
	if !new(Buddy).idle() {
		t.Error("a zero buddy has blocks")
	}
}
