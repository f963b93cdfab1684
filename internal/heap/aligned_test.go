package heap

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

// TestAlignedBlocksTakeSlots: where slots lie as the block is to lie, it takes one, and it
// lies so whether it does or not, also as a guest, in a strip and beside unaligned ones.
func TestAlignedBlocksTakeSlots(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	h := newHeap(1 << 20)
	h.ticking.Store(true)
	rng := rand.New(rand.NewPCG(64, 4096))
	var live [][]byte
	slots, of := 0, 0
	for i := range 60_000 {
		n, align := 1+rng.IntN(1<<rng.IntN(17)), 16<<rng.IntN(9)
		if rng.IntN(4) == 0 {
			align = 1
		}
		b, err := h.MallocAligned(n, align)
		if err != nil || len(b) != n || cap(b) != n {
			t.Fatalf("%d bytes at a multiple of %d: %d bytes, %v", n, align, len(b), err)
		}
		if addressOf(b)&uintptr(align-1) != 0 {
			t.Fatalf("%d bytes at a multiple of %d lie at %#x", n, align, addressOf(b))
		}
		if align == chunkUnit && n <= 2048 && i > 30_000 {
			of++
			if h.spanAt(addressOf(b)) != nil {
				slots++
			}
		}
		if cut := 1 + rng.IntN(n); rng.IntN(8) == 0 {
			mustFree(t, h, b[cut:])
			b = b[:cut:cut]
		}
		if live = append(live, b); len(live) > 300 {
			j := rng.IntN(len(live))
			mustFree(t, h, live[j])
			live[j] = live[len(live)-1]
			live = live[:len(live)-1]
		}
		if i%10_000 == 0 {
			mustVerify(t, h)
		}
	}
	if slots < of*9/10 {
		t.Errorf("%d of %d small blocks at multiples of %d took slots", slots, of, chunkUnit)
	}
	mustFree(t, h, live...)
	mustVerify(t, h)
}

// TestAlignedClasses: the class has room, its slots and its host's lie right, and they are
// not much larger than what the block would take by itself.
func TestAlignedClasses(t *testing.T) {
	for align := 32; align <= pageSize; align *= 2 {
		none := 0
		for n := 1; n <= maxSlot; n++ {
			c := alignedClass(n, align)
			if c < 0 {
				none++
				continue
			}
			size, host := int(slotSize[c]), int(slotSize[hostOf(c)])
			if size < n || size%align != 0 || host%align != 0 || size > max(n+chunkUnit-1, n+n/4) {
				t.Fatalf("%d bytes at a multiple of %d: slots of %d, the host's of %d", n, align, size, host)
			}
		}
		if align <= chunkUnit && none > 1000 || none == maxSlot {
			t.Errorf("multiples of %d: %d sizes of %d have no slots", align, none, maxSlot)
		}
	}
}
