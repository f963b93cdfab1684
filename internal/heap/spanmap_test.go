package heap

import (
	"testing"
	"unsafe"
)

// TestGuessShared: spans that share a guess, far from each other, are all found.
func TestGuessShared(t *testing.T) {
	// Two of them are a multiple of what the guesses reach apart.
	far := []uintptr{1 << regionShift, 2 << regionShift, 1<<regionShift + 1<<30, 5 << regionShift}
	spans, m := make([]*span, len(far)), newSpanMap(1) // there is room for two
	for i, addr := range far {
		spans[i] = newSpan(i)
		m = m.with(addr)
		m.put(addr, spans[i])
	}
	if m.guessed(far[0]) != m.guessed(far[2]) {
		t.Fatal("no guess is shared")
	}
	for i, addr := range far {
		if got := m.place(addr + 100).Load(); got != spans[i] {
			t.Errorf("%#x: found %v", addr, got)
		}
	}
	if g := m.guess(far[0]); g != spans[2] {
		t.Errorf("the guess is %v, not the span that came last", g)
	}
	m.remove(far[0], spans[0])
	if g := m.guess(far[0]); g != spans[2] {
		t.Errorf("what was removed took the guess along: %v", g)
	}
	// A larger map guesses anew, from what is left.
	larger := m
	for i := uintptr(100); larger == m; i++ {
		larger = m.with(i << regionShift)
	}
	if g := larger.guess(far[0]); g != spans[2] {
		t.Errorf("the guess of a larger map is %v", g)
	}
	m.remove(far[2], spans[2])
	if g := m.guess(far[0]); g != exhausted {
		t.Errorf("after the last was removed the guess is %v", g)
	}
}

// TestGuessWrong: a wrong guess changes nothing but the way to the span.
func TestGuessWrong(t *testing.T) {
	h := newHeap(1024)
	var live [][]byte
	for i := range 4000 {
		live = append(live, mustMalloc(t, h, 16+i%2000))
	}
	m := h.spans.Load()
	at := uintptr(unsafe.Pointer(&live[len(live)-1][0]))
	right, wrong := m.guess(at), (*span)(nil)
	for i := range m.guesses {
		if sp := m.guesses[i].Load(); sp != exhausted && sp != right {
			wrong = sp
		}
	}
	for i := range m.guesses {
		if m.guesses[i].Load() != exhausted {
			m.guesses[i].Store(wrong)
		}
	}
	for _, b := range live {
		if !h.Free(b) {
			t.Fatalf("free of %d bytes refused", len(b))
		}
		if h.Free(b) {
			t.Fatalf("free of %d bytes believed twice", len(b))
		}
	}
	for i := range m.guesses {
		m.guesses[i].Store(exhausted)
	}
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
}

// TestMapsGrowSeldom: entering a region costs the same whatever there is.
func TestMapsGrowSeldom(t *testing.T) {
	m, maps := noSpans, 0
	sp := newSpan(0)
	for i := range uintptr(200) {
		was := m
		if m = m.with(i << regionShift); m != was {
			maps++
		}
		m.put(i<<regionShift, sp)
	}
	if maps > 8 {
		t.Errorf("%d maps for 200 regions", maps)
	}
	for i := range uintptr(201) {
		place := m.place(i << regionShift)
		if i < 200 && (place == nil || place.Load() != sp) || i == 200 && place != nil {
			t.Errorf("region %d: %v", i, place)
		}
	}
	if noSpans.taken != 0 {
		t.Error("a region was entered into the map of heaps without spans")
	}
}
