package heap

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestStripOfAnotherP: a block whose strip another P owns is trimmed at once, and
// what is freed of the strip is free when its owner takes it in.
func TestStripOfAnotherP(t *testing.T) {
	h, _ := stripped(t)
	b, c := shortRead(t, h, 1000), shortRead(t, h, readSize)
	sp, other := stripOf(h, c), newShard()
	if sp == nil || stripOf(h, b) != sp {
		t.Fatal("not in one strip")
	}
	sp.owner.Load().unlink(sp)
	sp.owner.Store(other)
	other.setCur(stripClass, sp)
	mustFree(t, h, c[500:])
	if r := sp.recs[sp.last]; r != stateCut|500 {
		t.Errorf("the record of a block of 500 bytes is %#x", r)
	}
	if h.Free(c[400:501]) || h.Free(c[500:]) {
		t.Error("freed more than is live")
	}
	mustFree(t, h, c[:500], b)
	other.drain()
	if sp.used() != 0 || sp.carved != 0 {
		t.Errorf("%v after all was freed", sp)
	}
}

// TestStripFreesAtOnce: of two goroutines that free the same block at the same
// moment one is refused, or the race is counted; no memory is issued twice.
func TestStripFreesAtOnce(t *testing.T) {
	h, _ := stripped(t)
	runtime.GOMAXPROCS(2)
	h.cfg.Misuse = nil
	trials := 20_000
	if testing.Short() {
		trials = 2_000
	}
	var block atomic.Pointer[[]byte]
	var other atomic.Int64 // 0 waiting, 1 refused, 2 freed
	var stop atomic.Bool
	var helper sync.WaitGroup
	helper.Go(func() {
		for !stop.Load() {
			b := block.Swap(nil)
			switch {
			case b == nil:
				runtime.Gosched()
			case h.Free(*b):
				other.Store(2)
			default:
				other.Store(1)
			}
		}
	})
	both := uint64(0)
	var ring [20][]byte
	for i := range trials {
		b := shortRead(t, h, 1000)
		other.Store(0)
		block.Store(&b)
		if i%2 == 0 {
			for block.Load() != nil { // until the helper is at it
				runtime.Gosched()
			}
		}
		mine := h.Free(b)
		for other.Load() == 0 {
			runtime.Gosched()
		}
		switch {
		case mine && other.Load() == 2:
			both++
		case !mine && other.Load() == 1:
			t.Fatal("both refused")
		}
		// What is live meanwhile stays apart.
		k := i % len(ring)
		if ring[k] != nil {
			if ring[k][0] != byte(k) || ring[k][499] != byte(k) {
				t.Fatal("memory issued twice")
			}
			mustFree(t, h, ring[k])
		}
		ring[k] = shortRead(t, h, 500)
		ring[k][0], ring[k][499] = byte(k), byte(k)
	}
	stop.Store(true)
	helper.Wait()
	for _, b := range ring {
		mustFree(t, h, b)
	}
	mustVerify(t, h)
	if err := h.Trim(); err != nil { // takes in what is queued
		t.Fatal(err)
	}
	mustVerify(t, h)
	if s := h.Stats(); s.Raced != both {
		t.Errorf("%d were freed twice, %d counted", both, s.Raced)
	}
}
