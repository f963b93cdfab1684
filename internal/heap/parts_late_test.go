package heap

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// rival frees what it is given a part of at the moment at which its owner frees it whole.
type rival struct {
	block      atomic.Pointer[[]byte]
	turn, done atomic.Int64
	freed      bool // whether its last free was accepted; read after done
	ended      chan struct{}
}

func newRival(t *testing.T, h *Heap, from, to int) *rival {
	r := &rival{ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		for i := int64(1); ; i++ {
			wait(&r.turn, i)
			b := r.block.Load()
			if b == nil {
				return
			}
			r.freed = h.Free((*b)[from:to])
			r.done.Store(i)
		}
	}()
	t.Cleanup(func() {
		r.block.Store(nil)
		r.turn.Add(1)
		<-r.ended
	})
	return r
}

func wait(at *atomic.Int64, i int64) {
	for k := 0; at.Load() < i; k++ {
		if k > 100_000 {
			runtime.Gosched()
		}
	}
}

// TestPartMeetsTheNextBlock: the owner frees a block while another goroutine frees a part
// of it, takes the same slot again, and frees that in parts. Whichever of the first two
// counts, a free that was refused changes nothing of the next block, and what is counted is
// what is there.
func TestPartMeetsTheNextBlock(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("needs two processors")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))))
	for _, size := range []int{1000, 5000} { // a slot, a block of a strip
		h := newHeap(1 << 20)
		for range 2000 {
			mustFree(t, h, mustMalloc(t, h, size))
		}
		for range 10 {
			b := mustMalloc(t, h, size)
			mustFree(t, h, b[3:5], b[:3], b[5:])
		}
		r := newRival(t, h, 100, 200)
		end, met := time.Now().Add(time.Second/2), 0
		for i := int64(1); time.Now().Before(end) && !t.Failed(); i++ {
			b := mustMalloc(t, h, size)
			r.block.Store(&b)
			r.turn.Store(i)
			for range i % 97 {
				r.turn.Load()
			}
			if !h.Free(b) {
				wait(&r.done, i)
				mustFree(t, h, b[:100], b[200:])
				continue
			}
			c := mustMalloc(t, h, size)
			one := h.Free(c[5:6])
			wait(&r.done, i)
			if r.freed { // of b, or of c, which nobody can tell apart
				h.Free(c[5:6])
				h.Free(c[:5])
				h.Free(c[6:100])
				h.Free(c[200:])
				h.Free(c[100:200])
			} else if two, three := h.Free(c[:5]), h.Free(c[6:]); !one || !two || !three {
				t.Errorf("turn %d, %d bytes: the other free was refused, and of the next block's parts one, too: %v %v %v", i, size, one, two, three)
			} else {
				met++
			}
			if r.freed || i%64 == 0 {
				mustVerify(t, h)
			}
		}
		mustVerify(t, h)
		t.Logf("%d bytes: %d turns in which the whole free came first", size, met)
	}
}

// TestPartWaitsForWhoWritesBits: as long as somebody writes bits of a span nobody opens a
// block there, and nobody but the owner frees a part.
func TestPartWaitsForWhoWritesBits(t *testing.T) {
	const n = 1024
	for kind, test := range kindsOf(n) {
		s, sp := newShard(), test.sp
		sp.place(&chunk{mem: make([]byte, sp.bytes())}, 0)
		p := &parts{gone: make([]uint64, len(sp.recs)*int(granules(n))), stride: granules(min(sp.size, n))}
		sp.parts.Store(p)
		if sp.class != stripClass {
			sp.carve()
		}
		test.cut(sp, n)
		free := func(from, to uint32, local bool, want freeEnd) {
			t.Helper()
			before := slices.Clone(sp.recs)
			if end := s.free(sp, sp.base, from, to-from, local); end != want {
				t.Errorf("%s: the free of [%d,%d), local %v, ended as %d, want %d", kind, from, to, local, end, want)
			} else if end == freeAgain && !slices.Equal(sp.recs, before) {
				t.Errorf("%s: the record of a block of which nothing was freed changed", kind)
			}
		}
		p.writer = 1
		free(0, 10, true, freeAgain)
		free(0, 10, false, freeAgain)
		p.writer = 0
		free(0, 10, true, freedPart)
		p.writer = 1
		free(10, 20, true, freedPart)
		free(20, 30, false, freeAgain)
		p.writer = 0
		free(20, 30, false, freedPart)
		if p.writer != 0 {
			t.Errorf("%s: the bits are still claimed", kind)
		}
	}
}
