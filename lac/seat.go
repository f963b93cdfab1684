//go:build !race && !gomem_portable

package lac

import (
	"sync/atomic"
	"unsafe"
)

// A seat is an arena for one stack block: a goroutine that finds one has it to
// itself as table explains, and needs no pin, which costs as much as the rest of a
// Get. It lends one arena at a time, always on the same core, so all that a Get
// has to do is to start the handle whose turn it is.
type seat struct {
	_     [0]atomic.Uint64   // aligns the counters on 32-bit machines
	count uint64             // arenas lent
	seen  uint64             // arenas lent at the last collection
	block uintptr            // stack block
	_     [40]byte           // a cache line each, on 64-bit machines
	slab  [seatLen]Allocator // all on one core
}

// turn returns the handle lent last, and the next one.
//
//go:nosplit
func (s *seat) turn() (last, next *Allocator) {
	return &s.slab[s.count%seatLen], &s.slab[(s.count+1)%seatLen]
}

// latest returns the handle lent last, to others than the goroutine.
func (s *seat) latest() *Allocator { return &s.slab[atomic.LoadUint64(&s.count)%seatLen] }

const seatCount = 16

// seats are those of a pool. A goroutine takes a place that is free; collections
// free the places of seats that nobody used since the one before, so that a
// dropped arena and the memory of an idle goroutine are not kept.
type seats struct {
	places [seatCount]*seat // find may call nothing and convert nothing, so no atomic.Pointer
	// The rest is guarded by the lock of the pool.
	prev           []*seat // left since the last collection, maybe at work still
	gets, releases uint64  // of those before
}

// place returns the place for a stack block.
//
//go:nosplit
func (t *seats) place(block uintptr) **seat { return &t.places[(block^block>>4)%seatCount] }

// shared is a place as the atomic operations want it.
func shared(place **seat) *unsafe.Pointer { return (*unsafe.Pointer)(unsafe.Pointer(place)) }

// find returns the seat of the goroutine that has the variable mark, if it has one,
// for as long as it calls nothing that may move the stack. It is ok, and not nil,
// because the compiler would test a nil twice. The place is loaded plainly: the
// goroutines of this block have stored the seat that is theirs.
//
//go:nosplit
//go:nocheckptr
func (t *seats) find(mark *[0]byte) (s *seat, ok bool) {
	block := uintptr(unsafe.Pointer(mark)) >> stackBlockShift
	s = *t.place(block)
	return s, s != nil && s.block == block
}

// free tells whether the place for the goroutine that has mark is free.
//
//go:nocheckptr
func (t *seats) free(mark *[0]byte) bool {
	return atomic.LoadPointer(shared(t.place(uintptr(unsafe.Pointer(mark))>>stackBlockShift))) == nil
}

// sit gives the goroutine that has mark a seat with c, and returns a handle for
// it, or nil if there is no place. The caller owns the core.
//
//go:nocheckptr
func (t *seats) sit(p *AllocatorPool, c *core, mark *[0]byte) *Allocator {
	if c.debug != nil || !t.free(mark) {
		return nil
	}
	s := &seat{count: 1}
	for i := range s.slab {
		s.slab[i] = Allocator{base: c.first.base, core: c, pool: p}
	}
	c.home = nil
	h := s.latest()
	if h.refs, h.lone = 1, lone; !c.plain {
		h.lone = seated
	}
	// The stack may have moved until here; nothing below calls or moves it.
	s.block = uintptr(unsafe.Pointer(mark)) >> stackBlockShift
	place := shared(t.place(s.block))
	if !atomic.CompareAndSwapPointer(place, nil, unsafe.Pointer(s)) {
		return nil
	}
	// If debug mode was switched on meanwhile, the places may have been freed before.
	if p.debugOn.Load() && atomic.CompareAndSwapPointer(place, unsafe.Pointer(s), nil) {
		return nil
	}
	return h
}

// again lends the core of a seat that was not left as it should be, for the
// caller to start, or returns nil if the arena lent last is out.
//
//go:nocheckptr
func (t *seats) again(mark *[0]byte) *Allocator {
	s, ok := t.find(mark)
	if !ok {
		return nil
	}
	l, h := s.turn()
	if atomic.LoadInt32(&l.refs) != spent {
		return nil
	}
	s.count++
	h.lone, h.refs = seated, 1
	return h
}

// lent is how many arenas the seat lent, and how many came back to it.
func (s *seat) lent() (gets, releases uint64) {
	gets = atomic.LoadUint64(&s.count)
	if s.latest().left() {
		return gets, gets
	}
	return gets, gets - 1
}

// clear frees the places of seats, or only of those that were idle since the
// last collection. The arena that such a seat has lent is released by the general
// way from now on. The caller holds the lock of the pool.
func (t *seats) clear(all bool) {
	for i := range t.places {
		s := (*seat)(atomic.LoadPointer(shared(&t.places[i])))
		if s == nil {
			continue
		}
		gets, _ := s.lent()
		if !all && gets != s.seen {
			s.seen = gets
			continue
		}
		atomic.StorePointer(shared(&t.places[i]), nil)
		t.prev = append(t.prev, s)
		s.evict()
	}
}

// evict makes the release of the arena that is out tell the pool.
func (s *seat) evict() {
	if h := s.latest(); !atomic.CompareAndSwapInt32(&h.lone, lone, homeless) {
		atomic.CompareAndSwapInt32(&h.lone, seated, homeless)
	}
}

// collected follows a collection. The caller holds the lock of the pool.
func (t *seats) collected() {
	for _, s := range t.prev {
		s.evict() // a Get at the same moment may have lent it after the first time
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
		if s := (*seat)(atomic.LoadPointer(shared(&t.places[i]))); s != nil {
			add(s)
		}
	}
	for _, s := range t.prev {
		add(s)
	}
	return gets, releases
}
