package lac

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// window is a run of zero bytes [off, end) of one chunk, free to be handed out.
type window struct {
	base unsafe.Pointer
	off  uintptr
	end  uintptr
}

func (w *window) room() uintptr { return w.end - w.off }

// bump hands out n bytes of the window, or nil. n is a positive multiple of word.
func (w *window) bump(n uintptr) unsafe.Pointer {
	if w.room() < n {
		return nil
	}
	p := unsafe.Add(w.base, w.off)
	w.off += n
	return p
}

// rest is a window left over in a chunk when a larger request opened another.
type rest struct {
	window
	chunk int // index in core.chunks
}

const (
	// maxRests bounds the search for a fit among left-over windows.
	maxRests = 4
	// minRest is the smallest left-over worth remembering, in bytes.
	minRest = 64
)

// core is the memory of one arena. A handle, or the handles made by Fork, work
// on it; between arenas it waits in the pool with its first chunk.
//
// Invariants:
//   - cur and the rests lie in different chunks and cover all that is free;
//   - every chunk's owner is this core while the arena lives;
//   - plain is true exactly when the arena owns nothing but its first chunk, and
//     one handle, never shared, works on it.
type core struct {
	pool  *AllocatorPool
	home  *shard // where a plain release may take place without a lock
	plain bool

	first   chunk   // the chunk that stays with the core
	whole   window  // what a new handle starts with: all of first, or nothing
	chunks  []chunk // the others
	cur     rest    // where take looks first; chunk -1 is first
	rests   []rest
	handles atomic.Int32 // live handles, when multi

	mu       sync.Mutex // guards the core once it is multi or in debug mode
	multi    bool       // more than one goroutine may allocate
	table    *table     // windows per goroutine; kept for the next arena
	attached attachments
	typed    *typedSpace
	debug    *recorder
}

// newCore makes a core with one chunk, ready for a handle.
func (p *AllocatorPool) newCore() *core {
	c := &core{pool: p, plain: true}
	p.cores.Add(1)
	if p.scanned {
		c.typed = &typedSpace{}
		c.plain = false
	}
	if p.debugOn.Load() {
		c.debug = &recorder{}
		c.plain = false
	}
	if c.debug == nil {
		c.first = p.store.get(p.chunkSize)
		c.first.own(c)
		c.open()
	}
	return c
}

// open makes the whole first chunk the current window.
func (c *core) open() {
	c.cur = rest{window{c.first.base, header, c.first.size}, -1}
	if c.direct() {
		c.whole = c.cur.window
	}
}

// complex notes that the arena owns more than its first chunk. The test keeps
// goroutines that share the core from writing what others read.
func (c *core) complex() {
	if c.plain {
		c.plain = false
	}
}

// chunkAt returns the chunk of an index as rests count them.
func (c *core) chunkAt(i int) *chunk {
	if i < 0 {
		return &c.first
	}
	return &c.chunks[i]
}

// lock takes the lock when more than one goroutine may be here. The result
// goes to unlock.
func (c *core) lock() bool {
	if c.multi || c.debug != nil {
		c.mu.Lock()
		return true
	}
	return false
}

func (c *core) unlock(locked bool) {
	if locked {
		c.mu.Unlock()
	}
}

// take hands out n zero bytes, a positive multiple of word, from the current
// window, a left-over one or a new chunk. The caller has the core to itself.
// Amortised O(1); opening a chunk may allocate.
func (c *core) take(n uintptr) unsafe.Pointer {
	if p := c.cur.bump(n); p != nil {
		return p
	}
	for i := range c.rests {
		if p := c.rests[i].bump(n); p != nil {
			return p
		}
	}
	size := c.pool.chunkSize
	if n+header > size {
		size = tier(n + header)
	}
	ch := c.pool.store.get(size)
	ch.own(c)
	c.complex()
	c.chunks = append(c.chunks, ch)
	w := rest{window{ch.base, header + n, size}, len(c.chunks) - 1}
	// The larger rest serves on, the other one is remembered: a large object
	// must not cost the rest of the current chunk.
	if w.room() > c.cur.room() {
		w, c.cur = c.cur, w
	}
	c.remember(w)
	return unsafe.Add(ch.base, header)
}

// remember keeps w among the left-over windows, in place of the smallest if
// there are too many.
func (c *core) remember(w rest) {
	if len(c.rests) < maxRests && w.room() >= minRest {
		c.rests = append(c.rests, w)
		return
	}
	if w.room() >= minRest {
		least := 0
		for i := range c.rests {
			if c.rests[i].room() < c.rests[least].room() {
				least = i
			}
		}
		if c.rests[least].room() < w.room() {
			w, c.rests[least] = c.rests[least], w
		}
	}
	c.chunkAt(w.chunk).used = w.off
}

// carve cuts a window of about n bytes out of the free memory, for a goroutine
// of its own. The caller has the core to itself.
func (c *core) carve(n uintptr) window {
	if room := c.cur.room(); room >= word {
		n = min(n, room)
	}
	p := c.take(n)
	// Safety: take returned n bytes of one chunk; offsets from p stay inside it.
	return window{p, 0, n}
}

// granule is the size of the windows that goroutines carve, in bytes.
func (c *core) granule() uintptr { return min(4096, (c.pool.chunkSize/4)&^(word-1)) }

// reset gives everything back but the first chunk. The caller owns the core
// alone, and no handle refers to it any more.
func (c *core) reset() {
	c.chunkAt(c.cur.chunk).used = c.cur.off
	for _, r := range c.rests {
		c.chunkAt(r.chunk).used = r.off
	}
	if len(c.chunks) > 0 {
		c.pool.store.put(c.chunks)
		clear(c.chunks)
		if cap(c.chunks) > 1024 {
			c.chunks = nil
		}
	}
	c.chunks, c.rests = c.chunks[:0], c.rests[:0]
	c.attached.reset()
	if c.table != nil {
		c.table.reset()
	}
	c.multi = false
	c.plain = c.typed == nil
	if c.typed != nil {
		c.typed.reset()
	}
	c.open()
}
