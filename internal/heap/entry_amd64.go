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
	tryMalloc := tryMallocEntry
	mallocEntry = *(*func(*Heap, int) []byte)(closure(malloc, code(&mallocEntry), nil))
	tryMallocEntry = *(*func(*Heap, int) ([]byte, error))(closure(malloc, code(&tryMalloc), nil))
	foreign := (*Heap).freeForeign
	freeEntry = *(*func(*Heap, []byte) bool)(closure(free, code(&freeEntry), code(&foreign)))
}

// addresses returns where the functions in assembly begin.
func addresses() (malloc, free, probe uintptr)

// closure returns the address of a variable of a function's type, for the code at pc.
//
// Safety: such a variable is a pointer to where the code begins. The code alone follows
// what is behind that.
func closure(pc uintptr, inGo, foreign unsafe.Pointer) unsafe.Pointer {
	f := &struct {
		pc            uintptr
		inGo, foreign unsafe.Pointer
	}{pc, inGo, foreign}
	return unsafe.Pointer(&f)
}

// code returns the closure that a variable of a function's type at f points to.
//
// Safety: see closure.
func code[F any](f *F) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(f)) }

// mOfG is where the record of a goroutine has that of its thread.
const mOfG = 48

// expected calls the function in assembly at probe and says whether all is as the others
// expect it.
func expected(probe uintptr) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mark := new(int)
	// Safety: integers, whatever the code returns. It follows none of its arguments.
	call := *(*func(a, b, c, d uintptr) (g, a1, b1, cd, mark uintptr))(closure(probe, unsafe.Pointer(mark), nil))
	g, a, b, cd, marked := call(1, 2, 3, 40)
	if a != 1 || b != 2 || cd != 43 || marked != uintptr(unsafe.Pointer(mark)) {
		return false
	}
	at := g + mOfG
	m := peek(&at)
	return uintptr(m[0])|uintptr(m[1])<<32 == uintptr(here())
}
