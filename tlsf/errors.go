package tlsf

import (
	"errors"
	"fmt"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/offset"
)

// The errors of the package; compare with errors.Is. A refused free is a
// [*RangeError] that wraps one of them.
var (
	// ErrBlockNotFound: no free block is large enough.
	ErrBlockNotFound = errors.New("no free block is large enough")
	// ErrClosed: the pool was closed.
	ErrClosed = errors.New("pool is closed")
	// ErrDoubleFree: the memory is free already.
	ErrDoubleFree = offset.ErrDoubleFree
	// ErrNotOwned: the memory is not a block of this pool: it lies outside of
	// it, starts in the middle of a block, or is shorter or longer than the
	// block.
	ErrNotOwned = offset.ErrNotOwned
	// ErrInvalidSize: the size or the alignment is one that no request may have.
	ErrInvalidSize = offset.ErrInvalidSize
	// ErrOutOfMemory: New could not get the memory; wraps the system's errno.
	ErrOutOfMemory = backing.ErrOutOfMemory
)

// errNoSize is that of an Arena. It is made once, so that a bad request allocates
// nothing, and wraps ErrBlockNotFound, the only error that the predecessor has: its
// callers find it with errors.Is.
var errNoSize = fmt.Errorf("%w: %w", ErrInvalidSize, ErrBlockNotFound)

// Block is the half-open range [Start, End) of offsets from a pool's start.
type Block = offset.Block

// RangeError is a refused free: the range, in offsets from the pool's start
// (the zero Block for memory outside the pool), the free block it lies in if
// that is the reason, and which of the package's errors it is.
type RangeError = offset.RangeError
