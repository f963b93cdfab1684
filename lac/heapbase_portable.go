//go:build gomem_portable

package lac

// exactHeap is false: strings, funcs and boxed values may be constants, and
// debug mode does not look at them.
const exactHeap = false

func inGoHeap(uintptr) bool { return true }

func heapObject(p uintptr) uintptr { return p }

func sameObject(uintptr, uintptr) bool { return false }
