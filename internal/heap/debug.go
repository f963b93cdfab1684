package heap

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/guard"
)

// Debug turns on the watch over every block of a heap.
type Debug struct {
	Quarantine int  // bytes kept from reuse after their free; 0: 1 MiB, negative: none
	GuardPages bool // each block ends at an inaccessible page, and becomes one when freed
	StackDepth int  // frames kept of each stack, at most 1,024; 0: 16, negative: none
	Quiet      bool // live blocks at Close are not an error
}

const (
	defaultQuarantine = 1 << 20
	defaultDepth      = 16
	maxDepth          = 1024
	redZone           = 16 // bytes, at least, on either side of a block

	// mostPaged bounds the blocks of a process that are between guard pages. Each takes up
	// to three of the system's mappings, of which Linux allows 65,530; when none is left
	// for it, the Go runtime ends the program.
	mostPaged = 16 << 10
)

// paged is how many blocks of the process have mappings of their own.
var paged atomic.Int64

// debugger is what a heap in debug mode knows of its blocks. It changes under
// Heap.mu. Such a heap has no spans: every call takes the slow path.
type debugger struct {
	limit, depth int
	quiet        bool

	blocks     map[uintptr][]*watched // by each page that the block's memory touches
	all        map[*watched]struct{}
	queue      []quarantined // in the order they were freed
	held       int           // bytes in queue
	pagedQueue int           // ranges in queue of blocks with mappings of their own
	period     int           // ticks so far
	borrowed   *watched      // ends with the next allocation
	reports    []error       // for after the unlock

	guardFigures
	pages backing.Source // of blocks with guard pages, nil if there are none
	paged *atomic.Int64  // counts them, with those of other heaps
}

// watched is a block under guard in a chunk, or in a mapping of its own.
type watched struct {
	guard.Block
	chunk  *chunk // nil if Mem is a mapping
	off    int    // of Mem in the chunk
	queued int    // its freed ranges in quarantine
	walled bool   // Mem is inaccessible
}

// quarantined is a freed range of a block that nobody may use yet.
type quarantined struct {
	w        *watched
	from, to int
	period   int // of the free
}

func newDebugger(h *Heap, cfg *Debug) *debugger {
	d := &debugger{limit: cfg.Quarantine, depth: min(cfg.StackDepth, maxDepth), quiet: cfg.Quiet}
	if d.limit == 0 {
		d.limit = defaultQuarantine
	}
	if d.depth == 0 {
		d.depth = defaultDepth
	}
	if cfg.GuardPages {
		d.pages, d.paged = backing.Mmap(backing.GuardPages()), &paged
		runtime.AddCleanup(h, (*debugger).drop, d)
	}
	return d
}

func (d *debugger) forget() {
	d.blocks, d.all = nil, nil
	d.queue, d.held, d.pagedQueue, d.borrowed = nil, 0, 0, nil
}

// drop gives back the mappings of a heap that is garbage, but for those with
// live bytes: somebody may still use them. A borrow ends with its heap.
func (d *debugger) drop() {
	for w := range d.all {
		if w.chunk == nil && (w.Left == 0 || w == d.borrowed) {
			// Nobody is left to tell.
			_ = d.Unmap(w.Mem)
		}
	}
}

// Unmap gives back the mapping of a block.
func (d *debugger) Unmap(mem []byte) error {
	err := d.pages.Unmap(mem)
	if err == nil {
		d.paged.Add(-1)
	}
	return err
}

// printReport is what becomes of reports that nobody asked for: the first of
// the process are printed, for a program that goes on wrong.
func printReport(err error) {
	switch n := printed.Add(1); {
	case n <= mostPrinted:
		fmt.Fprintln(os.Stderr, err)
	case n == mostPrinted+1:
		fmt.Fprintln(os.Stderr, "gomem: further reports are not printed")
	}
}

const mostPrinted = 20

var printed atomic.Uint32

// debugMalloc is TryMalloc and MallocAligned in debug mode; n is positive.
func (h *Heap) debugMalloc(n, align int) ([]byte, error) {
	d := h.debug
	where := guard.Callers(d.depth)
	h.mu.Lock()
	w, err := h.watchBlock(n, align, where)
	if err != nil {
		return nil, h.guardUnlock(h.fail(err))
	}
	h.malloced += uint64(n)
	return w.Bytes(), h.guardUnlock(nil)
}

// debugBorrow lends a block of its own, which the next allocation ends: the
// pattern that it then gets shows a borrow that is used for too long.
func (h *Heap) debugBorrow(n int) []byte {
	d := h.debug
	where := guard.Callers(d.depth)
	h.mu.Lock()
	w, err := h.watchBlock(n, 1, where)
	if err != nil {
		_ = h.guardUnlock(h.fail(err))
		return nil
	}
	h.endBorrow() // another one, if the heap grew for this one
	d.borrowed = w
	_ = h.guardUnlock(nil)
	return w.Bytes()
}

// endBorrow frees what was lent. Under mu.
func (h *Heap) endBorrow() {
	if w := h.debug.borrowed; w != nil {
		h.debug.borrowed = nil
		_ = h.freeWatched(w, w.Bytes(), w.Alloc)
	}
}

// live returns the chunks that hold live blocks; those with nothing but red zones, what is
// in quarantine and what is lent are none of them.
func (d *debugger) live() map[*chunk]bool {
	live := make(map[*chunk]bool)
	for w := range d.all {
		if w.Left > 0 && w != d.borrowed {
			live[w.chunk] = true
		}
	}
	return live
}

// watchBlock takes n bytes with room for red zones around them. When memory is
// short it gives up the quarantine, then what it keeps of the freed parts of live blocks,
// and then the red zones of the new block: only those of others may be what is missing.
// Under mu.
func (h *Heap) watchBlock(n, align int, where guard.Stack) (*watched, error) {
	d := h.debug
	h.endBorrow()
	if n > math.MaxInt-1<<30 {
		return nil, fmt.Errorf("gomem: Malloc(%d): %w", n, ErrOutOfMemory)
	}
	if h.closed {
		return nil, ErrClosed
	}
	align = max(align, slotAlign)
	if w := h.watchPages(n, align, where); w != nil {
		return w, nil
	}
	if err := h.tooLarge(n, align); err != nil {
		return nil, err
	}
	front := max(redZone, align)
	total := front + (n+slotAlign-1)&^(slotAlign-1) + redZone
	c, off, err := h.take(total, align)
	if err != nil && len(d.queue) > 0 {
		h.evict(math.MaxInt, 0)
		c, off, err = h.take(total, align)
	}
	if err != nil && h.giveUpDead() {
		c, off, err = h.take(total, align)
	}
	if err != nil {
		front, total = 0, n
		if c, off, err = h.take(total, align); err != nil {
			return nil, err
		}
	}
	w := &watched{Block: guard.Watch(c.mem[off:off+total], front, n, where), chunk: c, off: off}
	d.enter(w)
	return w, nil
}

// giveUpDead gives back the freed parts of live blocks that are out of quarantine, with
// the red zones between them, and says whether there were any. O(live blocks). Under mu.
func (h *Heap) giveUpDead() (gave bool) {
	for w := range h.debug.all {
		if w.chunk == nil || w.queued > 0 || w.Whole() {
			continue
		}
		h.debug.report(w.CheckAll())
		for from, to := range w.ReleaseDead {
			h.giveBack(w.chunk, w.off+from, to-from)
			gave = true
		}
	}
	return gave
}

// watchPages gives the block a mapping between guard pages, which it ends with
// but for its alignment; nil if the mode is off, there are too many such blocks even
// without half of the quarantine, or the system refuses. Under mu, which it may release.
func (h *Heap) watchPages(n, align int, where guard.Stack) *watched {
	d := h.debug
	if d.pages == nil {
		return nil
	}
	if d.paged.Load() >= mostPaged && d.pagedQueue > 0 {
		h.evict(math.MaxInt, d.held/2)
	}
	_ = h.unmapDead(nil) // which counts until it has gone
	page := d.pages.PageSize()
	size := (redZone + n + align + page - 1) &^ (page - 1)
	if h.closed || size > h.room() {
		return nil
	}
	if d.paged.Add(1) > mostPaged {
		d.paged.Add(-1)
		d.unguarded.Add(1)
		return nil
	}
	mem, err := d.pages.Map(size)
	if err != nil {
		d.paged.Add(-1)
		d.unguarded.Add(1)
		return nil
	}
	h.guards += size
	h.notePeak()
	w := &watched{Block: guard.Watch(mem, (size-n)&^(align-1), n, where)}
	d.enter(w)
	return w
}

// pagesOf yields the keys of blocks for w.
func (w *watched) pagesOf(visit func(page uintptr)) {
	first := uintptr(unsafe.Pointer(unsafe.SliceData(w.Mem)))
	for page := first / pageSize; page <= (first+uintptr(len(w.Mem))-1)/pageSize; page++ {
		visit(page)
	}
}

func (d *debugger) enter(w *watched) {
	if d.all == nil {
		d.blocks, d.all = make(map[uintptr][]*watched), make(map[*watched]struct{})
	}
	d.all[w] = struct{}{}
	w.pagesOf(func(page uintptr) { d.blocks[page] = append(d.blocks[page], w) })
}

func (d *debugger) leave(w *watched) {
	delete(d.all, w)
	w.pagesOf(func(page uintptr) {
		at := d.blocks[page]
		for i := range at {
			if at[i] == w {
				at[i] = at[len(at)-1]
				at = at[:len(at)-1]
				break
			}
		}
		if d.blocks[page] = at; len(at) == 0 {
			delete(d.blocks, page)
		}
	})
}

// find returns the block that the byte at addr belongs to, in use or not.
func (d *debugger) find(addr uintptr) *watched {
	for _, w := range d.blocks[addr/pageSize] {
		if w.Holds(addr) {
			return w
		}
	}
	return nil
}
