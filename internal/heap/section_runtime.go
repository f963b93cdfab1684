//go:build !race && !gomem_portable && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package heap

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"
)

// The fast paths do without pinning. Two calls and their returns would be a
// fifth of what they take.
//
// Runtime assumption 11: a function that is marked go:nosplit, and up to its
// last call calls only such, is not preempted: it does not look at the stack
// guard, and to the signal that preempts loops the compiler calls all of it
// unsafe. So from enter to leave the goroutine stays on its P as if pinned.
// TestSections reads the machine code for calls that would break that.

// here returns where the goroutine is running: its thread, for enter.
//
//go:linkname here runtime.getm
func here() unsafe.Pointer

// enter begins a section in a function that is marked go:nosplit and returns
// the P's shard, noShard if there is none. at is what here returned in the same
// function. The section ends with leave, with keep, or with a call of a function
// that may be preempted.
//
//go:nosplit
func (h *Heap) enter(at unsafe.Pointer) *shard { return h.published().on(at) }

// enterFront is enter for a block that the sampled guard may want.
//
//go:nosplit
func (h *Heap) enterFront(at unsafe.Pointer) *shard {
	return (*shardSet)(atomic.LoadPointer(&h.front)).on(at)
}

// enterFor is enter for a free in sp, as pinFor.
//
//go:nosplit
func (h *Heap) enterFor(_ *span, at unsafe.Pointer) *shard { return h.published().on(at) }

//go:nosplit
func leave(*shard) {}

// keep ends the section and leaves the goroutine pinned.
//
//go:nosplit
func keep(*shard) { procPin() }

// on returns the shard of the P that m runs on, noShard if there is none.
//
//go:nosplit
func (set *shardSet) on(m unsafe.Pointer) *shard {
	if pOfM != 0 {
		// Safety: lookForP found that the P, which begins with its id, is pointed to there.
		if id := **(**uint32)(unsafe.Add(m, pOfM)); int(id) < len(*set) {
			return (*set)[id]
		}
	}
	return noShard
}

// pOfM is where a thread's record in the runtime, the M, keeps the pointer to
// the P it runs on; 0 if that was not found, and then no section sees a shard:
// the slow paths pin.
//
// Runtime assumption 12: an M has at least 512 bytes, and in the first 512 of
// one that runs Go code there is one pointer to something that begins with the
// id of its P and the word 1, for "running": the P. It is at the same place in
// all Ms.
var pOfM = lookForP()

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
// a fault ends the program.
func peek(p *uintptr) (head [2]uint32) {
	if *p%unsafe.Alignof(*p) != 0 {
		return head
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { _ = recover() }()
	// Safety: if this is no address of memory that can be read, recover returns.
	return **(**[2]uint32)(unsafe.Pointer(p))
}

// ref is an atomic.Pointer that a section may load: a method of that one is
// not marked go:nosplit, and may not be inlined.
type ref[T any] struct{ p unsafe.Pointer }

//go:nosplit
func (r *ref[T]) Load() *T { return (*T)(atomic.LoadPointer(&r.p)) }

func (r *ref[T]) Store(x *T) { atomic.StorePointer(&r.p, unsafe.Pointer(x)) }
