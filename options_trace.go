package gomem

import (
	"io"

	"github.com/gomem-go/gomem/internal/trace"
)

// WithTrace writes what the allocator hands out and takes back to w, in the
// format that the command gomem replay reads: record a program once, then see
// which placement and which backing suit it best.
//
// The trace has one operation for each block and one for its free, in the order
// in which memory changed hands. The format knows whole blocks alone: one that
// is freed in parts is written as freed with its last byte, and until then as
// live at its full length, also after FreeRest. What is refused or fails is not
// in it, nor is what is borrowed; alignment is not either. Recycle frees all
// that is live. A block of 2 GiB or more is written as a byte less than that, and the
// first one up to 95 bytes larger if its size would make the file look like text or
// gzip.
//
// Writes are buffered: Close writes out the rest and returns the first error of
// w, after which nothing more was written. An allocator that is not closed
// leaves a trace that lacks the end. Close does not close w, and each allocator
// needs a w of its own.
//
// A recorded allocator places every block in its chunks, not in slots, and all
// operations share a lock, which is held while w is written to: w must not use
// the allocator, nor may the function of WithMisuse when it is told of damage
// that WithDebug found. A live block takes up to 100 bytes more. nil
// changes nothing.
func WithTrace(w io.Writer) Option {
	return func(s *settings) {
		if w != nil {
			s.Record = trace.NewRecorder(w)
		}
	}
}
