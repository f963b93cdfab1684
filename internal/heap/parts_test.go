package heap

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// TestPartsLeaveNothing: what is known of a block that is freed in parts is there
// while it is needed, and no longer.
func TestPartsLeaveNothing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	h := newHeap(1 << 16)
	for c := range class(2000) + 1 {
		for range 2048 { // until it has slots
			h.Free(mustMalloc(t, h, int(slotSize[c])))
		}
	}
	for round := range 200 {
		b := mustMalloc(t, h, 3+rng.IntN(2000))
		cut := 1 + rng.IntN(len(b)-2)
		mustFree(t, h, b[:cut])
		sp := h.spanAt(addressOf(b))
		_, _, r := sp.block(uint32(addressOf(b)-uintptr(sp.base)), true)
		if got := int(r & leftMask); r&stateMask != stateParts || got != len(b)-cut {
			t.Fatalf("seed %d, round %d: %d bytes left after a head of %d was freed from %d", seed, round, got, cut, len(b))
		}
		middle := cut + rng.IntN(len(b)-cut)
		mustFree(t, h, b[middle:])
		if middle > cut {
			mustFree(t, h, b[cut:middle])
		}
		if h.Free(b[:1]) {
			t.Fatalf("seed %d, round %d: a byte is left after everything was freed", seed, round)
		}
		mustVerify(t, h)
	}
}

// TestRestIsAligned: what is left of a block behind its freed head is freed
// like any block, but does not serve the next request of its size: it may start
// anywhere.
func TestRestIsAligned(t *testing.T) {
	for head := 1; head < 200; head += 7 {
		h := newHeap(1 << 20)
		b := mustMalloc(t, h, 5000+head)
		if !h.Free(b[:head]) || !h.Free(b[head:]) {
			t.Fatal("refused")
		}
		if at := uintptr(unsafe.Pointer(&mustMalloc(t, h, 5000)[0])); at%slotAlign != 0 {
			t.Fatalf("after a head of %d bytes was freed the next block is at %#x", head, at)
		}
		if err := h.Verify(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPartsAtOnce: two goroutines free the same parts of a block, each in an order
// of its own. Each part is freed once.
func TestPartsAtOnce(t *testing.T) {
	const seed, parts, step = 3, 8, 150
	trials := 4000
	if testing.Short() {
		trials = 400
	}
	for _, n := range []int{parts * step, readSize} {
		h, _ := stripped(t)
		h.cfg.Misuse = nil
		runtime.GOMAXPROCS(2)
		type part struct {
			b     []byte
			freed atomic.Int64
		}
		work := make(chan *[parts]part)
		var both, helper sync.WaitGroup
		freeAll := func(rng *rand.Rand, all *[parts]part) {
			for _, i := range rng.Perm(parts) {
				if h.Free(all[i].b) {
					all[i].freed.Add(1)
				}
			}
			both.Done()
		}
		helper.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 1))
			for all := range work {
				freeAll(rng, all)
			}
		})
		rng := rand.New(rand.NewPCG(seed, 0))
		times := int64(0)
		for range trials {
			b := shortRead(t, h, parts*step)
			if n < readSize {
				mustFree(t, h, b)
				b = mustMalloc(t, h, n)
			}
			all := new([parts]part)
			for i := range all {
				all[i].b = b[i*step : (i+1)*step]
			}
			both.Add(2)
			work <- all
			freeAll(rng, all)
			both.Wait()
			for i := range all {
				if all[i].freed.Load() < 1 {
					t.Fatalf("seed %d: part %d was not freed", seed, i)
				}
				times += all[i].freed.Load() - 1
			}
		}
		close(work)
		helper.Wait()
		if err := h.Trim(); err != nil { // takes in what is queued
			t.Fatal(err)
		}
		mustVerify(t, h)
		if s := h.Stats(); int64(s.Raced) < times {
			t.Errorf("seed %d: %d parts were freed twice, %d counted", seed, times, s.Raced)
		}
	}
}

// TestTrimBesidesParts: a goroutine trims blocks while another one frees parts of
// them from the front. Both are right.
func TestTrimBesidesParts(t *testing.T) {
	for _, n := range []int{1000, readSize} {
		h, _ := stripped(t)
		runtime.GOMAXPROCS(2)
		var blocks [500][]byte
		for more := rounds(300); more(); {
			for i := range blocks {
				blocks[i] = mustMalloc(t, h, n)
			}
			var at [2]atomic.Int64 // how far both are
			await := func(me, i int) {
				at[me].Store(int64(i) + 1)
				for range 2000 { // the other may not be running
					if at[1-me].Load() > int64(i) {
						break
					}
				}
			}
			var helper sync.WaitGroup
			helper.Go(func() {
				for i, b := range blocks {
					await(0, i)
					if !h.Free(b[:300]) || !h.Free(b[300:400]) {
						t.Error("refused")
					}
				}
			})
			for at[0].Load() == 0 {
				runtime.Gosched()
			}
			for i, b := range blocks {
				await(1, i)
				mustFree(t, h, b[900:], b[700:900], b[500:700], b[400:500])
			}
			helper.Wait()
		}
		mustVerify(t, h)
		if s := h.Stats(); s.Live != 0 || s.Raced != 0 || s.Refused != 0 {
			t.Errorf("%+v", s)
		}
	}
}
