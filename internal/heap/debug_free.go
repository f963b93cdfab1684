package heap

import (
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/guard"
)

// debugFree is freeBlock in debug mode.
func (h *Heap) debugFree(b []byte) error {
	d := h.debug
	where := guard.Callers(d.depth)
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	h.mu.Lock()
	w := d.find(addr)
	if w == nil || w == d.borrowed {
		e := h.table.find(addr)
		if e == nil || w != nil || int(addr-e.base) > len(e.c.mem)-len(b) {
			return h.guardUnlock(h.misuse(guard.FreedAt(h.notOwned(), where), b))
		}
		return h.guardUnlock(h.misuse(guard.FreedAt(ErrDoubleFree, where), b))
	}
	if err := h.freeWatched(w, b, where); err != nil {
		return h.guardUnlock(h.misuse(err, b))
	}
	h.freed += uint64(len(b))
	return h.guardUnlock(nil)
}

// freeWatched frees b, a part of w, into quarantine. Under mu.
func (h *Heap) freeWatched(w *watched, b []byte, where guard.Stack) error {
	d := h.debug
	from, to, err := w.Free(uintptr(unsafe.Pointer(unsafe.SliceData(b))), len(b), where)
	if err != nil {
		return err
	}
	d.report(w.CheckAll())
	if w.Left == 0 && w.chunk == nil {
		if p, ok := d.pages.(backing.Protector); ok {
			w.walled = p.Protect(w.Mem) == nil
		}
	}
	d.queue = append(d.queue, quarantined{w, from, to, d.period})
	d.held += to - from
	w.queued++
	if w.chunk == nil {
		d.pagedQueue++
	}
	h.evict(d.period+1, max(d.limit, 0))
	h.arm()
	return nil
}

func (d *debugger) report(err error) {
	if err != nil {
		d.reports = append(d.reports, err)
	}
}

// evict ends the quarantine of what was freed before a period, oldest first,
// as long as more than keep bytes are held. Under mu.
func (h *Heap) evict(before, keep int) {
	d := h.debug
	for len(d.queue) > 0 && d.held > keep && d.queue[0].period < before {
		q := d.queue[0]
		d.queue[0] = quarantined{} // or the array would keep its chunk
		d.queue = d.queue[1:]
		d.held -= q.to - q.from
		w := q.w
		w.queued--
		if w.chunk == nil {
			d.pagedQueue--
		}
		if !w.walled {
			d.report(w.Check(q.from, q.to))
		}
		switch {
		case w.Left == 0 && w.queued == 0:
			h.unwatch(w)
		case w.chunk != nil && q.to-q.from >= 8*redZone:
			// The rest of the block keeps a red zone.
			q.from, q.to = q.from+redZone, q.to-redZone
			w.Release(q.from, q.to)
			h.giveBack(w.chunk, w.off+q.from, q.to-q.from)
		}
	}
}

// unwatch gives back what is left of a block that nobody uses. Under mu.
func (h *Heap) unwatch(w *watched) {
	d := h.debug
	if !w.walled {
		d.report(w.CheckAll())
	}
	d.leave(w)
	if w.chunk == nil {
		h.buryGuards(w.Mem, d)
		return
	}
	for from, to := range w.Rest {
		h.giveBack(w.chunk, w.off+from, to-from)
	}
}

// guardUnlock is unlock, and then hands over the reports.
func (h *Heap) guardUnlock(err error) error {
	var reports []error
	if h.debug != nil {
		reports, h.debug.reports = h.debug.reports, nil
		h.debug.damaged.Add(uint64(len(reports)))
	}
	err = h.unlock(err)
	for _, r := range reports {
		h.cfg.Misuse(r)
	}
	return err
}

// debugTick ends the quarantine of what was freed before the last tick, and
// says whether there is more in it. Under mu.
func (h *Heap) debugTick() (more bool) {
	d := h.debug
	if d == nil {
		return false
	}
	if n := len(d.queue); n > 0 && d.queue[n-1].period < d.period { // nothing was freed since
		h.evict(d.period, 0)
	}
	d.period++
	return len(d.queue) > 0
}

// guardCheck looks for damage to any block. Under mu.
func (h *Heap) guardCheck() error {
	if h.debug == nil {
		return nil
	}
	for w := range h.debug.all {
		if !w.walled {
			if err := w.CheckAll(); err != nil {
				h.debug.damaged.Add(1)
				return err
			}
		}
	}
	return nil
}

// guardReset ends the watch over every block, because all memory goes. Under
// mu.
func (h *Heap) guardReset() error {
	if h.sampler != nil {
		h.resetSamples()
	}
	d := h.debug
	if d == nil {
		return nil
	}
	h.endBorrow()
	for w := range d.all {
		if !w.walled {
			d.report(w.CheckAll())
		}
		if w.chunk == nil {
			h.buryGuards(w.Mem, d)
		}
	}
	d.forget()
	return nil
}

// leaks lists what is live, nil if nothing is or nobody wants to know. Under
// mu.
func (h *Heap) leaks() error {
	d := h.debug
	if d == nil || d.quiet {
		return nil
	}
	e := guard.Leaks(func(yield func(*guard.Block) bool) {
		for w := range d.all {
			if w != d.borrowed && !yield(&w.Block) {
				return
			}
		}
	})
	if e == nil {
		return nil
	}
	return e
}

// Explain says what is known of the memory at addr: the block and the stacks of
// its allocation and its free. nil if nothing is.
func (h *Heap) Explain(addr uintptr) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.debug != nil {
		if w := h.debug.beside(addr); w != nil {
			return w.Explain(addr)
		}
	}
	if h.sampler != nil {
		if b := h.sampler.beside(addr); b != nil {
			return b.Explain(addr)
		}
	}
	return nil
}

// beside is find, or the block behind or in front of which addr is in a guard page.
func (d *debugger) beside(addr uintptr) *watched {
	w := d.find(addr)
	if w != nil || d.pages == nil {
		return w
	}
	page := uintptr(d.pages.PageSize())
	start := addr &^ (page - 1)
	for _, neighbour := range []uintptr{start - 1, start + page} {
		if w := d.find(neighbour); w != nil && w.chunk == nil { // a mapping of its own
			return w
		}
	}
	return nil
}

// What guards report, beside the errors of the package.
var (
	ErrOverrun      = guard.ErrOverrun
	ErrUseAfterFree = guard.ErrUseAfterFree
)
