package heap

import (
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

// TestGuessShared: spans that share a guess, far from each other, are all found.
func TestGuessShared(t *testing.T) {
	// Two of them are a multiple of what the guesses reach apart.
	far := []uintptr{1 << regionShift, 2 << regionShift, 1<<regionShift + 1<<30, 5 << regionShift}
	spans, m := make([]*span, len(far)), newSpanMap(1) // there is room for two
	var g guesses
	g.use(noGuess)
	for i, addr := range far {
		spans[i] = newSpan(i, spanBytes[i])
		m = m.with(addr)
		g.fit(m)
		m.place(addr).Store(spans[i])
		g.put(addr, spans[i])
	}
	if g.of(far[0]) != g.of(far[2]) {
		t.Fatal("no guess is shared")
	}
	for i, addr := range far {
		if got := m.place(addr + 100).Load(); got != spans[i] {
			t.Errorf("%#x: found %v", addr, got)
		}
	}
	guessed := func(when string, want *span) {
		t.Helper()
		if got := g.of(far[0] + 100).Load(); got != want {
			t.Errorf("%s: the guess is %v, not %v", when, got, want)
		}
	}
	guessed("the span that came last", spans[2])
	g.remove(far[0], spans[0])
	guessed("what was removed is another", spans[2])

	// A larger table has the guesses of the map; a smaller map needs none.
	was := len(g.entries())
	m.place(far[0]).Store(nil)
	for i := uintptr(100); len(g.entries()) == was; i++ {
		m = m.with(i << regionShift)
		g.fit(m)
		m.place(i<<regionShift + 1<<spanShift).Store(spans[3])
	}
	guessed("larger", spans[2])
	was = len(g.entries())
	g.fit(noSpans)
	if len(g.entries()) != was {
		t.Errorf("the table shrank from %d to %d entries", was, len(g.entries()))
	}
	guessed("not smaller", spans[2])
	g.remove(far[2], spans[2])
	guessed("the last was removed", exhausted)
	g.put(far[0], spans[0])
	g.forget()
	guessed("forgotten", exhausted)
}

// TestGuessesPart: spans that share a guess get one each as long as that takes little.
func TestGuessesPart(t *testing.T) {
	for _, c := range []struct {
		apart   uintptr // bytes from one span to the other
		mapped  int
		parted  bool
		entries int
	}{
		{32 << 20, 1 << 20, true, 4096},
		{64 << 20, 1 << 20, true, 8192},
		{128 << 20, 1 << 20, false, 8192}, // 64 KiB
		{128 << 20, 31 << 20, false, 8192},
		{128 << 20, 32 << 20, true, 16384},
		{1 << 31, 64 << 20, false, 32768},
	} {
		m := newSpanMap(1)
		var g guesses
		g.use(noGuess)
		addrs := []uintptr{5 << regionShift, 5<<regionShift + c.apart}
		var spans []*span
		shared := false
		for i, addr := range addrs {
			spans = append(spans, newSpan(i, spanBytes[i]))
			m = m.with(addr)
			g.fit(m)
			m.place(addr).Store(spans[i])
			shared = g.put(addr, spans[i])
		}
		if !shared {
			t.Fatalf("%d apart: no guess is shared", c.apart)
		}
		g.part(m, c.mapped)
		if n := len(g.entries()); n != c.entries {
			t.Errorf("%d apart, %d mapped: %d entries, not %d", c.apart, c.mapped, n, c.entries)
		}
		if last := g.of(addrs[1]).Load(); last != spans[1] {
			t.Errorf("%d apart: the guess is %v, not %v", c.apart, last, spans[1])
		}
		if parted := g.of(addrs[0]).Load() == spans[0]; parted != c.parted {
			t.Errorf("%d apart, %d mapped: parted %v", c.apart, c.mapped, parted)
		}
	}
}

// apartSource maps at multiples of apart from each other.
type apartSource struct {
	backing.Source
	mem    []byte
	apart  int
	mapped int
}

func (s *apartSource) Map(size int) ([]byte, error) {
	s.mapped++
	return s.mem[(s.mapped-1)*s.apart:][:size], nil
}

func (s *apartSource) Unmap([]byte) error { return nil }

// TestGuessesApart: where chunks lie so that all their spans would share guesses, each
// has its own.
func TestGuessesApart(t *testing.T) {
	const apart, chunks = 32 << 20, 2
	mem, err := backing.Mmap().Map(apart * chunks)
	if err != nil {
		t.Skip("no address space: ", err)
	}
	defer func() {
		if err := backing.Mmap().Unmap(mem); err != nil {
			t.Error(err)
		}
	}()
	h, from := newHeap(minChunk), &apartSource{Source: backing.Heap(), mem: mem, apart: apart}
	h.cfg.Source = from
	for more := 2000; more > 0; {
		mustMalloc(t, h, 128)
		if from.mapped == chunks {
			more--
		}
	}
	m, spans := h.spans.Load(), 0
	for i := range m.regions {
		for j := 0; m.regions[i].places.Load() != nil && j < regionSpans; j++ {
			if sp := m.regions[i].places.Load()[j].Load(); sp != nil {
				spans++
				if got := h.guess.of(m.regions[i].number<<regionShift + uintptr(j)<<spanShift).Load(); got != sp {
					t.Errorf("place %d of region %d has %v and the guess is %v", j, i, sp, got)
				}
			}
		}
	}
	if spans < 8 {
		t.Errorf("%d places have spans", spans)
	}
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
}

// TestGuessWrong: a wrong guess changes nothing but the way to the span.
func TestGuessWrong(t *testing.T) {
	h := newHeap(1024)
	var live [][]byte
	for i := range 12000 {
		live = append(live, mustMalloc(t, h, 16+i%10*200))
	}
	guesses := h.guess.entries()
	at := uintptr(unsafe.Pointer(&live[len(live)-1][0]))
	right, wrong := h.guess.of(at).Load(), (*span)(nil)
	for i := range guesses {
		if sp := guesses[i].Load(); sp != exhausted && sp != right {
			wrong = sp
		}
	}
	if right == exhausted || wrong == nil {
		t.Fatal("no guess for the last block, or no other")
	}
	for i := range guesses {
		if guesses[i].Load() != exhausted {
			guesses[i].Store(wrong)
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
	for i := range guesses {
		guesses[i].Store(exhausted)
	}
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
}

// TestMapsGrowSeldom: entering a region costs the same whatever there is.
func TestMapsGrowSeldom(t *testing.T) {
	m, maps := noSpans, 0
	sp := newSpan(0, spanBytes[0])
	for i := range uintptr(200) {
		was := m
		if m = m.with(i << regionShift); m != was {
			maps++
		}
		m.place(i << regionShift).Store(sp)
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
