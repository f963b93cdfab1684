//go:build asan

package backing

/*
#include <stddef.h>
#include <stdint.h>

void __asan_poison_memory_region(void const volatile *addr, size_t size);
void __asan_unpoison_memory_region(void const volatile *addr, size_t size);

// The address travels as a number: the memory may hold Go pointers that the
// rules for passing pointers to C would object to, and C only marks its shadow.
static void poison(uintptr_t addr, size_t size) { __asan_poison_memory_region((void *)addr, size); }
static void unpoison(uintptr_t addr, size_t size) { __asan_unpoison_memory_region((void *)addr, size); }
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Poisons reports whether [Poison] does anything in this build.
const Poisons = true

// Poison marks memory that may not be accessed; a read or write of it ends the
// program with a report of where.
func Poison(mem []byte) {
	if len(mem) == 0 {
		return
	}
	// Safety: mem is alive until after the call, which does not access it.
	C.poison(C.uintptr_t(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))), C.size_t(len(mem)))
	runtime.KeepAlive(mem)
}

// Unpoison takes back [Poison].
func Unpoison(mem []byte) {
	if len(mem) == 0 {
		return
	}
	// Safety: as in Poison.
	C.unpoison(C.uintptr_t(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))), C.size_t(len(mem)))
	runtime.KeepAlive(mem)
}
