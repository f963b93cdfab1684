package heap

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/guard"
	"github.com/gomem-go/gomem/offset"
)

// The errors of the engine; package gomem documents them for users.
var (
	ErrDoubleFree  = offset.ErrDoubleFree
	ErrNotOwned    = offset.ErrNotOwned
	ErrInvalidSize = offset.ErrInvalidSize
	ErrOutOfMemory = backing.ErrOutOfMemory
	ErrLimit       = errors.New("memory limit reached")
	ErrClosed      = errors.New("allocator is closed")
)

// MisuseError is a refused free: the range by address, and why.
type MisuseError struct {
	Addr uintptr // of the first byte
	Size int     // bytes
	Err  error   // ErrDoubleFree, ErrNotOwned or ErrInvalidSize, or an error that wraps one
}

// Error names the range and the reason.
func (e *MisuseError) Error() string {
	return fmt.Sprintf("gomem: free of %d bytes at %#x refused: %v", e.Size, e.Addr, e.Err)
}

// Unwrap makes errors.Is find the reason.
func (e *MisuseError) Unwrap() error { return e.Err }

// misuse counts a refused free of b and names it.
func (h *Heap) misuse(why error, b []byte) error {
	h.refused.Add(1)
	return &MisuseError{Addr: uintptr(unsafe.Pointer(unsafe.SliceData(b))), Size: len(b), Err: why}
}

// Refuse counts and reports a misuse that the caller found.
func (h *Heap) Refuse(b []byte, why error) {
	if h.debug != nil {
		why = guard.FreedAt(why, guard.Callers(h.debug.depth))
	}
	h.reported(h.misuse(why, b))
}
