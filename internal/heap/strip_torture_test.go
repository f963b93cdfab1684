package heap

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomem-go/gomem/backing"
)

var torture = flag.Duration("torture", 300*time.Millisecond, "how long each phase of TestStripTorture takes")

// piece is a live block, or a part of one, and where it is from.
type piece struct {
	h *Heap
	stamped
}

// torturer is one goroutine of TestStripTorture.
type torturer struct {
	t            *testing.T
	rng          *rand.Rand
	heaps        []*Heap
	places       *[64]atomic.Pointer[piece] // where goroutines hand pieces to each other
	wrong        []atomic.Uint64            // frees that each heap has to refuse
	blocks, cut  *atomic.Int64              // how many there were, and of them in strips
	heads, later int                        // one in so many pieces loses its head first, one block is trimmed late
}

// TestStripTorture: goroutines cut blocks of several heaps, trim them at once or
// late, cut them up, hand the parts to each other and free them, the parts of one
// block also at the same time, while others verify, trim and borrow, collections
// run, the number of Ps changes, and frees that are none are refused. Between the
// phases a heap is reset. -torture makes it longer.
func TestStripTorture(t *testing.T) {
	const seed, workers = 17, 6
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	heaps := make([]*Heap, 4)
	for i := range heaps {
		cfg := Config{Size: 1 << 20, Source: backing.Heap(), Placement: placements["tlsf"], Few: few, Spans: true, Misuse: func(error) {}}
		switch i {
		case 1:
			cfg.Source = backing.Mmap()
		case 2:
			cfg.Sample = &Sample{Rate: 100, Interval: -1}
		case 3:
			cfg.MaxBytes = 6 << 20
		}
		heaps[i] = new(Heap)
		heaps[i].Init(cfg)
		for range 1024 + 2*firstWait(class(readSize)) { // until it cuts
			mustFree(t, heaps[i], shortRead(t, heaps[i], 100))
		}
	}
	limit := *torture
	if testing.Short() {
		limit /= 3
	}
	var blocks, cut atomic.Int64
	for phase, p := range []struct{ heads, later int }{{1 << 30, 40}, {1 << 30, 4}, {3000, 40}, {50, 40}} {
		var places [64]atomic.Pointer[piece]
		wrong := make([]atomic.Uint64, len(heaps))
		before := make([]Stats, len(heaps))
		for i, h := range heaps {
			before[i] = h.Stats()
		}
		stop := disturb(t, heaps)
		var group sync.WaitGroup
		end := time.Now().Add(limit)
		for w := range workers {
			rng := rand.New(rand.NewPCG(seed, uint64(phase*workers+w)))
			tr := &torturer{t, rng, heaps, &places, wrong, &blocks, &cut, p.heads, p.later}
			group.Go(func() { tr.run(end) })
		}
		group.Wait()
		stop()
		for i := range places {
			if p := places[i].Load(); p != nil {
				p.check(t)
				mustFree(t, p.h, p.b)
			}
		}
		for i, h := range heaps {
			mustHoldNothing(t, h)
			s := h.Stats()
			if want := wrong[i].Load(); s.Live != 0 || s.Raced != 0 || s.Refused-before[i].Refused != want || s.Damaged != 0 {
				t.Errorf("seed %d phase %d heap %d: %+v after everything was freed, %d frees were wrong", seed, phase, i, s, want)
			}
		}
		t.Logf("phase %d: until now %d of %d blocks were in strips", phase, cut.Load(), blocks.Load())
		if err := heaps[phase].Reset(); err != nil {
			t.Error(err)
		}
	}
	if blocks.Load() > 10*cut.Load() {
		t.Errorf("only %d of %d blocks were in strips", cut.Load(), blocks.Load())
	}
	for _, h := range heaps {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// disturb does what a program does beside allocating, until stop is called.
func disturb(t *testing.T, heaps []*Heap) (stop func()) {
	done := make(chan struct{})
	var group sync.WaitGroup
	every := func(d time.Duration, f func(i int)) {
		group.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				case <-time.After(d):
					f(i)
				}
			}
		})
	}
	every(3*time.Millisecond, func(i int) { runtime.GOMAXPROCS(1 + i%6) })
	every(5*time.Millisecond, func(int) { runtime.GC() })
	every(time.Millisecond, func(i int) {
		heaps[i%len(heaps)].hurry()
	})
	every(time.Millisecond, func(i int) {
		h := heaps[i/4%len(heaps)]
		var err error
		switch i % 4 {
		case 0:
			err = h.Verify()
		case 1:
			err = h.Trim()
		case 2:
			h.Borrow(readSize)
			h.Borrow(64)
		default:
			if m, f := h.Totals(); int64(m-f) < -1<<40 || h.Stats().Chunks < 0 {
				t.Errorf("%d bytes requested, %d given back", m, f)
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
	return func() { close(done); group.Wait() }
}

// hurry lets classes of which heads were freed, or ends lost, have strips again.
func (h *Heap) hurry() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sharing != nil {
		h.dry = 0
		for i := range h.wait {
			h.wait[i] = min(h.wait[i], 10)
		}
	}
}

func (tr *torturer) run(end time.Time) {
	for time.Now().Before(end) {
		h := tr.heaps[tr.rng.IntN(len(tr.heaps))]
		n := readSize
		switch tr.rng.IntN(8) {
		case 0:
			n = maxSmall + 1 + tr.rng.IntN(maxCut-maxSmall)
		case 1:
			n = 1 + tr.rng.IntN(3*maxCut)
		}
		b := h.Malloc(n)
		if b == nil {
			continue // at the limit
		}
		tr.blocks.Add(1)
		if stripOf(h, b) != nil {
			tr.cut.Add(1)
		}
		if tr.rng.IntN(tr.later) == 0 {
			runtime.Gosched()
		}
		p := piece{h, stamped{b, tr.rng.Uint64()}}
		if n > 1 && tr.rng.IntN(tr.later) > 0 {
			keep := 1 + tr.rng.IntN(min(n-1, 2000))
			tr.free(h, b[keep:])
			p.b = b[:keep:keep]
			if tr.rng.IntN(8) == 0 {
				tr.refuse(p, b, b[keep-1:], b[keep-1:keep+1])
			}
		}
		p.fill()
		for kept := tr.hand(p); kept != nil; {
			kept = tr.use(*kept)
		}
	}
}

// hand leaves p in some place and returns what was there.
func (tr *torturer) hand(p piece) *piece {
	return tr.places[tr.rng.IntN(len(tr.places))].Swap(&p)
}

// use frees p, or a part of it, and hands on what is left: two parts to
// goroutines that may free them at the same time. It returns a piece if there is
// another one to deal with.
func (tr *torturer) use(p piece) *piece {
	p.check(tr.t)
	n := len(p.b)
	at := tr.rng.IntN(n)
	switch way := tr.rng.IntN(8); {
	case at == 0:
	case tr.rng.IntN(tr.heads) == 0:
		tr.free(p.h, p.b[:at])
		return tr.hand(piece{p.h, p.part(at, n)})
	case way < 2:
		tr.free(p.h, p.b[at:])
		p.stamped = p.part(0, at)
		return tr.hand(p)
	case way == 2 && tr.rng.IntN(tr.heads) < 20: // and the front may be freed first
		if other := tr.hand(piece{p.h, p.part(at, n)}); other != nil {
			other.check(tr.t)
			tr.free(other.h, other.b)
		}
		p.stamped = p.part(0, at)
		return tr.hand(p)
	}
	tr.free(p.h, p.b)
	return nil
}

func (tr *torturer) free(h *Heap, b []byte) {
	if !h.Free(b) {
		tr.t.Errorf("free of %d bytes refused", len(b))
	}
}

// refuse frees what is not, or not whole, live as long as p is.
func (tr *torturer) refuse(p piece, ranges ...[]byte) {
	for i, h := range tr.heaps {
		if h != p.h {
			if tr.wrong[i].Add(1); h.Free(p.b) {
				tr.t.Error("another heap took the block")
			}
			continue
		}
		for _, b := range ranges {
			if tr.wrong[i].Add(1); h.Free(b) {
				tr.t.Errorf("free of %d bytes accepted, of which %d are not live", len(b), len(b)-len(p.b))
			}
		}
	}
}
