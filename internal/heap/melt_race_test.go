package heap

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// again lets the class of blocks of n bytes have slots or strips at once, whatever
// was freed of them.
func (h *Heap) again(n int, parted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dry, h.wait[class(n)], h.parted[class(n)-small] = 0, 0, parted
}

// mustHoldNothing checks that nothing is live in h, in a slot or elsewhere.
func mustHoldNothing(t *testing.T, h *Heap) {
	t.Helper()
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, h)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.chunks {
		if c != nil && c.inUse(h.spans.Load()) {
			t.Fatalf("%d bytes of a chunk are in use after everything was freed", c.size-c.place.FreeBytes()-c.spanned)
		}
	}
}

// rounds returns a function that says whether there is one more: n at most, fewer
// where two goroutines hardly ever run at the same time.
func rounds(n int) (more func() bool) {
	if testing.Short() {
		n /= 2
	}
	end := time.Now().Add(2 * time.Second)
	return func() bool {
		n--
		return n >= 0 && time.Now().Before(end)
	}
}

// helper is a goroutine on another P that does one thing at a time, at the same
// moment as the test does another.
type helper struct {
	turn, done atomic.Int64
	f          func()
	group      sync.WaitGroup
}

func newHelper(t *testing.T) *helper {
	before := runtime.GOMAXPROCS(2)
	a := new(helper)
	a.group.Go(func() {
		for i := int64(1); ; i++ {
			for a.turn.Load() < i {
				runtime.Gosched()
			}
			if a.f == nil {
				return
			}
			a.f()
			a.done.Store(i)
		}
	})
	t.Cleanup(func() {
		a.start(nil)
		a.group.Wait()
		runtime.GOMAXPROCS(before)
	})
	return a
}

// start has the helper call f; busy says whether it still does.
func (a *helper) start(f func()) {
	a.f = f
	a.turn.Add(1)
}

func (a *helper) busy() bool {
	if runtime.GOARCH == "wasm" {
		runtime.Gosched() // nothing else lets it have its turn
	}
	return a.done.Load() < a.turn.Load()
}

// TestMeltOrFree: a block that another P frees at the moment in which it is to be gone
// is one or the other.
func TestMeltOrFree(t *testing.T) {
	recs, bits := make([]uint32, 1<<12), make([]uint32, 1<<12/32)
	sp := &span{recs: recs, bits: bits}
	for more := rounds(4000); more(); {
		for i := range recs {
			recs[i] = stateLive | 100
		}
		clear(bits)
		s := newShard()
		var freed, kept int
		var ready, begun atomic.Bool
		var group sync.WaitGroup
		group.Go(func() {
			ready.Store(true)
			for !begun.Load() {
				runtime.Gosched()
			}
			for i := range recs {
				if sp.mark(uint32(i), stateLive|100, stateQueue, nil) {
					s.post(sp, uint32(i))
					freed++
				}
			}
		})
		for !ready.Load() {
			runtime.Gosched()
		}
		begun.Store(true)
		for i := range recs {
			for !sp.makeGone(uint32(i)) {
			}
		}
		group.Wait()
		for _, r := range recs {
			if r == stateQueue {
				kept++
			}
		}
		if kept != freed {
			t.Fatalf("of %d blocks that were freed before they were gone %d are", freed, kept)
		}
	}
}

// TestTrimComesTooLate: a block that is gone, or freed, between the look at its record and
// its trim is not trimmed, and neither is the place after it moved.
func TestTrimComesTooLate(t *testing.T) {
	for _, now := range []uint32{stateGone | 1000, stateQueue, stateFree, stateCut | 900} {
		sp := newStrip(maxSpan)
		sp.place(&chunk{mem: make([]byte, maxSpan)}, 0)
		sp.cut(1000)
		sp.recs[0] = now
		if sp.trim(0, stateCut|1000, stateCut|100, true) || sp.recs[0] != now || sp.carved != granules(1000) {
			t.Errorf("trimmed to %#x, was %#x, the next block begins at %d", sp.recs[0], now, sp.carved)
		}
	}
}

// TestMeltBesideFrees: what another P frees while the owner melts the span is free
// once, and what it leaves stays.
func TestMeltBesideFrees(t *testing.T) {
	const seed = 5
	for _, kind := range []struct {
		name    string
		n, read int // bytes allocated, and left after a short read
		keep    int // bytes that the other P does not free
	}{
		{"slots", maxSmall + 1, maxSmall + 1, 0},
		{"strip", readSize, 1000, 0},
		{"trimmed strip", readSize, 1000, 400},
	} {
		t.Run(kind.name, func(t *testing.T) {
			h, other := sharedOut(t, kind.n), newHelper(t)
			h.ticking.Store(false) // the clock may tick beside
			rng := rand.New(rand.NewPCG(seed, 0))
			melted, round := 0, 0
			for more := rounds(3000); more(); round++ {
				h.again(kind.n, kind.read < kind.n)
				var all [16]stamped
				for i := range all {
					b := mustMalloc(t, h, kind.n)
					if kind.read < kind.n {
						mustFree(t, h, b[kind.read:])
					}
					all[i] = stamped{b[:kind.read:kind.read], rng.Uint64()}
					all[i].fill()
				}
				last := all[15].b
				if h.spanAt(addressOf(last)) != nil {
					melted++
				}
				ok := true
				other.start(func() {
					for _, s := range all[:15] {
						ok = h.Free(s.b[kind.keep:]) && ok
					}
				})
				for spin := rng.IntN(800); spin > 0; spin-- { // so that the two meet anywhere
				}
				meltStrip(h, last)
				mine := h.Free(last[:1])
				for other.busy() {
					runtime.Gosched()
				}
				if !ok || !mine {
					t.Fatalf("seed %d round %d: refused", seed, round)
				}
				mustFree(t, h, last[1:])
				if kind.keep > 0 {
					for _, s := range all[:15] {
						s.part(0, kind.keep).check(t)
						mustFree(t, h, s.b[:kind.keep])
					}
				}
				if round%50 == 0 {
					mustHoldNothing(t, h)
				}
			}
			mustHoldNothing(t, h)
			if melted < round/2 {
				t.Errorf("%d spans melted in %d rounds", melted, round)
			}
		})
	}
}

// TestMeltBesideTheOwner: a span melts on another P, and its owner goes on
// allocating, trimming and freeing.
func TestMeltBesideTheOwner(t *testing.T) {
	for _, n := range []int{maxSmall + 1, readSize} {
		h, other := sharedOut(t, n), newHelper(t)
		h.ticking.Store(false) // the clock may tick beside
		var ring [10]stamped
		turn := 0
		renew := func() {
			s := &ring[turn%len(ring)]
			if turn++; s.b != nil {
				s.check(t)
				mustFree(t, h, s.b)
			}
			b := mustMalloc(t, h, n)
			if n == readSize {
				mustFree(t, h, b[100:])
				b = b[:100:100]
			}
			*s = stamped{b, uint64(turn) * hashFactor}
			s.fill()
		}
		for more := rounds(2000); more(); {
			h.again(n, n == readSize)
			for range ring {
				renew()
			}
			s := &ring[turn%len(ring)]
			head, ok := s.b[:1], true
			*s = s.part(1, len(s.b))
			turn++ // the renewal of it is not while its head is freed
			other.start(func() {
				meltStrip(h, head)
				ok = h.Free(head)
			})
			for busy := true; busy; {
				busy = other.busy()
				for range len(ring) - 1 {
					renew()
				}
				turn++
			}
			if !ok {
				t.Fatal("refused")
			}
		}
		for _, s := range ring {
			s.check(t)
			mustFree(t, h, s.b)
		}
		mustHoldNothing(t, h)
	}
}

// TestFreesBesideTheDrain: what another P frees while the owner takes in what it
// freed before is taken in the next time.
func TestFreesBesideTheDrain(t *testing.T) {
	for _, n := range []int{64, 2000} {
		h, other := newHeap(1<<20), newHelper(t)
		for range 1100 { // until it is shared out
			mustFree(t, h, mustMalloc(t, h, n))
		}
		var theirs, mine [400][]byte
		for i := range theirs {
			theirs[i] = mustMalloc(t, h, n)
		}
		round := 0
		for more := rounds(3000); more(); round++ {
			ok := true
			other.start(func() {
				for _, b := range theirs {
					ok = h.Free(b) && ok
				}
			})
			for i := range mine { // more than is free, so this takes in what they free
				mine[i] = h.Malloc(n)
			}
			for other.busy() {
				runtime.Gosched()
			}
			if !ok {
				t.Fatal("refused")
			}
			theirs, mine = mine, theirs
			if round%20 == 0 {
				mustVerify(t, h)
			}
		}
		if s := h.Stats(); s.Backing > 4<<20 {
			t.Errorf("%d bytes mapped after %d rounds of %d", s.Backing, round, len(mine)*n)
		}
		mustFree(t, h, theirs[:]...)
		mustHoldNothing(t, h)
	}
}
