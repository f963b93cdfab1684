package gomem

import (
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/heap"
	"github.com/gomem-go/gomem/offset"
)

// The errors of the package; compare with errors.Is. A refused free arrives
// wrapped in a [*MisuseError] that names the range.
var (
	// ErrDoubleFree: some byte of the range is free already.
	ErrDoubleFree = offset.ErrDoubleFree
	// ErrNotOwned: the range is not (part of) live memory of this allocator.
	ErrNotOwned = offset.ErrNotOwned
	// ErrInvalidSize: a negative size, or an alignment that is not supported.
	ErrInvalidSize = offset.ErrInvalidSize
	// ErrOutOfMemory: the backing has no more memory, in which case the error wraps the
	// system's errno, or no address space has that much. If the Go heap is the backing
	// and runs out of memory, the program ends.
	ErrOutOfMemory = backing.ErrOutOfMemory
	// ErrLimit: the request would take the allocator past WithMaxBytes.
	ErrLimit = heap.ErrLimit
	// ErrClosed: the allocator was closed.
	ErrClosed = heap.ErrClosed
)
