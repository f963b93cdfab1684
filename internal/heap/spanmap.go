package heap

// spanMap finds the span that takes an address, in two steps: the region of
// the address space, by open addressing, and the place in it. Spans are aligned
// to their size, so no two take the same place. A map is immutable but for the
// places; a new region makes a new map.
type spanMap struct {
	mask    uintptr // number of entries less one
	regions []region
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
	m := &spanMap{mask: uintptr(size - 1), regions: make([]region, size)}
	for i := range m.regions {
		m.regions[i].number = ^uintptr(0)
	}
	for _, r := range all {
		*m.find(r.number) = r
	}
	return m
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
