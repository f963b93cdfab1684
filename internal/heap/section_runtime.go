//go:build !race && !gomem_portable && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package heap

import (
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// The fast paths do without pinning. Two calls and their returns would be a
// fifth of what they take.
//
// Runtime assumption 11: a function that is marked go:nosplit is not preempted
// between calls: it does not look at the stack guard, and to the signal that
// preempts loops the compiler calls all of it unsafe. But what it calls may be
// preempted, even if that is marked, too: the instructions that make its frame are
// not called unsafe. Functions of package runtime may not.
//
// So a section calls nothing: what it is made of is inlined, and the goroutine
// stays on its P from enter to leave as if pinned. Where the compiler has not inlined
// it no section sees a shard (prepareSections). A function with a section is not
// inlined itself, as a hot one might be by a profile: there the mark means nothing. Neither
// is what it goes on to: its frame, on a stack that is not looked at, would grow.
// TestSections reads the machine code.

// here returns where the goroutine is running: its thread, for enter.
//
//go:linkname here runtime.getm
func here() unsafe.Pointer

// enter begins a section in a function that is marked go:nosplit and returns
// the P's shard, noShard if there is none. at is what here returned in the same
// function. The section ends with leave or keep.
//
// To go by the id of the P takes five loads, each of which waits for the one before. By a
// hint it is one, and whether that is right is looked up beside.
func (h *Heap) enter(at unsafe.Pointer) *shard {
	p := pOf(at)
	if s := (*shard)(atomic.LoadPointer(h.hints.of(at))); atomic.LoadPointer(&s.p) == p {
		return s
	}
	return (*shardSet)(atomic.LoadPointer(&h.shards)).at(p)
}

// enterFront is enter for a block that the sampled guard may want.
func (h *Heap) enterFront(at unsafe.Pointer) *shard {
	p := pOf(at)
	if s := (*shard)(atomic.LoadPointer(h.hints.of(at))); atomic.LoadPointer(&s.front) == p {
		return s
	}
	return (*shardSet)(atomic.LoadPointer(&h.front)).at(p)
}

// enterFor is enter for a free in sp, as pinFor.
func (h *Heap) enterFor(_ *span, at unsafe.Pointer) *shard { return h.enter(at) }

// enterOwner is enterFor that returns noShard if the P's shard is not the owner of sp. The
// owner knows its P, so that needs no hint.
func (h *Heap) enterOwner(sp *span, at unsafe.Pointer) *shard {
	if s := sp.owner.Load(); atomic.LoadPointer(&s.p) == pOf(at) {
		return s
	}
	return noShard
}

func leave(*shard) {}

// keep ends the section and leaves the goroutine pinned.
func keep(*shard) { procPin() }

// pOf returns the P that m runs on; any word, which nobody may follow, if it is not
// known where that is.
//
// Safety: an M is larger than what lookForP looked through.
func pOf(m unsafe.Pointer) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Add(m, pOfM)) }

// at returns the shard of P p, noShard if there is none.
func (set *shardSet) at(p unsafe.Pointer) *shard {
	if pOfM != 0 {
		// Safety: lookForP found that a P begins with its id.
		if id := *(*uint32)(p); int(id) < len(set.byID) {
			return set.byID[id]
		}
	}
	return noShard
}

// hints has for each thread, by bits of its address, the shard of the P that it ran on
// when it was noted. It may have been another thread, and it may be on another P now: a
// shard knows its P.
type hints [hintCount]unsafe.Pointer

const (
	hintCount = 32
	hintShift = 11
)

func (h *hints) of(m unsafe.Pointer) *unsafe.Pointer { return &h[uintptr(m)>>hintShift%hintCount] }

// forget leaves no hint, and no pointer to a shard, either. Under mu, while the heap is
// paused or has no shards: then it does not matter when a section sees that.
func (h *hints) forget() { *h = noHints }

var noHints = func() (h hints) {
	for i := range h {
		h[i] = unsafe.Pointer(noShard)
	}
	return h
}()

// note has sections on this thread find s by a hint. While pinned to its P.
func (h *Heap) note(s *shard) {
	if at := h.hints.of(here()); s != noShard && atomic.LoadPointer(at) != unsafe.Pointer(s) {
		atomic.StorePointer(at, unsafe.Pointer(s))
	}
}

// settle tells s its P, to which this goroutine is pinned, and shows it to sections. Under
// mu, when the heap is not paused.
func (h *Heap) settle(s *shard) {
	if s.home == nil && pOfM != 0 {
		s.home = pOf(here())
		s.show(true, h.front == h.shards)
	}
}

// pOfM is where a thread's record in the runtime, the M, keeps the pointer to
// the P it runs on; 0 if that was not found or a section would call something, and
// then no section sees a shard: the slow paths pin. It is set when the first heap
// with spans is made: to look at the machine code takes half a millisecond.
var pOfM uintptr

var (
	found            = findP() // at start, when little is in an M
	sectionsPrepared sync.Once
)

func prepareSections() {
	sectionsPrepared.Do(func() {
		// What has to be inlined, where those that call it are not named.
		if inlined((*Heap).mallocSection, "pOf", "(*hints).of", "(*shardSet).at", "(*span).take") &&
			inlined((*Heap).freeSection, "(*guesses).of", "Load", "pOf", "(*span).slot", "(*span).give") &&
			inlined((*Heap).freeForeign, "(*guesses).of", "Load", "pOf", "(*hints).of", "(*shardSet).at", "(*span).slot", "(*span).whole", "(*span).mark", "(*shard).post") &&
			inlined((*Heap).freeOther, "Load", "pOf", "(*span).slot", "(*span).begun", "lengthOf",
				"(*parts).bit", "anySet", "setAll", "(*span).uncut", "(*span).trim", "(*shard).noteTrim", "(*shard).cutsOf") &&
			inlined((*Heap).Borrow, "pOf", "(*hints).of", "(*shardSet).at") &&
			inlined((*Heap).cut, "pOf", "(*hints).of", "(*shardSet).at", "(*span).room", "granules", "(*span).cut", "(*shard).cut") {
			pOfM = found
		}
	})
}

// inlined says whether the machine code of function f has parts, as the names of the
// functions end, in it.
func inlined(f any, parts ...string) bool {
	pc := reflect.ValueOf(f).Pointer()
	for outer := runtime.FuncForPC(pc).Entry(); len(parts) > 0; pc++ {
		at := runtime.FuncForPC(pc)
		if at == nil || at.Entry() != outer {
			return false
		}
		parts = slices.DeleteFunc(parts, func(part string) bool { return strings.HasSuffix(at.Name(), "."+part) })
	}
	return true
}

// findP is lookForP, which finds nothing if the goroutine changes its P meanwhile.
func findP() (place uintptr) {
	for range 3 {
		if place = lookForP(); place != 0 {
			break
		}
	}
	return place
}

// lookForP finds where an M keeps its P, 0 if that is not to be found.
//
// Runtime assumption 12: an M has at least 512 bytes, and in the first 512 of
// one that runs Go code there is one pointer to something that begins with the
// id of its P and the word 1, for "running": the P. It is at the same place in
// all Ms.
func lookForP() (place uintptr) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := here()
	for off := uintptr(0); off < 512; off += unsafe.Sizeof(m) {
		// The goroutine may be on another P from one line to the next, and then
		// this finds nothing; it does not find what is not the P.
		id := pinIndex()
		if peek((*uintptr)(unsafe.Add(m, off))) == [2]uint32{uint32(id), 1} {
			if place != 0 {
				return 0
			}
			place = off
		}
	}
	return place
}

// peek reads what the word at p points to, if it does. Not while pinned: then
// a fault ends the program. The address sanitizer, which does not look here, would
// end it as well.
//
//go:norace
func peek(p *uintptr) (head [2]uint32) {
	const lowest, highest = 4096, 1<<48 - 1 // of addresses that the Go heap can have
	if *p%unsafe.Alignof(*p) != 0 || *p < lowest || *p > highest {
		return head // spares most faults, at each of which a debugger would stop
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { _ = recover() }()
	// Safety: if this is no address of memory that can be read, recover returns.
	return **(**[2]uint32)(unsafe.Pointer(p))
}
