package lac

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// window is a run of bytes [off, end) of one chunk, free to be handed out. They
// are zero, unless it is part of a rest.
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

// rest is a window of which the bytes in [off, dirty) may be anything: what is
// free of the current chunk, or was left over when a larger request opened
// another. dirty is beyond end at most where several goroutines work on the core.
type rest struct {
	window
	dirty uintptr
	chunk int // index in core.chunks
}

// cut hands out n bytes as bump does; the first dirty ones are to be cleared.
func (r *rest) cut(n uintptr) (p unsafe.Pointer, dirty uintptr) {
	off := r.off
	if p = r.bump(n); p != nil && off < r.dirty {
		dirty = min(r.dirty-off, n)
	}
	return p, dirty
}

// cutTop hands out the last n bytes as cut does the first ones.
func (r *rest) cutTop(n uintptr) (p unsafe.Pointer, dirty uintptr) {
	r.end -= n
	if r.end < r.dirty {
		dirty = min(r.dirty-r.end, n)
	}
	// Safety: the caller saw that there is room.
	return unsafe.Add(r.base, r.end), dirty
}

// scrub makes all of r zero.
func (r *rest) scrub() {
	if r.off < r.dirty {
		// Safety: off < dirty <= end, all inside the chunk.
		zero(unsafe.Add(r.base, r.off), r.dirty-r.off)
		r.dirty = 0
	}
}

// leave notes how far into the chunk of r there may be anything but zeros.
func (c *core) leave(r *rest) {
	ch := c.chunkAt(r.chunk)
	ch.used = max(r.off, r.dirty)
	if r.end < ch.size {
		ch.used = ch.size
	}
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
//   - cur and the rests lie in different chunks; what else is free, as it was too
//     small to remember, waits for the next arena. They are zero while one handle works
//     on the core, but for the first chunk until that handle has filled its first
//     window;
//   - every chunk's owner is this core while the arena lives;
//   - plain is true exactly when the arena owns nothing but its first chunk, all
//     of it zero from the start, and one handle, never shared, works on it.
type core struct {
	pool  *AllocatorPool
	home  *shard // where a plain release may take place without a lock; nil if a seat has the core
	plain bool

	first   chunk   // the chunk that stays with the core
	whole   window  // what a new handle starts with: all of first, or nothing
	chunks  []chunk // the others
	cur     rest    // where take looks first; chunk -1 is first
	rests   []rest
	handles atomic.Int32 // live handles, when multi
	tenant  *Allocator   // the handle that a seat lent, when multi
	top     bool         // the next goroutine begins at the end of a window, when multi

	mu       sync.Mutex // guards the core once it is multi or in debug mode
	multi    bool       // more than one goroutine may allocate
	table    *table     // windows per goroutine; kept for the next arena
	attached attachments
	typed    *typedSpace
	single   *typedSpace // typed, while one handle works on the core
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
		c.single = c.typed
		c.first = p.store.get(p.chunkSize)
		c.first.own(c)
		c.open()
	}
	return c
}

// open makes the whole first chunk the current window.
func (c *core) open() {
	c.cur = rest{window{c.first.base, header, c.first.size}, 0, -1}
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

// take hands out n zero bytes, a positive multiple of word. The caller has the
// core to itself. Amortized O(1), the zeroing of reused memory apart; opening a
// chunk may allocate.
func (c *core) take(n uintptr) unsafe.Pointer {
	p, dirty := c.cut(n)
	zero(p, dirty)
	return p
}

// cut hands out n bytes, a positive multiple of word, from the current window, a
// left-over one or a new chunk; the first dirty ones are to be cleared. The
// caller has the core to itself. Amortized O(1); opening a chunk may allocate.
func (c *core) cut(n uintptr) (p unsafe.Pointer, dirty uintptr) {
	if p, dirty = c.cur.cut(n); p != nil {
		return p, dirty
	}
	for i := range c.rests {
		if p, dirty = c.rests[i].cut(n); p != nil {
			return p, dirty
		}
	}
	size := c.pool.chunkSize
	if n+header > size {
		size = tier(n + header)
	}
	ch := c.pool.store.get(size)
	if !c.multi {
		wipe(ch.base, ch.used)
		ch.used = header
	}
	ch.own(c)
	c.complex()
	c.chunks = append(c.chunks, ch)
	w := rest{window{ch.base, header, size}, ch.used, len(c.chunks) - 1}
	p, dirty = w.cut(n)
	// The larger rest serves on, the other one is remembered: a large object
	// must not cost the rest of the current chunk.
	if w.room() > c.cur.room() {
		w, c.cur = c.cur, w
	}
	c.remember(w)
	return p, dirty
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
	c.leave(&w)
}

// takeShared is take for one of several goroutines. It clears without the lock:
// the others need not wait for that.
func (c *core) takeShared(n uintptr) unsafe.Pointer {
	c.mu.Lock()
	p, dirty := c.cut(n)
	c.mu.Unlock()
	zero(p, dirty)
	return p
}

// carve cuts a window of about n bytes out of the free memory, for one of
// several goroutines, whose last one was at last. It clears without the lock, as
// takeShared.
func (c *core) carve(n uintptr, last unsafe.Pointer) window {
	p, n, dirty := c.cutNear(n, last)
	zero(p, dirty)
	// Safety: cut returned n bytes of one chunk; offsets from p stay inside it.
	return window{p, 0, n}
}

// cutNear is cut under the lock. It cuts less than n bytes off the current window
// rather than leave a rest there. Goroutines begin in turns at its two ends and go
// on where they were, so that each finds most of the memory in the caches of its
// processor that it had in the last arena.
func (c *core) cutNear(n uintptr, last unsafe.Pointer) (p unsafe.Pointer, size, dirty uintptr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.cur
	if room := r.room(); room >= word {
		n = min(n, room)
	}
	top := uintptr(last) >= uintptr(r.base)+r.end
	if last == nil {
		top = c.top
		c.top = !c.top
	}
	if top && n <= r.room() {
		p, dirty = r.cutTop(n)
	} else {
		p, dirty = c.cut(n)
	}
	return p, n, dirty
}

// granule is the size of the first window that a goroutine carves, in bytes.
func (c *core) granule() uintptr { return min(4096, (c.pool.chunkSize/4)&^(word-1)) }

// grow is the size of the window after one of last bytes. Windows grow with what
// a goroutine takes, as what it leaves of the last one is lost to the others.
func (c *core) grow(least, last uintptr) uintptr {
	return max(least, min(2*last, 64<<10, c.pool.chunkSize/4)&^(word-1))
}

// reset gives everything back but the first chunk. The caller owns the core
// alone, and no handle refers to it any more.
func (c *core) reset() {
	c.leave(&c.cur)
	for i := range c.rests {
		c.leave(&c.rests[i])
	}
	clear(c.rests) // or an idle core would keep their chunks
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
	// Several goroutines that used much are expected to come again: they clear the
	// chunk themselves, each its windows.
	c.plain = c.typed == nil && !(c.multi && c.first.used > header+c.granule())
	c.multi, c.tenant, c.top = false, nil, false
	if c.typed != nil {
		c.typed.reset()
	}
	c.single = c.typed
	c.open()
}
