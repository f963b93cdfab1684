//go:build !race && !asan && !msan && !gomem_portable && gc

package backing

import "unsafe"

// Runtime assumption 10: mallocgc with no type and without needzero returns
// memory without pointers that the collector manages and that is not cleared.

//go:linkname mallocgc runtime.mallocgc
func mallocgc(size uintptr, typ unsafe.Pointer, needzero bool) unsafe.Pointer

// makeUnzeroed is make([]byte, n) with bytes that nobody has cleared. It panics
// for a length beyond the address space.
func makeUnzeroed(n int) []byte {
	if uint64(n) > 1<<38 {
		return make([]byte, n) // knows whether that is beyond the address space
	}
	// Safety: the object has n bytes, and bytes need no initialisation.
	return unsafe.Slice((*byte)(mallocgc(uintptr(n), nil, false)), n)
}
