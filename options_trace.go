package gomem

import (
	"io"

	"github.com/gomem-go/gomem/internal/trace"
)

// WithTrace writes a trace of the blocks that the allocator hands out and
// takes back to w, in the format that the command gomem replay reads: record
// a program once, then see which placement and which backing suit it best.
//
// The trace has one operation for each block and one for its free, in the order
// in which memory changed hands. The format knows only whole blocks: a block that is
// freed in parts counts as live at its full length, also after FreeRest, until its
// last byte is freed. Refused and failed operations, borrows and alignment are not
// recorded. Recycle is recorded as frees of all live blocks. A block of 2 GiB or more
// is written as one byte less than 2 GiB, and the first block up to 95 bytes larger
// if its size would make the file look like text or gzip.
//
// Writes are buffered: Close writes out the rest and returns the first error of
// w, after which nothing more was written; a panic in w, which ends the call that
// wrote, counts as one. If the allocator is not closed, the end of the trace is
// missing. Close does not close w, and each allocator needs a w of its own.
//
// A recorded allocator places every block directly in its chunks, not in
// slots, and all operations share a lock, which is held while w is written to.
// So w must not use the allocator. Neither may a source of your own, nor the function
// given to WithMisuse when it is told of damage that WithDebug or WithSampledGuard found.
// Each live block takes up to 100 bytes more, and one that is freed in parts about 80 for
// each part that is left. A nil w changes nothing.
func WithTrace(w io.Writer) Option {
	return func(s *settings) {
		if w != nil {
			s.Record = trace.NewRecorder(w)
		}
	}
}
