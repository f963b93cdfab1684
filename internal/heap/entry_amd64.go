//go:build gc && !race && !gomem_portable && !purego

package heap

import (
	"runtime"
	"unsafe"
)

// In assembly a section has the record of its thread at hand without a call, so it keeps
// nothing on the stack, and takes two thirds of the instructions. What is there does the
// same as mallocSection and freeSection do for a slot, and changes nothing before it is
// sure that it can. Else it goes on in Go, as if the call had come there in the first
// place.
//
// Runtime assumption 13: assembly is not preempted. A function that is called through a
// variable has its arguments in AX, BX, CX, DI and its results in AX, BX, CX, DI, SI; in
// DX is the closure, that is, where the code begins, and what we put behind it; R14 is
// the record of the goroutine, and the word at 48 in that is the record of the thread.
// Called by its name the function would get its arguments by way of the stack. The
// caller keeps as much room on the stack as there are arguments, so what is jumped to
// has the same ones.
func init() {
	malloc, free, probe := addresses()
	if !expected(probe) {
		return
	}
	// Safety: the code at these addresses has arguments and results of these types, where
	// the probe found that callers have them.
	mallocEntry = *(*func(*Heap, int) []byte)(closure(malloc, (*Heap).mallocSection, (*Heap).mallocAny))
	tryMallocEntry = *(*func(*Heap, int) ([]byte, error))(closure(malloc, (*Heap).tryMalloc, (*Heap).tryMalloc))
	freeEntry = *(*func(*Heap, []byte) bool)(closure(free, (*Heap).freeSection, (*Heap).freeForeign))
}

// addresses returns where the functions in assembly begin.
func addresses() (malloc, free, probe uintptr)

// closure returns the address of a variable of a function's type, for the code at pc.
// That goes on in inGo where a section of Go may do it, and else in slow, both functions
// with the same arguments and results.
//
// Safety: a variable of a function's type is a pointer to where the code begins. The code
// alone follows what is behind that.
func closure[F any](pc uintptr, inGo, slow F) unsafe.Pointer {
	f := &struct {
		pc         uintptr
		inGo, slow F
	}{pc, inGo, slow}
	return unsafe.Pointer(&f)
}

// mOfG is where the record of a goroutine has that of its thread.
const mOfG = 48

// expected calls the function in assembly at probe and says whether all is as the others
// expect it.
func expected(probe uintptr) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Safety: integers, whatever the code returns. It follows none of its arguments.
	call := *(*func(a, b, c, d uintptr) (g, a1, b1, cd, marks uintptr))(closure[uintptr](probe, 5, 60))
	g, a, b, cd, marks := call(1, 2, 3, 40)
	if a != 1 || b != 2 || cd != 43 || marks != 65 {
		return false
	}
	at := g + mOfG
	m := peek(&at)
	return uintptr(m[0])|uintptr(m[1])<<32 == uintptr(here())
}
