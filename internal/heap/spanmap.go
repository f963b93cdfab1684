package heap

// spanMap finds the span that takes an address. A first guess is by the low bits
// of the place's number alone; who asks checks that the span is the right one.
// What it does not find is found in two steps: the region of the address space,
// by open addressing, and the place in it. Spans are aligned to spanUnit, so no
// two take the same place. A map is immutable but for the places and guesses; a
// new region makes a new map.
type spanMap struct {
	mask    uintptr // number of entries of regions less one
	regions []region
	guesses []ref[span] // a power of two, twice as many as places
}

type region struct {
	number uintptr // address >> regionShift
	places *[regionSpans]ref[span]
}

const (
	regionShift = 24 // 16 MiB
	regionSpans = 1 << (regionShift - spanShift)
)

// noSpans is the map of a heap without spans. No region has the number of its
// entries: it would lie at the end of the address space.
var noSpans = newSpanMap(nil)

func newSpanMap(all []region) *spanMap {
	size := 2
	for size < 4*len(all) {
		size *= 2
	}
	m := &spanMap{uintptr(size - 1), make([]region, size), make([]ref[span], size/2*regionSpans)}
	for i := range m.guesses {
		m.guesses[i].Store(exhausted)
	}
	for i := range m.regions {
		m.regions[i].number = ^uintptr(0)
	}
	for _, r := range all {
		*m.find(r.number) = r
		for i := range r.places {
			if sp := r.places[i].Load(); sp != nil {
				m.guessed(r.number<<regionShift + uintptr(i)<<spanShift).Store(sp)
			}
		}
	}
	return m
}

// guessed returns where the guess for addr is.
//
//go:nosplit
func (m *spanMap) guessed(addr uintptr) *ref[span] {
	return &m.guesses[addr>>spanShift&uintptr(len(m.guesses)-1)]
}

// guess returns a span that may take addr; exhausted if it knows none.
//
//go:nosplit
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
		if r := &m.regions[i&m.mask]; r.number == number || r.places == nil {
			return r
		}
	}
}

// place returns the place of addr, nil if its region is unknown.
func (m *spanMap) place(addr uintptr) *ref[span] {
	r := m.find(addr >> regionShift)
	if r.places == nil {
		return nil
	}
	return &r.places[addr>>spanShift%regionSpans]
}

// with returns a map that also has the region of addr, without the regions
// that hold no span any more.
func (m *spanMap) with(addr uintptr) *spanMap {
	all := []region{{addr >> regionShift, new([regionSpans]ref[span])}}
	for _, r := range m.regions {
		if r.used() {
			all = append(all, r)
		}
	}
	return newSpanMap(all)
}

func (r *region) used() bool {
	if r.places != nil {
		for i := range r.places {
			if r.places[i].Load() != nil {
				return true
			}
		}
	}
	return false
}
