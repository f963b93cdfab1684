// Package backing supplies the bytes that allocators hand out: whole mappings,
// obtained from the Go heap or from the operating system and given back whole.
//
// A [Source] never splits, searches or counts blocks; that is the work of the
// packages above it.
package backing

import (
	"errors"
	"fmt"
)

// The errors of a source; compare with errors.Is. An error also wraps the
// system's errno, if there is one.
var (
	// ErrOutOfMemory: there is no more memory for Map to return.
	ErrOutOfMemory = errors.New("out of memory")
	// ErrInvalidSize: Map was asked for zero bytes or fewer.
	ErrInvalidSize = errors.New("invalid size")
	// ErrNotMapped: the slice is not a mapping of this source, is no longer
	// one, or is only a part of one.
	ErrNotMapped = errors.New("not a mapping")
)

// Source hands out mappings. A Source is safe for use by several goroutines.
type Source interface {
	// Name is a short word for reports: "heap", "mmap".
	Name() string

	// Map returns a mapping of exactly size bytes, all zero, with cap == len,
	// aligned to PageSize(). size must be positive; a source rounds up to its
	// pages internally. An mmap source touches no page of it. On error
	// nothing is left mapped; the error wraps ErrOutOfMemory and the errno, or
	// ErrInvalidSize if size is not positive.
	Map(size int) ([]byte, error)

	// Unmap gives a mapping back, whole, exactly as Map returned it. No slice
	// of it may be used afterwards. On error the mapping is still the
	// caller's.
	Unmap(mem []byte) error

	// Release tells the system that the contents of mem, a page-aligned part
	// of a mapping, are no longer needed: it may take the physical pages, and
	// the bytes then read as zero or as before. This is best effort: a source
	// that cannot do it does nothing and returns nil. Allocators release free memory
	// while others work in the rest of the mapping; see [ReleaseUnit].
	Release(mem []byte) error

	// PageSize is the alignment of mappings and the unit of Release, in bytes: a
	// power of two.
	PageSize() int
}

// Map is s.Map for callers that cannot trust s: a mapping that is empty or of another
// length, or not aligned to pages and to 16 bytes, or in pages of a size that is no power
// of two, goes back to s, and the error says so and wraps ErrOutOfMemory.
func Map(s Source, size int) ([]byte, error) {
	mem, err := s.Map(size)
	if err != nil {
		return nil, err
	}
	page := s.PageSize()
	if size > 0 && len(mem) == size && page > 0 && page&(page-1) == 0 && misalignment(mem, max(page, leastAlign)) == 0 {
		return mem, nil
	}
	err = fmt.Errorf("%w: source %s, with pages of %d bytes, returned %d bytes at %p instead of %d",
		ErrOutOfMemory, s.Name(), page, len(mem), mem, size)
	if len(mem) > 0 {
		err = errors.Join(err, s.Unmap(mem))
	}
	return nil, err
}

// ReleaseUnit returns in pieces of how many bytes an allocator gives free memory back to s
// while the rest of a mapping is in use: a power of two, or 0 if it is not worth the
// trouble. That is 0 for [Heap], and for [Mmap] with [Populate] or [Locked], whose memory
// is to be there at any time; 2 MiB with [HugePages]; what a source says that has a method
// ReleaseUnit() int; and the PageSize of every other one.
func ReleaseUnit(s Source) int {
	if u, ok := s.(interface{ ReleaseUnit() int }); ok {
		return u.ReleaseUnit()
	}
	return s.PageSize()
}

// leastAlign is what allocators rely on, whatever a source calls a page.
const leastAlign = 16

// MapUnzeroed is [Map] without the promise of zeros, for callers that write
// before they read: the bytes hold whatever they held before. Only [Heap]
// benefits, when the runtime would have to clear memory that the program has
// used before.
func MapUnzeroed(s Source, size int) ([]byte, error) {
	if u, ok := s.(interface{ mapUnzeroed(int) ([]byte, error) }); ok {
		return u.mapUnzeroed(size)
	}
	return Map(s, size)
}

// Protector is implemented by a [Source] that can protect its mappings: any
// access to protected memory faults. Debug modes use it to catch a use after
// free where it happens.
//
// mem must be a mapping, or a part of one that consists of whole pages. Anything
// else that is not made of whole pages is refused with ErrNotMapped before the
// system is asked. Whether whole pages belong to a mapping is not checked: pages of
// the Go heap would fault as well. A source that cannot protect returns
// errors.ErrUnsupported.
type Protector interface {
	// Protect makes every access to mem fault, keeping its contents.
	Protect(mem []byte) error

	// Unprotect makes mem readable and writable again.
	Unprotect(mem []byte) error
}
