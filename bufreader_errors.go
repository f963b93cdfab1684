package gomem

import (
	"errors"
	"fmt"
)

// The errors of [BufReader] besides those of its source; compare with errors.Is.
var (
	// ErrRecycled: the reader has no source: it was recycled, or never given one.
	ErrRecycled = errors.New("reader was recycled or has no source")
	// ErrTooLong: the input exceeds a limit of the reader; returned as a
	// [*LimitError].
	ErrTooLong = errors.New("input exceeds a limit of the reader")
	// ErrInvalidRead: the source returned a count outside [0, len(p)].
	ErrInvalidRead = errors.New("source returned an invalid count from Read")
	// ErrInvalidWrite: a writer returned a count outside [0, len(p)].
	ErrInvalidWrite = errors.New("writer returned an invalid count from Write")
	// ErrInvalidUnread: there is no byte that UnreadByte could put back.
	ErrInvalidUnread = errors.New("no byte to unread")
	// ErrOverflow: the number read does not fit the result type, or one more reference
	// does not fit the count.
	ErrOverflow = errors.New("number does not fit the result")
)

// invalidSize refuses a negative n.
func invalidSize(op string, n int) error {
	return fmt.Errorf("%s of %d bytes: %w", op, n, ErrInvalidSize)
}

// invalidRead refuses a source's count n for room bytes.
func invalidRead(n, room int) error {
	return fmt.Errorf("%w: %d for %d bytes", ErrInvalidRead, n, room)
}

// LimitError says which limit of a [BufReader] the input exceeds. Nothing was consumed,
// except by ReadMIMEHeader the lines before, and nothing was allocated for the part
// beyond the limit.
type LimitError struct {
	Op    string // the method that refused
	Limit string // the field or argument that holds the limit, such as MaxLineBytes; or "header lines"
	Max   int    // its value
	Size  int    // what the input asked for; a lower bound if its end was not seen
}

// Error names the method, the limit and both sizes.
func (e *LimitError) Error() string {
	unit := "bytes"
	if e.Limit == headerLines {
		unit = "lines"
	}
	return fmt.Sprintf("%s: %d %s exceed %s = %d", e.Op, e.Size, unit, e.Limit, e.Max)
}

// Unwrap makes errors.Is(err, ErrTooLong) hold.
func (e *LimitError) Unwrap() error { return ErrTooLong }
