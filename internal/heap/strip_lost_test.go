package heap

import "testing"

// TestLostEndsEndCutting: where others are cut behind a block before it is
// trimmed its end is lost, and the class is placed one by one after some of those.
func TestLostEndsEndCutting(t *testing.T) {
	h, _ := stripped(t)
	const waiting = 8
	var held [waiting][]byte
	lost, place := 0, 0
	for i := range 400 {
		old := held[i%waiting]
		b := mustMalloc(t, h, readSize)
		if old != nil {
			if stripOf(h, old) != nil {
				lost++
			}
			mustFree(t, h, old[100:])
			mustFree(t, h, old[:100])
		}
		if held[i%waiting] = b; stripOf(h, b) == nil {
			place++
		}
	}
	if limit := 2 * maxLost / lostLoss; lost > limit || place < 300 {
		t.Errorf("%d ends lost, at most %d wanted; %d blocks placed by themselves", lost, limit, place)
	}
	if w := h.wait[class(readSize)]; w == 0 {
		t.Error("the class does not wait")
	}
	for _, b := range held {
		mustFree(t, h, b)
	}
	mustVerify(t, h)
}

// TestFewLostEnds: an end that is lost now and then does not end cutting.
func TestFewLostEnds(t *testing.T) {
	h, _ := stripped(t)
	for i := range 3000 {
		if i%20 > 0 {
			mustFree(t, h, shortRead(t, h, 1000))
			continue
		}
		a := mustMalloc(t, h, readSize)
		b := shortRead(t, h, 1000)
		if !h.Free(a[1000:]) {
			t.Fatal("refused")
		}
		mustFree(t, h, a[:1000], b)
	}
	b := shortRead(t, h, 1000)
	if stripOf(h, b) == nil {
		t.Error("no strip any more")
	}
	mustFree(t, h, b)
	mustVerify(t, h)
}
