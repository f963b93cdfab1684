package heap

import (
	"errors"
	"testing"
)

// meltStrip melts the strip that b is cut from, and says whether there is one.
func meltStrip(h *Heap, b []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	sp := stripOf(h, b)
	if sp != nil {
		h.meltSpan(sp)
	}
	return sp != nil
}

// TestStripParts: a head or a middle of a block is free for nobody until its last
// byte is; when the strip melts meanwhile, what is live are blocks of the chunk.
func TestStripParts(t *testing.T) {
	for _, cut := range [][2]int{{0, 100}, {100, 200}, {64, 65}, {63, 129}, {0, 969}} {
		for _, melts := range []bool{false, true} {
			h, _ := stripped(t)
			var all []stamped
			for i := range 100 {
				all = append(all, stamped{shortRead(t, h, 900+i), uint64(i) * hashFactor})
				all[i].fill()
			}
			for i := 0; i < len(all); i += 3 {
				mustFree(t, h, all[i].b)
			}
			b := all[70].b
			sp := stripOf(h, b)
			if sp == nil || !h.Free(b[cut[0]:cut[1]]) || h.Free(b[cut[0]:cut[1]]) {
				t.Fatal("no strip, or refused, or freed twice")
			}
			_, _, r := sp.block(uint32(addressOf(b)-uintptr(sp.base)), true)
			if got, want := int(r&leftMask), len(b)-(cut[1]-cut[0]); r&stateMask != stateParts || got != want {
				t.Errorf("%d bytes left, want %d", got, want)
			}
			mustVerify(t, h)
			if melts {
				meltStrip(h, b)
				mustVerify(t, h)
			}
			for i, s := range all {
				switch {
				case i%3 == 0:
					if h.Free(s.b) {
						t.Fatal("freed twice")
					}
				case i == 70:
					if h.Free(b) || h.Free(b[cut[0]:]) || h.Free(b[:cut[1]]) || h.Free(beyond(b[cut[1]:], 1)) {
						t.Fatal("freed more than is live")
					}
					if cut[0] > 0 {
						mustFree(t, h, b[:cut[0]])
					}
					mustFree(t, h, b[cut[1]:])
					if h.Free(b[cut[1]:]) {
						t.Fatal("freed twice")
					}
				default:
					s.check(t)
					if h.Free(beyond(s.b, 1)) {
						t.Fatal("freed more than is live")
					}
					mustFree(t, h, s.b)
				}
			}
			mustVerify(t, h)
			if live := h.Stats().Live; live != 0 {
				t.Errorf("%d bytes live", live)
			}
		}
	}
}

// TestPartIntoTheNextBlock: a part that runs from a block, of which nothing is free
// behind its end, into the next one is refused, and named for what it is.
func TestPartIntoTheNextBlock(t *testing.T) {
	const size = 640
	for _, strip := range []bool{true, false} {
		h, _ := stripped(t)
		var b, next []byte
		for len(b) == 0 || &beyond(b, 1)[size] != &next[0] {
			if b = next; strip {
				next = shortRead(t, h, size)
			} else {
				next = mustMalloc(t, h, size)
			}
		}
		mustFree(t, h, b[:100])
		var refused error
		h.cfg.Misuse = func(err error) { refused = err }
		if h.Free(beyond(b[size-100:], 100)) || !errors.Is(refused, ErrNotOwned) {
			t.Errorf("in a strip: %v: freed, or %v", strip, refused)
		}
		mustFree(t, h, b[100:], next)
		mustVerify(t, h)
	}
}

// TestFreeThatSawTheStrip: who found the strip before it melted, and comes to
// free a block of it after, has to look again.
func TestFreeThatSawTheStrip(t *testing.T) {
	h, _ := stripped(t)
	b, c := shortRead(t, h, 1000), shortRead(t, h, 1000)
	sp := stripOf(h, c)
	if sp == nil || stripOf(h, b) != sp || !h.Free(b[:100]) {
		t.Fatal("not in one strip, or refused")
	}
	owner := sp.owner.Load()
	meltStrip(h, b)
	sp.owner.Store(owner) // as it was for who looked before
	for _, part := range [][]byte{c[500:], c, b[200:], b[100:], b[:100]} {
		if want := &part[0] == &c[500] || &part[0] == &b[200]; h.freeOther(sp, part) != want {
			t.Errorf("a free of %d bytes by way of the melted strip: %v", len(part), !want)
		}
	}
	mustFree(t, h, c[:500], b[100:200])
	mustVerify(t, h)
}

// TestBeheadedClassIsCut: a class of which heads are freed stays in strips.
func TestBeheadedClassIsCut(t *testing.T) {
	h, _ := stripped(t)
	for i := range 3 * cutWait {
		b := mustMalloc(t, h, readSize)
		if stripOf(h, b) == nil {
			t.Fatalf("block %d is not cut from a strip", i)
		}
		mustFree(t, h, b[:1000], b[1000:])
	}
	mustVerify(t, h)
}

// TestStripsOfPartsMelt: strips in which every block lives, but few bytes of each,
// are not lost.
func TestStripsOfPartsMelt(t *testing.T) {
	const size = 30_000
	h, _ := stripped(t)
	var kept []stamped
	cut := 0
	for cut < 300 {
		b := mustMalloc(t, h, size)
		if stripOf(h, b) != nil {
			cut++
		}
		s := stamped{b[size-200 : size-100], uint64(cut) * hashFactor}
		s.fill()
		kept = append(kept, s)
		mustFree(t, h, b[size-100:], b[:size-200])
	}
	before := h.Stats().Backing
	for range 280 {
		s := stamped{mustMalloc(t, h, readSize), uint64(cut)}
		s.fill()
		kept = append(kept, s)
	}
	if after := h.Stats().Backing; after > before+2<<20 {
		t.Errorf("%d bytes mapped for 280 blocks of %d beside %d of which 100 bytes are left", after-before, readSize, cut)
	}
	mustVerify(t, h)
	for _, s := range kept {
		s.check(t)
		mustFree(t, h, s.b)
	}
	mustVerify(t, h)
}
