package heap

import (
	"errors"
	"fmt"
	"strings"
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

// errGone is why a free is refused after Close.
var errGone = fmt.Errorf("%w: %w", ErrNotOwned, ErrClosed)

// notOwned is why a free is refused of what begins in no chunk. Under mu.
func (h *Heap) notOwned() error {
	if h.closed {
		return errGone
	}
	return ErrNotOwned
}

// MisuseError is a refused free: the range by address, and why.
type MisuseError struct {
	Addr uintptr // of the first byte; 0 for a frame that was released too often
	Size int     // bytes
	Err  error   // ErrDoubleFree, ErrNotOwned, ErrInvalidSize or ErrReleased, or an error that wraps one
}

// Error names the range and the reason.
func (e *MisuseError) Error() string {
	if e.Addr == 0 {
		return fmt.Sprintf("gomem: free of %d bytes refused: %v", e.Size, e.Err)
	}
	return fmt.Sprintf("gomem: free of %d bytes at %#x refused: %v", e.Size, e.Addr, e.Err)
}

// Unwrap makes errors.Is find the reason.
func (e *MisuseError) Unwrap() error { return e.Err }

// growthError is by how many bytes the heap was to grow, and why it did not. The text of
// this and of fullError is made when somebody asks: who evicts from a cache whenever he is
// refused a block does not.
type growthError struct {
	bytes int
	why   error
}

func (e *growthError) Error() string {
	return fmt.Sprintf("gomem: growing by %d bytes: %v", e.bytes, e.why)
}

func (e *growthError) Unwrap() error { return e.why }

// fullError is ErrLimit, or ErrOutOfMemory where there is no limit, with the bytes that
// count towards it.
type fullError struct {
	why                             error
	mapped, guards, leaving, coming int
	limit                           int
}

func (e *fullError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%v: %d bytes mapped", e.why, e.mapped)
	for _, more := range []struct {
		bytes int
		are   string
	}{{e.guards, "between guard pages"}, {e.leaving, "being unmapped"}, {e.coming, "being mapped"}} {
		if more.bytes > 0 {
			fmt.Fprintf(&s, ", %d %s", more.bytes, more.are)
		}
	}
	if e.why == ErrLimit {
		fmt.Fprintf(&s, ", limit %d", e.limit)
	} else {
		s.WriteString(", more cannot be counted")
	}
	return s.String()
}

func (e *fullError) Unwrap() error { return e.why }

// misuse counts a refused free of b and names it.
func (h *Heap) misuse(why error, b []byte) error {
	h.refused.Add(1)
	return &MisuseError{Addr: uintptr(unsafe.Pointer(unsafe.SliceData(b))), Size: len(b), Err: why}
}

// Refuse counts and reports a misuse that the caller found.
func (h *Heap) Refuse(b []byte, why error) {
	h.reported(h.misuse(h.withStack(why), b))
}

// RefuseRelease is Refuse for a release of n bytes of which it is not known where they
// were. Only in debug mode.
func (h *Heap) RefuseRelease(n int, why error) {
	h.refused.Add(1)
	h.reported(&MisuseError{Size: n, Err: h.withStack(why)})
}

// withStack is why with the stack of the caller, in debug mode.
func (h *Heap) withStack(why error) error {
	if h.debug != nil {
		why = guard.FreedAt(why, guard.Callers(h.debug.depth))
	}
	return why
}

// Watched says whether the heap is in debug mode.
func (h *Heap) Watched() bool { return h != nil && h.debug != nil }
