package heap

// Where calls begin: in Go, or on some processors in assembly, which does what nearly
// all of them need and leaves the rest to Go. Not changed after the start of the program.
var (
	mallocEntry    = (*Heap).mallocSection
	tryMallocEntry = (*Heap).tryMalloc
	freeEntry      = (*Heap).freeSection
)

// Malloc returns n bytes with cap == len, not zeroed, aligned to 16 bytes
// unless the placement is byte-exact; empty if n is 0, and nil if TryMalloc
// would fail.
func (h *Heap) Malloc(n int) []byte { return mallocEntry(h, n) }

// TryMalloc is Malloc with the reason when there is nothing to return:
// ErrInvalidSize, ErrLimit, ErrClosed, or an error that wraps ErrOutOfMemory.
func (h *Heap) TryMalloc(n int) ([]byte, error) { return tryMallocEntry(h, n) }

// Free gives back b, a block or any part of one, and returns true. It returns
// false and changes nothing if b is not live memory of this heap.
func (h *Heap) Free(b []byte) bool { return freeEntry(h, b) }
