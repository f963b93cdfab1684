package heap

import (
	"sync/atomic"
	"unsafe"
)

// spanMap finds the span that takes an address in two steps: the region of the
// address space, by open addressing, and the place in it. Spans are aligned to
// spanUnit, so no two take the same place. A region is entered while others look;
// when a quarter of the entries is taken a new map with more room takes its place.
type spanMap struct {
	mask    uintptr // number of entries of regions less one
	taken   int     // of them
	regions []region
}

// region is an entry: free as long as there are no places.
type region struct {
	number uintptr // address >> regionShift; of use where there are places
	places atomic.Pointer[places]
}

type places [regionSpans]atomic.Pointer[span]

const (
	regionShift = 23 // 8 MiB
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
	return &spanMap{uintptr(size - 1), 0, make([]region, size)}
}

// find returns the entry of the region and its places, or the free entry where it
// belongs and nil: that may be another region's a moment later.
func (m *spanMap) find(number uintptr) (*region, *places) {
	// Regions that follow each other get entries that do, without collision.
	for i := number; ; i++ {
		r := &m.regions[i&m.mask]
		if p := r.places.Load(); p == nil || r.number == number {
			return r, p
		}
	}
}

// place returns the place of addr, nil if its region is unknown.
func (m *spanMap) place(addr uintptr) *atomic.Pointer[span] {
	if _, p := m.find(addr >> regionShift); p != nil {
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
	r, _ := m.find(number)
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

// guesses names a span for any address by the low bits of the place's number alone.
// Who asks checks that the span is the right one; if it is not, the map knows, and a
// free takes four times as long. So where two spans want one entry the table becomes
// larger. It takes two loads that do not wait for each other, as the table never becomes
// smaller.
type guesses struct {
	mask  uintptr        // length of the table less one
	table unsafe.Pointer // *[mask + 1]atomic.Pointer[span]; exhausted where there is no guess
}

// of returns where the guess for addr is.
func (g *guesses) of(addr uintptr) *atomic.Pointer[span] {
	mask := atomic.LoadUintptr(&g.mask)
	table := atomic.LoadPointer(&g.table)
	// Safety: the mask, which is stored last, was loaded first: the table has as many
	// entries or more.
	return (*atomic.Pointer[span])(unsafe.Add(table, addr>>spanShift&mask*unsafe.Sizeof(uintptr(0))))
}

// entries is the table. Under mu.
func (g *guesses) entries() []atomic.Pointer[span] {
	return unsafe.Slice((*atomic.Pointer[span])(g.table), g.mask+1)
}

// noGuess is the table of a heap without spans.
var noGuess = newGuesses(1)

func newGuesses(n int) []atomic.Pointer[span] {
	table := make([]atomic.Pointer[span], n)
	// Safety: the entries, which only this goroutine knows yet, so that plain stores do.
	entries := unsafe.Slice((**span)(unsafe.Pointer(unsafe.SliceData(table))), n)
	for i := range entries {
		entries[i] = exhausted
	}
	return table
}

// fit makes the table twice as large as the number of places that m has room for, if
// it is smaller. Under mu.
func (g *guesses) fit(m *spanMap) {
	if n := len(m.regions) / 2 * regionSpans; uintptr(n) > g.mask+1 {
		g.fill(n, m)
	}
}

// part makes the table larger until each span of m has its entries for itself, but not
// larger than 64 KiB or a 256th of the bytes mapped. Under mu; amortized O(1).
func (g *guesses) part(m *spanMap, mapped int) {
	const entry = 8 // bytes, or 4 on 32-bit systems
	most := max(mapped/256, 64<<10) / entry
	for shared := true; shared && 2*len(g.entries()) <= most; {
		shared = g.fill(2*len(g.entries()), m)
	}
}

// fill replaces the table by one of n entries, which has all guesses before a free asks
// it, and says whether spans of m share any.
func (g *guesses) fill(n int, m *spanMap) (shared bool) {
	var fresh guesses
	fresh.use(newGuesses(n))
	for i := range m.regions {
		r := &m.regions[i]
		p := r.places.Load()
		for j := 0; p != nil && j < regionSpans; j++ {
			if sp := p[j].Load(); sp != nil {
				shared = fresh.put(r.number<<regionShift+uintptr(j)<<spanShift, sp) || shared
			}
		}
	}
	g.use(fresh.entries())
	return shared
}

func (g *guesses) use(table []atomic.Pointer[span]) {
	atomic.StorePointer(&g.table, unsafe.Pointer(unsafe.SliceData(table)))
	atomic.StoreUintptr(&g.mask, uintptr(len(table)-1))
}

// put makes sp the guess for addr, and says whether there was another. Under mu.
func (g *guesses) put(addr uintptr, sp *span) (shared bool) {
	at := g.of(addr)
	shared = at.Load() != exhausted
	at.Store(sp)
	return shared
}

// remove makes sp the guess for addr no more. Under mu.
func (g *guesses) remove(addr uintptr, sp *span) {
	if at := g.of(addr); at.Load() == sp {
		at.Store(exhausted)
	}
}

// forget leaves no guess. Under mu.
func (g *guesses) forget() {
	for i := range g.entries() {
		g.entries()[i].Store(exhausted)
	}
}
