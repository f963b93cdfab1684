package soak

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/internal/stopwatch"
)

// part is a live block or what is left of one. Its bytes repeat the eight of
// mark.
type part struct {
	b    []byte
	mark uint64
}

func (p part) fill() {
	var first [8]byte
	binary.LittleEndian.PutUint64(first[:], p.mark)
	for n := copy(p.b, first[:]); n < len(p.b); {
		n += copy(p.b[n:], p.b[:n])
	}
}

// intact says whether nobody else wrote to the part.
func (p part) intact() bool {
	var first [8]byte
	binary.LittleEndian.PutUint64(first[:], p.mark)
	n := min(len(p.b), 8)
	return bytes.Equal(p.b[:n], first[:n]) && bytes.Equal(p.b[n:], p.b[:len(p.b)-n])
}

// cut is the part [from, to) of p.
func (p part) cut(from, to int) part {
	return part{p.b[from:to:to], bits.RotateLeft64(p.mark, -8*(from&7))}
}

// worker is one goroutine of the load.
type worker struct {
	*load
	cycle, id int
	op        int
	rng       *rand.Rand
	held      []part
	bytes     int
	target    int // bytes to hold
}

func newWorker(l *load, cycle, id, crowd int) *worker {
	return &worker{
		load: l, cycle: cycle, id: id, target: l.live / crowd,
		rng: rand.New(rand.NewPCG(l.seed, uint64(cycle)<<32|uint64(id)+1)),
	}
}

// fail names the operation.
func (w *worker) fail(format string, args ...any) {
	w.load.fail("cycle %d, goroutine %d, operation %d: "+format, append([]any{w.cycle, w.id, w.op}, args...)...)
}

// run works until the drain, and then frees all that it holds.
func (w *worker) run() {
	for w.phase.Load() != drain && w.failed.Load() == nil {
		w.gate.RLock()
		for range 32 {
			w.step()
		}
		w.gate.RUnlock()
		w.ops.Add(32)
		w.exclusive()
	}
	for len(w.held) > 0 && w.failed.Load() == nil {
		w.op++
		w.freeWhole(w.rng.IntN(len(w.held)))
	}
}

// size is of the request to come: mostly small, some up to 64 KiB, few larger.
func (w *worker) size() int {
	switch w.rng.IntN(64) {
	case 0:
		return 1 + w.rng.IntN(256<<10)
	case 1, 2:
		return 1 + w.rng.IntN(64<<10)
	case 3, 4, 5, 6, 7, 8, 9, 10:
		return 1 + w.rng.IntN(4<<10)
	}
	return 1 + w.rng.IntN(512)
}

// step is one operation of those that may meet any other.
func (w *worker) step() {
	w.op++
	if len(w.held) == 0 || w.bytes < w.target && w.rng.IntN(2) == 0 {
		w.allocate()
		return
	}
	i := w.rng.IntN(len(w.held))
	switch kind := w.rng.IntN(32); {
	case kind < 5:
		w.freePart(i)
	case kind < 9:
		w.exchange(i)
	case kind == 9:
		w.freeForeign()
	case kind < 16 && w.bytes < w.target:
		w.allocate()
	default:
		w.freeWhole(i)
	}
}

// timed says whether to time this operation: reading the clock costs as much
// as the operation.
func (w *worker) timed() bool { return w.op%16 == 0 }

func (w *worker) allocate() {
	n := w.size()
	var b []byte
	var start time.Duration
	if w.timed() {
		start = stopwatch.Now()
	}
	var err error
	align := 1
	if w.rng.IntN(16) == 0 {
		align = 1 << w.rng.IntN(13)
		b, err = w.a.MallocAligned(n, align)
	} else {
		b, err = w.a.TryMalloc(n)
	}
	if w.timed() {
		w.mallocTime.add(stopwatch.Now() - start)
	}
	if err != nil || len(b) != n || cap(b) != n {
		w.fail("request for %d bytes: length %d, capacity %d, %w", n, len(b), cap(b), err)
		return
	}
	if p := placements[w.placement]; p == gomem.SizeClasses || p == gomem.TLSF {
		align = max(align, 16)
	}
	if at := uintptr(unsafe.Pointer(&b[0])); at%uintptr(align) != 0 {
		w.fail("block at %#x, not a multiple of %d", at, align)
	}
	if w.rng.IntN(8) == 0 {
		// As after a short read.
		w.a.FreeRest(&b, 1+w.rng.IntN(n))
	}
	p := part{b, w.rng.Uint64()}
	p.fill()
	w.keep(p)
}

func (w *worker) keep(p part) {
	if len(p.b) > 0 {
		w.held = append(w.held, p)
		w.bytes += len(p.b)
	}
}

func (w *worker) drop(i int) part {
	p := w.held[i]
	w.bytes -= len(p.b)
	w.held[i] = w.held[len(w.held)-1]
	w.held[len(w.held)-1] = part{}
	w.held = w.held[:len(w.held)-1]
	return p
}

func (w *worker) free(p part) {
	if !p.intact() {
		w.fail("somebody wrote to a block of %d bytes at %p", len(p.b), &p.b[0])
		return
	}
	var start time.Duration
	if w.timed() {
		start = stopwatch.Now()
	}
	ok := w.a.Free(p.b)
	if w.timed() {
		w.freeTime.add(stopwatch.Now() - start)
	}
	if !ok {
		w.fail("free of %d bytes at %p refused", len(p.b), &p.b[0])
	}
}

func (w *worker) freeWhole(i int) { w.free(w.drop(i)) }

// freePart frees a head, a tail or a middle, and keeps the rest.
func (w *worker) freePart(i int) {
	p := w.drop(i)
	from, to := 0, len(p.b)
	if w.rng.IntN(3) > 0 {
		from = w.rng.IntN(to)
	}
	if w.rng.IntN(3) > 0 {
		to = from + 1 + w.rng.IntN(to-from)
	}
	w.free(p.cut(from, to))
	w.keep(p.cut(0, from))
	w.keep(p.cut(to, len(p.b)))
}

// exchange hands a block to another goroutine, and takes one over.
func (w *worker) exchange(i int) {
	p := w.drop(i)
	if got := w.swap[w.rng.IntN(len(w.swap))].Swap(&p); got != nil {
		w.keep(*got)
	}
}

// refusal checks that a wrong free has no effect.
func (w *worker) refusal(what string, b []byte) {
	w.injected.Add(1)
	if w.a.Free(b) {
		w.fail("%s of %d bytes at %p accepted", what, len(b), unsafe.SliceData(b))
	}
}

// freeForeign frees what never came from the allocator.
func (w *worker) freeForeign() {
	if w.rng.IntN(2) == 0 {
		w.refusal("free of the Go heap", w.foreign[w.rng.IntN(100):])
	} else {
		w.refusal("free of another allocator's block", w.lent[w.rng.IntN(100):])
	}
}

// exclusive, now and then, frees twice while nobody allocates.
func (w *worker) exclusive() {
	if len(w.held) == 0 || w.rng.IntN(16) > 0 {
		return
	}
	w.gate.Lock()
	defer w.gate.Unlock()
	w.op++
	p := w.drop(w.rng.IntN(len(w.held)))
	n := len(p.b)
	from := w.rng.IntN(n)
	to := from + 1 + w.rng.IntN(n-from)
	w.free(p.cut(from, to))
	w.refusal("second free", p.b[from:to])
	w.refusal("free of a block with a freed part", p.b)
	if from > 0 {
		w.free(p.cut(0, from))
	}
	if to < n {
		w.free(p.cut(to, n))
	}
	w.refusal("free of a freed block", p.b)
	w.refusal("free of a part of a freed block", p.b[w.rng.IntN(n):])
}
