// Package trace reads and writes recordings of an allocator's operations.
//
// # Binary form
//
// One little-endian uint32 per operation. A value below 2³¹ allocates that many
// bytes and gets the next id: 0, 1, 2 and so on. A value with the top bit set
// frees the id in its low 31 bits.
//
// # Text form
//
// One operation per line, in UTF-8; empty lines and lines that start with # are
// skipped. The ids are written out, and count up from 0 as above:
//
//	# one request
//	malloc 0 4096
//	malloc 1 64
//	free 0
//	free 1
//
// A stream whose first four bytes are all printable or white space is taken for text;
// only after a # or a byte order mark may they be other letters than those of ASCII. Read
// as binary they would be one allocation of at least 144 MiB, or a free. Either form may
// be compressed with gzip, whose first four bytes would be one of 560,927 bytes, or of
// that and a multiple of 16 MiB. What this package writes begins with neither: see
// [opening].
package trace

import (
	"errors"
	"fmt"
)

// FreeBit marks an operation that frees.
const FreeBit = 1 << 31

// The reasons to refuse a trace; each arrives in an [*OpError].
var (
	// ErrTruncated: the stream ends inside an operation.
	ErrTruncated = errors.New("the trace is truncated")
	// ErrUnknownID: a free of an id that no allocation before it has.
	ErrUnknownID = errors.New("free of an unknown id")
	// ErrDoubleFree: an id is freed for the second time.
	ErrDoubleFree = errors.New("id freed twice")
	// ErrUnsorted: the ids of a text trace do not count up from 0.
	ErrUnsorted = errors.New("ids are not in order")
	// ErrSyntax: a line of a text trace is not an operation.
	ErrSyntax = errors.New("not an operation")
	// ErrTooLarge: the trace goes past a limit of [Limits].
	ErrTooLarge = errors.New("the trace is past the limit")
)

// OpError says which operation of a trace is wrong, and why.
type OpError struct {
	Op     int // counts from 0
	Line   int // of the text form, from 1; 0 in the binary form
	Detail string
	Err    error
}

func (e *OpError) Error() string {
	at := fmt.Sprintf("operation %d", e.Op)
	if e.Line > 0 {
		at = fmt.Sprintf("line %d, operation %d", e.Line, e.Op)
	}
	if e.Detail == "" {
		return fmt.Sprintf("%s: %v", at, e.Err)
	}
	return fmt.Sprintf("%s: %v: %s", at, e.Err, e.Detail)
}

func (e *OpError) Unwrap() error { return e.Err }

// Limits bounds what a trace may ask for, so that a hostile one is refused
// before it takes the machine's memory. A field that is 0 sets no limit.
type Limits struct {
	Ops  int   // operations in the file
	Live int64 // bytes live at once
}

// Trace is a checked recording: each free names a live block.
type Trace struct {
	// Ops holds the operations in the binary form, with the frees of what is
	// live at the end appended, so that a replay ends with nothing held. An
	// allocation of 0 bytes is stored as one of 1.
	Ops []uint32
	// Sizes holds the size of each id.
	Sizes []uint32
	// Recorded is the number of operations before the appended frees.
	Recorded int
	// PeakBytes and PeakBlocks are the most that is live at once.
	PeakBytes  int64
	PeakBlocks int
	// TotalBytes is the sum of all allocations.
	TotalBytes int64
}

// New checks the operations and closes them. Requires nothing: any ops are
// either accepted or refused with an [*OpError]. Keeps no reference to ops.
// Cost: O(len(ops)), and about 9 bytes of memory for each.
func New(ops []uint32, limits Limits) (*Trace, error) {
	b := builder{limits: limits}
	for _, op := range ops {
		if err := b.add(op); err != nil {
			return nil, err
		}
	}
	return b.trace(), nil
}

// MeanBytes returns the mean size of a block, 0 for an empty trace.
func (t *Trace) MeanBytes() float64 {
	return float64(t.TotalBytes) / float64(max(len(t.Sizes), 1))
}

// FirstChunk is how many bytes a growing allocator begins with in a replay: 1 MiB or, where
// the program never has that much, 64 KiB. More would be its peak backing whatever it does.
func (t *Trace) FirstChunk() int {
	if t.PeakBytes < 1<<20 {
		return 64 << 10
	}
	return 1 << 20
}

// builder checks operations one at a time, as they are decoded.
type builder struct {
	t         Trace
	limits    Limits
	line      int    // that of the text form which is read
	next      uint32 // the id of the next block
	live      []bool
	liveBytes int64
	blocks    int
}

func (b *builder) fail(err error, format string, args ...any) error {
	return &OpError{Op: len(b.t.Ops), Line: b.line, Detail: fmt.Sprintf(format, args...), Err: err}
}

func (b *builder) add(op uint32) error {
	if b.limits.Ops > 0 && len(b.t.Ops) >= b.limits.Ops {
		return b.fail(ErrTooLarge, "more than %d operations", b.limits.Ops)
	}
	if op&FreeBit != 0 {
		return b.free(int64(op &^ FreeBit))
	}
	size := max(op, 1)
	if b.limits.Live > 0 && b.liveBytes+int64(size) > b.limits.Live {
		return b.fail(ErrTooLarge, "%d bytes on top of %d live ones, limit %d", size, b.liveBytes, b.limits.Live)
	}
	if b.next == FreeBit {
		return b.fail(ErrTooLarge, "no id is left")
	}
	b.next++
	b.t.Ops = append(b.t.Ops, size)
	b.t.Sizes = append(b.t.Sizes, size)
	b.live = append(b.live, true)
	b.blocks++
	b.liveBytes += int64(size)
	b.t.TotalBytes += int64(size)
	b.t.PeakBytes = max(b.t.PeakBytes, b.liveBytes)
	b.t.PeakBlocks = max(b.t.PeakBlocks, b.blocks)
	return nil
}

func (b *builder) free(id int64) error {
	if id >= int64(len(b.live)) {
		return b.fail(ErrUnknownID, "%d, of %d", id, len(b.live))
	}
	if !b.live[id] {
		return b.fail(ErrDoubleFree, "%d", id)
	}
	b.live[id] = false
	b.blocks--
	b.liveBytes -= int64(b.t.Sizes[id])
	b.t.Ops = append(b.t.Ops, FreeBit|uint32(id))
	return nil
}

// trace appends the frees of what is live and hands the trace over.
func (b *builder) trace() *Trace {
	b.t.Recorded = len(b.t.Ops)
	for id, live := range b.live {
		if live {
			b.t.Ops = append(b.t.Ops, FreeBit|uint32(id))
		}
	}
	return &b.t
}
