// Package backing supplies the bytes that allocators hand out: whole mappings,
// obtained from the Go heap or from the operating system and given back whole.
//
// A [Source] never splits, searches or counts blocks; that is the work of the
// packages above it.
package backing

import "errors"

// The errors of a source; compare with errors.Is. The system's errno is wrapped
// beside them.
var (
	// ErrOutOfMemory: Map has no more memory to give.
	ErrOutOfMemory = errors.New("out of memory")
	// ErrInvalidSize: Map was asked for zero bytes or fewer.
	ErrInvalidSize = errors.New("invalid size")
	// ErrNotMapped: the slice is not a mapping of this source, or not one any
	// more, or only a part of one.
	ErrNotMapped = errors.New("not a mapping")
)

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

// MapUnzeroed is s.Map without the promise of zeros, for those who write before
// they read: the bytes are whatever they were. Only [Heap] gains by it, when the
// runtime would have to clear memory that the program has used before.
func MapUnzeroed(s Source, size int) ([]byte, error) {
	if u, ok := s.(interface{ mapUnzeroed(int) ([]byte, error) }); ok {
		return u.mapUnzeroed(size)
	}
	return s.Map(size)
}

// Protector is implemented by a [Source] whose mappings the processor can
// guard: any access to protected memory faults. Debug modes use it to catch a
// use after free where it happens.
//
// mem must be a mapping, or a part of one that starts and ends on a page. What is
// neither a mapping nor made of whole pages is refused with ErrNotMapped before the
// system is asked. That pages belong to a mapping is not checked: those of the Go
// heap would fault as well. A source that cannot protect answers
// errors.ErrUnsupported.
type Protector interface {
	// Protect makes every access to mem fault, keeping its contents.
	Protect(mem []byte) error

	// Unprotect makes mem readable and writable again.
	Unprotect(mem []byte) error
}
