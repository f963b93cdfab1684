//go:build !race && !asan && !msan && !gomem_portable && gc

package unzeroed

import (
	"math"
	"unsafe"
)

// Runtime assumption 10: mallocgc with no type and without needzero returns
// memory without pointers that the collector manages and that is not cleared.

//go:linkname mallocgc runtime.mallocgc
func mallocgc(size uintptr, typ unsafe.Pointer, needzero bool) unsafe.Pointer

// most is the bytes up to which make need not be asked whether there can be so
// many.
const most = min(1<<38, math.MaxInt)

// Make is make([]T, n) with elements that nobody has cleared. It panics for a
// length beyond the address space.
func Make[T byte | uint32](n int) []T {
	size := unsafe.Sizeof(*new(T))
	if uint64(n) > most/uint64(size) {
		return make([]T, n)
	}
	// Safety: the object has room for n elements, and numbers need no
	// initialisation.
	return unsafe.Slice((*T)(mallocgc(uintptr(n)*size, nil, false)), n)
}
