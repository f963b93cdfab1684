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

// sameObject tells whether a, which is behind the attached byte at last and on the
// same page, is in the same Go heap object. It asks the runtime about no address that
// may be in no object, as a may be: at the end of a page there can be room that is
// too small for one.
func sameObject(last, a uintptr) bool {
	base, _, index := findObject(last, 0, 0)
	if base == 0 {
		return false
	}
	if index > 0 { // all objects around have the size of the one before
		return a-base < base-heapObject(base-1)
	}
	// There is an object behind the first one, unless it fills its pages or is large.
	const large = 32<<10 - 8
	for p := last&^7 + 8; p <= a && p-base < large; p += 8 {
		if heapObject(p) != base {
			return false
		}
	}
	return true
}
