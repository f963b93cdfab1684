//go:build !gomem_portable

package lac

import "unsafe"

// exactHeap tells that the functions below know the Go heap (runtime assumption
// 8), so that debug mode can tell constants from heap objects.
const exactHeap = true

//go:linkname verifyNotInHeapPtr reflect.verifyNotInHeapPtr
func verifyNotInHeapPtr(p uintptr) bool

//go:linkname findObject runtime.findObject
func findObject(p, refBase, refOff uintptr) (base uintptr, span unsafe.Pointer, index uintptr)

// inGoHeap tells whether an address belongs to the Go heap, live or not.
func inGoHeap(p uintptr) bool { return !verifyNotInHeapPtr(p) }

// heapObject returns the start of the Go heap object that p points into. p must
// lie on a heap page in use: the runtime stops the program for others.
func heapObject(p uintptr) uintptr {
	base, _, _ := findObject(p, 0, 0)
	return base
}
