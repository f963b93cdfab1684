//go:build !race && !gomem_portable

package lac

import (
	"sync/atomic"
	"unsafe"
)

// A seat is a shard without cores of its own, for one stack block: a goroutine
// that finds one has it to itself as table explains, and needs no pin, which
// costs as much as the rest of a Get. It serves one arena at a time: the one
// that is lent next keeps the core of the one before.
type seat struct {
	block uintptr // stack block, never changes
	turns
	gets uint64   // arenas lent on a core from elsewhere
	seen uint64   // arenas lent at the last collection
	_    [24]byte // a cache line each, on 64-bit machines
}

const seatCount = 16

// seats are those of a pool. A goroutine takes a place that is free; collections
// free the places of seats that nobody used since the one before, so that a
// dropped arena and the memory of an idle goroutine are not kept.
type seats struct {
	places [seatCount]unsafe.Pointer // each a *seat or nil; find may call nothing, so no atomic.Pointer
	// The rest is guarded by the lock of the pool.
	prev           []*seat // left since the last collection, maybe at work still
	gets, releases uint64  // of those before
}

// place returns the place for a stack block.
//
//go:nosplit
func (t *seats) place(block uintptr) *unsafe.Pointer {
	return &t.places[(block^block>>4)%seatCount]
}

// find returns the seat of the goroutine that has the variable mark, or nil. The
// goroutine has the seat for as long as it calls nothing that may move the stack.
//
//go:nosplit
//go:nocheckptr
func (t *seats) find(mark *byte) *seat {
	block := uintptr(unsafe.Pointer(mark)) >> stackBlockShift
	// Safety: places hold a *seat each.
	if s := (*seat)(atomic.LoadPointer(t.place(block))); s != nil && s.block == block {
		return s
	}
	return nil
}

// open tells whether sit may have a handle for the goroutine that has mark.
//
//go:nocheckptr
func (t *seats) open(mark *byte) bool {
	block := uintptr(unsafe.Pointer(mark)) >> stackBlockShift
	// Safety: as in find. The seat may be that of others: only its block is looked at.
	s := (*seat)(atomic.LoadPointer(t.place(block)))
	return s == nil || s.block == block && atomic.LoadInt32(&s.latest().refs) == 0
}

// sit returns a handle of the seat for an arena on c, or nil if the goroutine
// that has mark finds no seat, or an arena of it is out. The caller owns the core.
//
//go:nocheckptr
func (t *seats) sit(p *AllocatorPool, c *core, mark *byte) *Allocator {
	if !c.plain {
		return nil
	}
	if atomic.LoadPointer(t.place(uintptr(unsafe.Pointer(mark))>>stackBlockShift)) == nil {
		s := &seat{}
		s.last = &newSlab(p, 0)[0]
		s.block = uintptr(unsafe.Pointer(mark)) >> stackBlockShift
		atomic.CompareAndSwapPointer(t.place(s.block), nil, unsafe.Pointer(s))
	}
	// The stack may have moved until here; nothing below calls or moves it.
	s := t.find(mark)
	if s == nil {
		return nil
	}
	l, h := s.last, s.last.next
	if atomic.LoadInt32(&l.refs) != 0 || l.core != nil || atomic.LoadInt32(&h.refs) != 0 || h.core != nil {
		return nil
	}
	c.home, h.core, s.last = nil, c, h
	h.lone, h.refs = lone, 1
	s.gets++
	return h
}

// lent is how many arenas the seat lent, and gave for them.
func (s *seat) lent() (gets, releases uint64) {
	turns := atomic.LoadUint64(&s.count)
	gets, releases = turns+atomic.LoadUint64(&s.gets), turns
	if s.latest().left() {
		releases++
	}
	return gets, releases
}

// clear frees the places of seats, or only of those that were idle since the
// last collection. The arena that such a seat has lent is released by the general
// way from now on. The caller holds the lock of the pool.
func (t *seats) clear(all bool) {
	for i := range t.places {
		s := (*seat)(atomic.LoadPointer(&t.places[i]))
		if s == nil {
			continue
		}
		gets, _ := s.lent()
		if !all && gets != s.seen {
			s.seen = gets
			continue
		}
		atomic.StorePointer(&t.places[i], nil)
		t.prev = append(t.prev, s)
		s.disown(homeless)
	}
}

// collected follows a collection. The caller holds the lock of the pool.
func (t *seats) collected() {
	for _, s := range t.prev {
		gets, releases := s.lent()
		t.gets += gets
		t.releases += releases
	}
	t.prev = nil
	t.clear(false)
}

// counts adds up the seats. The caller holds the lock of the pool.
func (t *seats) counts() (gets, releases uint64) {
	gets, releases = t.gets, t.releases
	add := func(s *seat) {
		g, r := s.lent()
		gets += g
		releases += r
	}
	for i := range t.places {
		if s := (*seat)(atomic.LoadPointer(&t.places[i])); s != nil {
			add(s)
		}
	}
	for _, s := range t.prev {
		add(s)
	}
	return gets, releases
}
