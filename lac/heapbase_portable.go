//go:build gomem_portable

package lac

import "unsafe"

// exactHeap is false: strings, funcs and boxed values may be constants, and
// debug mode does not look at them.
const exactHeap = false

// inGoHeap is true for all that it does not know: of what lies elsewhere, as a package
// variable does, only the place of all objects without bytes.
func inGoHeap(a uintptr) bool { return a != uintptr(unsafe.Pointer(noBytes)) }

var noBytes = func() *struct{} { return new(struct{}) }()

func heapObject(p uintptr) uintptr { return p }

func sameObject(uintptr, uintptr) bool { return false }
