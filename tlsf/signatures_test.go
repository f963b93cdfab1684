package tlsf_test

import (
	"unsafe"

	"github.com/gomem-go/gomem/tlsf"
)

// The names that programs written against the predecessor use, each with the
// type it had there: this file compiles only while all of them are as they were.
type arena interface {
	Allocate(size int64) (unsafe.Pointer, error)
	Free(ptr unsafe.Pointer)
	Dispose()
	UsedSize() int64
}

var (
	_ func(uint32) tlsf.Arena = tlsf.NewArena
	_ error                   = tlsf.ErrBlockNotFound

	// Assignable both ways only if they have the same methods.
	_ arena      = tlsf.Arena(nil)
	_ tlsf.Arena = arena(nil)
)
