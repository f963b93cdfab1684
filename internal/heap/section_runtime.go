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
// inlined itself, as a hot one might be by a profile: there the mark means nothing.
// TestSections reads the machine code.

// here returns where the goroutine is running: its thread, for enter.
//
//go:linkname here runtime.getm
func here() unsafe.Pointer

// enter begins a section in a function that is marked go:nosplit and returns
// the P's shard, noShard if there is none. at is what here returned in the same
// function. The section ends with leave or keep.
func (h *Heap) enter(at unsafe.Pointer) *shard { return h.published().on(at) }

// enterFront is enter for a block that the sampled guard may want.
func (h *Heap) enterFront(at unsafe.Pointer) *shard {
	return (*shardSet)(atomic.LoadPointer(&h.front)).on(at)
}

// enterFor is enter for a free in sp, as pinFor.
func (h *Heap) enterFor(_ *span, at unsafe.Pointer) *shard { return h.published().on(at) }

func leave(*shard) {}

// keep ends the section and leaves the goroutine pinned.
func keep(*shard) { procPin() }

// on returns the shard of the P that m runs on, noShard if there is none.
//
// To go by the id of the P takes two more loads, each of which waits for the one before.
// A guess by the thread spares them, and whether it is right is looked up beside: the
// trace of ffmpeg takes 0.91 of the time.
func (set *shardSet) on(m unsafe.Pointer) *shard {
	// Safety: lookForP found that the P, which begins with its id, is pointed to there. If
	// it did not, p is any word, which nobody follows, and all guesses are noShard.
	p := *(*unsafe.Pointer)(unsafe.Add(m, pOfM))
	if s := (*shard)(atomic.LoadPointer(set.guess(m))); s.p == p {
		return s
	}
	if pOfM != 0 {
		if id := *(*uint32)(p); int(id) < len(set.byID) {
			return set.byID[id]
		}
	}
	return noShard
}

// guess returns where the guess for thread m is.
func (set *shardSet) guess(m unsafe.Pointer) *unsafe.Pointer {
	return &set.guesses[uintptr(m)>>11%uintptr(len(set.guesses))]
}

// note has sections on this thread find s at once, as long as the thread runs on this P.
// While pinned to it; s is its shard.
func (h *Heap) note(s *shard) {
	m := here()
	if pOfM == 0 || s == noShard {
		return
	}
	if s.p == nil {
		atomic.StorePointer(&s.p, *(*unsafe.Pointer)(unsafe.Add(m, pOfM)))
	}
	// Not in what is published: that may be noShards by now.
	if g := h.set.Load().guess(m); *g != unsafe.Pointer(s) {
		atomic.StorePointer(g, unsafe.Pointer(s))
	}
}

// pOfM is where a thread's record in the runtime, the M, keeps the pointer to
// the P it runs on; 0 if that was not found or a section would call something, and
// then no section sees a shard: the slow paths pin. It is set when the first heap
// with spans is made: to look at the machine code takes half a millisecond.
var pOfM uintptr

var (
	found            = lookForP() // at start, when little is in an M
	sectionsPrepared sync.Once
)

func prepareSections() {
	sectionsPrepared.Do(func() {
		// What has to be inlined, where those that call it are not named.
		if inlined((*Heap).Malloc, "(*shardSet).on", "(*shardSet).guess", "(*span).take") &&
			inlined((*Heap).Free, "(*spanMap).guessed", "Load", "(*Heap).published", "(*shardSet).on", "(*shardSet).guess", "(*span).slot", "(*span).give") &&
			inlined((*Heap).freeForeign, "Load", "(*Heap).published", "(*shardSet).on", "(*shardSet).guess", "(*span).slot", "(*span).whole", "(*shard).queue") &&
			inlined((*Heap).freeOther, "Load", "(*Heap).published", "(*shardSet).on", "(*shardSet).guess", "(*span).slot", "(*span).begin", "lengthOf",
				"(*parts).bit", "anySet", "setAll", "(*span).uncut", "(*span).trim", "(*shard).noteTrim", "(*shard).cutsOf") &&
			inlined((*Heap).Borrow, "(*Heap).published", "(*shardSet).on", "(*shardSet).guess") &&
			inlined((*Heap).cut, "(*Heap).published", "(*shardSet).on", "(*shardSet).guess", "(*span).room", "granules", "(*span).cut", "(*shard).cut") {
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
	if *p%unsafe.Alignof(*p) != 0 {
		return head
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { _ = recover() }()
	// Safety: if this is no address of memory that can be read, recover returns.
	return **(**[2]uint32)(unsafe.Pointer(p))
}
