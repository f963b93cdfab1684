package heap

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// extent is live memory, and where in preempted.content it has its bytes from.
type extent struct {
	b  []byte
	at int
}

func (e extent) part(from, to int) extent { return extent{e.b[from:to:to], e.at + from} }

// preempted is what the goroutines of TestPreemption share.
type preempted struct {
	t        *testing.T
	h        *Heap
	content  []byte // random
	places   [32]atomic.Pointer[extent]
	malloced atomic.Uint64
	end      time.Time
}

// TestPreemption: goroutines allocate, trim, free in parts, free each other's
// blocks and borrow, while others stop the world all the time. So the signal that
// preempts loops comes at whatever instruction they are, and a section that can be
// preempted (runtime assumption 11) goes on on another P. No byte is lost then and
// the account is exact. -torture makes it longer.
func TestPreemption(t *testing.T) {
	const seed, workers = 23, 5
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	limit := *torture
	if testing.Short() {
		limit /= 3
	}
	rng := rand.New(rand.NewPCG(seed, workers))
	p := &preempted{t: t, h: newHeap(1 << 20), content: make([]byte, 4*maxSlot)}
	for i := range p.content {
		p.content[i] = byte(rng.Uint32())
	}
	for range 1024 + 2*firstWait(class(readSize)) { // until it cuts
		mustFree(t, p.h, shortRead(t, p.h, 100))
		p.malloced.Add(readSize)
	}
	stop := stopTheWorld()
	p.end = time.Now().Add(limit)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() { p.work(rand.New(rand.NewPCG(seed, uint64(w)))) })
	}
	group.Wait()
	stops := stop()
	for i := range p.places {
		if e := p.places[i].Load(); e != nil && !p.give(*e) {
			break
		}
	}
	mustHoldNothing(t, p.h)
	want := p.malloced.Load()
	s := p.h.Stats()
	if s.Malloced != want || s.Freed != want || s.Raced != 0 || s.Refused != 0 {
		t.Errorf("seed %d: %+v after %d bytes were allocated and freed", seed, s, want)
	}
	t.Logf("the world stopped %d times while %d MiB were allocated", stops, want>>20)
}

// stopTheWorld does it in several ways, again and again, until stop is called, which
// returns how often it was done.
func stopTheWorld() (stop func() int64) {
	var done atomic.Bool
	var stops atomic.Int64
	var group sync.WaitGroup
	again := func(pause time.Duration, f func(i int)) {
		group.Go(func() {
			for i := 0; !done.Load(); i++ {
				f(i)
				stops.Add(1)
				time.Sleep(pause)
			}
		})
	}
	again(0, func(int) {
		var few [1]runtime.StackRecord
		runtime.GoroutineProfile(few[:])
		runtime.Gosched()
	})
	again(time.Millisecond, func(i int) {
		if i%8 == 0 {
			runtime.GC()
		}
		debug.SetGCPercent(debug.SetGCPercent(100))
	})
	again(7*time.Millisecond, func(i int) { runtime.GOMAXPROCS(1 + i*3%8) })
	return func() int64 {
		done.Store(true)
		group.Wait()
		return stops.Load()
	}
}

// work allocates some blocks of one size at a time and uses them.
func (p *preempted) work(rng *rand.Rand) {
	var some [16]extent
	for !p.t.Failed() && time.Now().Before(p.end) {
		for range 16 {
			r := rng.Uint64()
			n := p.size(rng, r%16)
			r /= 16
			cut := int(r%8) * n / 8 // where parts begin: often at none
			r /= 8
			blocks := some[:1+min(int(r%16), 1<<16/n)]
			at := int(r / 16 % uint64(len(p.content)/2))
			for i := range blocks {
				if !p.take(&blocks[i], n, at+i) {
					return
				}
			}
			if r>>32%8 == 0 {
				if b := p.h.Borrow(n); len(b) != n {
					p.t.Errorf("borrowed %d bytes of %d", len(b), n)
					return
				}
			}
			for _, e := range blocks {
				if !p.use(rng, e, cut) {
					return
				}
			}
		}
	}
}

func (p *preempted) size(rng *rand.Rand, kind uint64) int {
	switch kind {
	case 0:
		return 1 + rng.IntN(2*maxSlot)
	case 1:
		return 1 + rng.IntN(maxSlot)
	case 2, 3:
		return readSize
	case 4, 5, 6:
		return 1 + rng.IntN(maxSmall)
	}
	return 1 + rng.IntN(128)
}

// take allocates n bytes and fills them.
func (p *preempted) take(e *extent, n, at int) bool {
	b := p.h.Malloc(n)
	if len(b) != n {
		p.t.Errorf("Malloc(%d) returned %d bytes", n, len(b))
		return false
	}
	p.malloced.Add(uint64(n))
	copy(b, p.content[at:])
	*e = extent{b, at}
	return true
}

// use frees e, and of blocks that are cut parts by themselves, in some order. Some of
// it is handed to another goroutine, and what somebody else left is freed instead.
func (p *preempted) use(rng *rand.Rand, e extent, cut int) bool {
	r := rng.Uint32()
	parts := [...]extent{e, {}, {}}
	if cut > 0 {
		parts[0], parts[1] = e.part(0, cut), e.part(cut, len(e.b))
		if rest := parts[1]; r&1 != 0 && len(rest.b) > 1 {
			parts[1], parts[2] = rest.part(0, len(rest.b)/2), rest.part(len(rest.b)/2, len(rest.b))
		}
		if r&2 != 0 {
			parts[0], parts[1] = parts[1], parts[0]
		}
	}
	for i, e := range parts {
		if e.b == nil {
			continue
		}
		if r>>(2+3*i)%8 == 0 {
			if other := p.places[r>>16%uint32(len(p.places))].Swap(&e); other != nil && !p.give(*other) {
				return false
			}
		} else if !p.give(e) {
			return false
		}
	}
	return true
}

// give checks and frees e.
func (p *preempted) give(e extent) bool {
	if !bytes.Equal(e.b, p.content[e.at:e.at+len(e.b)]) {
		p.t.Errorf("a block of %d bytes has bytes of another", len(e.b))
		return false
	}
	if !p.h.Free(e.b) {
		p.t.Errorf("free of %d bytes refused", len(e.b))
		return false
	}
	return true
}
