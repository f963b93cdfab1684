package heap

import "sync/atomic"

// spanMap finds the span that takes an address. A first guess is by the low bits
// of the place's number alone; who asks checks that the span is the right one.
// What it does not find is found in two steps: the region of the address space,
// by open addressing, and the place in it. Spans are aligned to spanUnit, so no
// two take the same place. A region is entered while others look; when a quarter of
// the entries is taken a new map with more room takes its place.
type spanMap struct {
	mask    uintptr // number of entries of regions less one
	taken   int     // of them
	regions []region
	guesses []atomic.Pointer[span] // a power of two, twice as many as places, at least
}

// region is an entry: free as long as there are no places.
type region struct {
	number uintptr // address >> regionShift; of use where there are places
	places atomic.Pointer[places]
}

type places [regionSpans]atomic.Pointer[span]

const (
	regionShift = 24 // 16 MiB
	regionSpans = 1 << (regionShift - spanShift)
)

// noSpans is the map of a heap without spans.
var noSpans = newSpanMap(0)

// newSpanMap returns a map without regions, with room for twice n.
func newSpanMap(n int) *spanMap {
	size := 2
	for size < 8*n {
		size *= 2
	}
	m := &spanMap{uintptr(size - 1), 0, make([]region, size), make([]atomic.Pointer[span], size/2*regionSpans)}
	for i := range m.guesses {
		m.guesses[i].Store(exhausted)
	}
	return m
}

// guessed returns where the guess for addr is.
func (m *spanMap) guessed(addr uintptr) *atomic.Pointer[span] {
	return &m.guesses[addr>>spanShift&uintptr(len(m.guesses)-1)]
}

// guess returns a span that may take addr; exhausted if it knows none.
func (m *spanMap) guess(addr uintptr) *span { return m.guessed(addr).Load() }

// put has sp take the place of addr, whose region is known. Under mu.
func (m *spanMap) put(addr uintptr, sp *span) {
	m.place(addr).Store(sp)
	m.guessed(addr).Store(sp)
}

// remove has nobody take the place of addr, which sp took. Under mu.
func (m *spanMap) remove(addr uintptr, sp *span) {
	m.place(addr).Store(nil)
	if g := m.guessed(addr); g.Load() == sp {
		g.Store(exhausted)
	}
}

// find returns the entry of the region, or the free one where it belongs.
func (m *spanMap) find(number uintptr) *region {
	// Regions that follow each other get entries that do, without collision.
	for i := number; ; i++ {
		if r := &m.regions[i&m.mask]; r.places.Load() == nil || r.number == number {
			return r
		}
	}
}

// place returns the place of addr, nil if its region is unknown.
func (m *spanMap) place(addr uintptr) *atomic.Pointer[span] {
	if p := m.find(addr >> regionShift).places.Load(); p != nil {
		return &p[addr>>spanShift%regionSpans]
	}
	return nil
}

// with returns a map that also has the region of addr: m, or a new one without the
// regions that hold no span any more. Under mu; amortized O(1).
func (m *spanMap) with(addr uintptr) *spanMap {
	number := addr >> regionShift
	if m.taken < len(m.regions)/4 {
		m.enter(number, new(places))
		return m
	}
	var all []*region
	for i := range m.regions {
		if r := &m.regions[i]; r.used() {
			all = append(all, r)
		}
	}
	fresh := newSpanMap(len(all) + 1)
	for _, r := range all {
		fresh.enter(r.number, r.places.Load())
	}
	fresh.enter(number, new(places))
	return fresh
}

// enter gives the region its places. Others may be looking.
func (m *spanMap) enter(number uintptr, p *places) {
	for i := range p {
		if sp := p[i].Load(); sp != nil {
			m.guessed(number<<regionShift + uintptr(i)<<spanShift).Store(sp)
		}
	}
	r := m.find(number)
	r.number = number
	r.places.Store(p)
	m.taken++
}

func (r *region) used() bool {
	if p := r.places.Load(); p != nil {
		for i := range p {
			if p[i].Load() != nil {
				return true
			}
		}
	}
	return false
}
