// Package backing supplies the bytes that allocators hand out: whole mappings,
// obtained from the Go heap or from the operating system and given back whole.
//
// A [Source] never splits, searches or counts blocks; that is the work of the
// packages above it.
package backing

import "errors"

// ErrOutOfMemory is wrapped by every error of [Source.Map] that means the
// source has no more memory to give, beside the system's own errno.
var ErrOutOfMemory = errors.New("out of memory")

// Source hands out mappings. A Source is safe for use by several goroutines.
type Source interface {
	// Name is a short word for reports: "heap", "mmap".
	Name() string

	// Map returns a mapping of exactly size bytes, all zero, with cap == len,
	// aligned to PageSize(). size must be positive; a source rounds up to its
	// pages internally. An mmap source touches no page of it. The error wraps
	// ErrOutOfMemory and the errno; nothing is left mapped then.
	Map(size int) ([]byte, error)

	// Unmap gives a mapping back, whole, exactly as Map returned it. No slice
	// of it may be used afterwards. On error the mapping is still the
	// caller's.
	Unmap(mem []byte) error

	// Release tells the system that the contents of mem, a page-aligned part
	// of a mapping, are not needed: its physical pages may go now, and the
	// bytes read as zero or as before. Best effort: a source that cannot do
	// it does nothing and returns nil.
	Release(mem []byte) error

	// PageSize is the alignment of mappings and the unit of Release, in bytes.
	PageSize() int
}
