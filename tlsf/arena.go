package tlsf

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// Arena is a pool that hands out pointers, as in tlsf-go. In new code prefer a
// [Pool], whose blocks know their length and whose Free reports misuse.
//
// It belongs to one goroutine at a time.
type Arena interface {
	// Allocate returns the address of size bytes, aligned to 16 and not
	// zeroed, owned by the caller until they are freed. No Go pointers may be
	// stored there: see the package comment. ErrBlockNotFound if no free block
	// is large enough; for a size below 1, for which tlsf-go allocated 16 bytes, the
	// error wraps ErrBlockNotFound and ErrInvalidSize; ErrClosed after Dispose. Compare
	// with errors.Is. O(1).
	Allocate(size int64) (unsafe.Pointer, error)

	// Free gives back a block that Allocate returned. A pointer that is nil,
	// already freed, into the middle of a block, from elsewhere, or from
	// before Dispose changes nothing. O(1).
	Free(ptr unsafe.Pointer)

	// Dispose gives the memory back; no block from Allocate may be used any
	// more. A second Dispose does nothing.
	Dispose()

	// UsedSize is the number that tlsf-go would report for these blocks in an
	// arena of a multiple of 16 bytes: 32 for the arena, and for each live block
	// its size, rounded up to a multiple of 16 and, above 1 KiB, of a 32nd of the
	// power of two below it, plus 16 for its record. Here blocks are only rounded to 16,
	// and the records lie outside the arena, so that all its bytes are for blocks:
	// UsedSize may exceed the size given to NewArena. It is 0 after Dispose. O(1).
	UsedSize() int64
}

const (
	arenaRecord = 32 // what UsedSize counts for the arena
	blockRecord = 16 // what UsedSize counts for a block: one node of the placement
)

// NewArena makes an arena of allocationBytes bytes, rounded up to a multiple
// of 16, on the Go heap. If that is impossible (an arena of 0 bytes, or on a
// 32-bit system one of 2 GiB), Allocate returns the error.
func NewArena(allocationBytes uint32) Arena {
	if uint64(allocationBytes) > uint64(maxInt) {
		return &arena{pool: new(Pool), err: fmt.Errorf("%w: %w", ErrBlockNotFound, ErrOutOfMemory)}
	}
	p, err := New(int(allocationBytes))
	if err != nil {
		return &arena{pool: new(Pool), err: fmt.Errorf("%w: %w", ErrBlockNotFound, err)}
	}
	return &arena{pool: p}
}

// arena is an Arena over a pool.
//
// Invariant: rounded is the sum of recordedSize of the live blocks.
type arena struct {
	pool    *Pool
	rounded int64
	err     error // why there is no memory, if there is none
}

func (a *arena) Allocate(size int64) (unsafe.Pointer, error) {
	switch {
	case a.err != nil:
		return nil, a.err
	case a.pool.closed():
		return nil, ErrClosed
	case size <= 0:
		return nil, errNoSize
	case size > int64(maxInt):
		size = int64(maxInt) // more than any pool; an int of 32 bits would cut it
	}
	b, err := a.pool.Alloc(int(size))
	if err != nil {
		return nil, err
	}
	a.rounded += recordedSize(len(b))
	return unsafe.Pointer(unsafe.SliceData(b)), nil
}

func (a *arena) Free(ptr unsafe.Pointer) {
	if n, err := a.pool.freePointer(ptr); err == nil && n > 0 {
		a.rounded -= recordedSize(n)
	}
}

func (a *arena) Dispose() {
	a.err = nil // whatever it was, the arena is disposed of now
	if a.pool.Close() == nil {
		a.rounded = 0
	}
}

func (a *arena) UsedSize() int64 {
	if a.pool.closed() {
		return 0
	}
	return arenaRecord + a.rounded
}

// recordedSize is what UsedSize counts for a block of n bytes: tlsf-go rounds up to its
// size classes, 32 for each power of two.
func recordedSize(n int) int64 {
	size := int64(roundUp(n, granule))
	step := int64(1) << max(bits.Len64(uint64(size))-6, 0)
	return (size+step-1)&^(step-1) + blockRecord
}
