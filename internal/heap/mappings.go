package heap

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomem-go/gomem/backing"
)

// mappings is the chunks of a heap, and those of its mappings with guard pages that are to
// go back. It outlives the heap by one cleanup, so that an allocator that is dropped gives
// its memory back, except for the chunks in which there are live blocks: somebody may still
// use those.
type mappings struct {
	mu    sync.Mutex
	mem   map[*byte]mapping
	spans *spanMap  // in the chunks
	debug *debugger // which knows the live blocks, in debug mode

	flushes []*flushing // that are under way

	waiting atomic.Int32 // goroutines that wait for the release to end

	// Under Heap.mu. They are here because a heap is to be small.
	armed   time.Time // when the clock was started last
	empty   []*chunk  // those without a block
	release *release  // that is under way, nil if there is none
}

// mapping is bytes, and who takes them back.
type mapping struct {
	mem   []byte
	to    unmapper
	chunk *chunk // that may hold live blocks, or nil
}

// unmapper is what a mapping needs of its source.
type unmapper interface{ Unmap(mem []byte) error }

// flushing is held by a goroutine while it gives mappings back. Others that wait for it
// lock it: it is a mutex, and no condition, so that they may be in a bubble of
// testing/synctest and it in none, or in another.
type flushing struct{ sync.Mutex }

// watch remembers a chunk that the garbage collector does not know. Under mu.
func (h *Heap) watch(c *chunk) {
	h.remember(mapping{c.raw, h.cfg.Source, c})
}

// buryGuards has flush give a mapping with guard pages back. Under mu.
func (h *Heap) buryGuards(mem []byte, to unmapper) {
	h.remember(mapping{mem: mem, to: to})
	h.guards -= len(mem)
	h.leave += len(mem)
	h.dead = append(h.dead, mem)
}

// remember notes a mapping that flush is to give back one day. Under mu.
func (h *Heap) remember(known mapping) {
	if h.maps == nil {
		h.maps = &mappings{mem: make(map[*byte]mapping), spans: noSpans, debug: h.debug}
		if h.cfg.Source != backing.Heap() {
			runtime.AddCleanup(h, (*mappings).unmapAll, h.maps)
		}
	}
	h.maps.mu.Lock()
	h.maps.mem[&known.mem[0]] = known
	h.maps.mu.Unlock()
}

// unmap forgets the mapping before it goes: once it has, the address may be
// another's. If the source panics, it has not.
func (m *mappings) unmap(mem []byte) (err error) {
	m.mu.Lock()
	known := m.mem[&mem[0]]
	known.chunk = nil // nothing lives there any more
	delete(m.mem, &mem[0])
	m.mu.Unlock()
	gone := false
	defer func() {
		if !gone {
			m.mu.Lock()
			m.mem[&mem[0]] = known
			m.mu.Unlock()
		}
	}()
	err = known.to.Unmap(mem)
	gone = err == nil
	return err
}

// flush gives the dead mappings back, and lets go of mu meanwhile; gone is how many
// bytes the source took. What it does not take is tried again with the next chunks
// that go, and so is what is left when it panics, which releases mu.
func (h *Heap) flush() (gone int, err error) {
	dead := h.dead
	h.dead = nil
	defer h.maps.endFlush(h.maps.beginFlush())
	h.mu.Unlock()
	var kept [][]byte
	returned := false
	defer func() {
		h.mu.Lock()
		h.leave -= gone
		h.stuck = append(append(h.stuck, kept...), dead...)
		if !returned { // the source panics
			h.mu.Unlock()
		}
	}()
	for ; len(dead) > 0; dead = dead[1:] {
		if e := h.maps.unmap(dead[0]); e != nil {
			kept = append(kept, dead[0])
			err = e
			continue
		}
		gone += len(dead[0])
	}
	returned = true
	return gone, err
}

// beginFlush notes a goroutine that is to give mappings back, until endFlush.
func (m *mappings) beginFlush() *flushing {
	f := new(flushing)
	f.Lock()
	m.mu.Lock()
	m.flushes = append(m.flushes, f)
	m.mu.Unlock()
	return f
}

func (m *mappings) endFlush(f *flushing) {
	m.mu.Lock()
	i := slices.Index(m.flushes, f)
	m.flushes = slices.Delete(m.flushes, i, i+1)
	m.mu.Unlock()
	f.Unlock()
}

// underWay is a goroutine that is giving mappings back, nil if there is none.
func (m *mappings) underWay() *flushing {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.flushes) == 0 {
		return nil
	}
	return m.flushes[0]
}

// awaitFlushes returns when nobody is giving mappings back, and says whether anybody
// was: until they are gone their bytes count towards the limit. Under mu, which it
// releases while it waits.
func (h *Heap) awaitFlushes() (waited bool) {
	if h.maps == nil {
		return false
	}
	for f := h.maps.underWay(); f != nil; f = h.maps.underWay() {
		waited = true
		h.awaitHolder(&f.Mutex)
	}
	return waited
}

// awaitHolder returns when who holds m has let go of it. Under mu, which it releases while
// it waits.
func (h *Heap) awaitHolder(m *sync.Mutex) {
	h.mu.Unlock()
	m.Lock()
	//lint:ignore SA2001 waiting for the holder is the point
	m.Unlock()
	h.mu.Lock()
}

func (m *mappings) unmapAll() {
	inUse := func(c *chunk) bool { return c.inUse(m.spans) }
	if m.debug != nil {
		live := m.debug.live()
		inUse = func(c *chunk) bool { return live[c] }
	}
	for _, known := range m.mem {
		if known.chunk == nil || !inUse(known.chunk) {
			// Nobody is left to tell.
			_ = known.to.Unmap(known.mem)
		}
	}
}

// inUse says whether c holds a live block. For a heap that is gone, when
// nobody changes anything any more.
func (c *chunk) inUse(spans *spanMap) bool {
	if c.size-c.place.FreeBytes() != c.spanned {
		return true
	}
	for off := 0; off+spanUnit <= len(c.mem) && c.nspans > 0; off += spanUnit {
		place := spans.place(c.addr() + uintptr(off))
		if place == nil || place.Load() == nil {
			continue
		}
		sp := place.Load()
		for _, r := range sp.recs[:sp.carved] {
			switch r & stateMask {
			case stateLive, stateCut, stateParts:
				return true
			}
		}
	}
	return false
}
