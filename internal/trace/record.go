package trace

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"unsafe"
)

// Recorder writes the operations of a running allocator in the binary form. A
// block that is freed in parts is written as freed with its last byte.
//
// It runs each operation under its own lock, so that the order in the trace is
// the order in which memory changed hands. Any goroutine may call any method.
type Recorder struct {
	mu      sync.Mutex
	out     *bufio.Writer
	err     error // the first failure; nothing is written after it
	next    uint32
	pages   map[uintptr][]recorded // by the page that they start in
	parts   map[uint32]int         // how many ranges are left of a block, if it is not one
	largest uintptr                // bytes of the largest block so far
}

// recorded is a range of live bytes: a block, or one of those that are left of a
// block which was freed in part. New blocks may lie between them.
type recorded struct {
	start, end uintptr
	id         uint32
}

const pageShift = 12

var (
	// errTooMany: the format has no more ids.
	errTooMany = errors.New("a trace has room for 2³¹ blocks")
	// errPanicked: nobody knows how much was written.
	errPanicked = errors.New("the writer of the trace panicked")
)

// NewRecorder returns a recorder that writes to w. The caller closes it, which
// writes out what is buffered; w stays open.
func NewRecorder(w io.Writer) *Recorder {
	return &Recorder{out: bufio.NewWriterSize(w, 64<<10), pages: map[uintptr][]recorded{}, parts: map[uint32]int{}}
}

// Malloc runs alloc and records the block that it returns, if there is no error
// and the block is not empty.
func (r *Recorder) Malloc(alloc func() ([]byte, error)) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := alloc()
	if err == nil && len(b) > 0 {
		r.add(address(b), uintptr(len(b)))
	}
	return b, err
}

// Free runs free and, unless it refuses, records that the bytes of b are free.
// Bytes that the recorder does not know are not recorded: those of blocks from
// before it was made.
func (r *Recorder) Free(b []byte, free func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := free(); err != nil {
		return err
	}
	for at, left := address(b), uintptr(len(b)); left > 0; {
		freed := r.drop(at, left)
		if freed == 0 {
			break
		}
		at, left = at+freed, left-freed
	}
	return nil
}

// Reset records that every block is free, for an allocator that gives all back
// at once.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ranges := range r.pages {
		for _, b := range ranges {
			r.gone(b.id)
		}
	}
	clear(r.pages)
}

// Close writes out what is buffered and returns the first failure to write.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
	return r.err
}

func (r *Recorder) flush() {
	if r.err == nil {
		r.err = errPanicked // unless it returns
		r.err = r.out.Flush()
	}
}

func (r *Recorder) write(op uint32) {
	if r.err != nil {
		return
	}
	var word [4]byte
	binary.LittleEndian.PutUint32(word[:], op)
	r.err = errPanicked // unless it returns
	_, r.err = r.out.Write(word[:])
}

func (r *Recorder) add(start, size uintptr) {
	if r.next == FreeBit {
		r.flush() // what came before stays valid
		r.err = cmp.Or(r.err, errTooMany)
		return
	}
	r.keep(recorded{start, start + size, r.next})
	op := uint32(min(size, FreeBit-1))
	if r.next == 0 {
		op = opening(op)
	}
	r.largest = max(r.largest, size)
	r.next++
	r.write(op)
}

func (r *Recorder) keep(b recorded) {
	page := b.start >> pageShift
	r.pages[page] = append(r.pages[page], b)
}

// drop takes up to n bytes at address at from the range that has them and
// returns how many that were, 0 if none has them.
func (r *Recorder) drop(at, n uintptr) uintptr {
	// A range that has the byte starts in this page or in one not further back
	// than the largest block is long.
	page := at >> pageShift
	for back := uintptr(0); back <= r.largest>>pageShift+1 && back <= page; back++ {
		for i, b := range r.pages[page-back] {
			if at < b.start || at >= b.end {
				continue
			}
			r.remove(page-back, i)
			freed := min(n, b.end-at)
			left := 0
			for _, rest := range [2]recorded{{b.start, at, b.id}, {at + freed, b.end, b.id}} {
				if rest.start < rest.end {
					r.keep(rest)
					left++
				}
			}
			switch left {
			case 0:
				r.gone(b.id)
			case 2:
				r.parts[b.id] = max(r.parts[b.id], 1) + 1
			}
			return freed
		}
	}
	return 0
}

// gone notes that a range of block id is no more, which frees the block if it
// was the last.
func (r *Recorder) gone(id uint32) {
	if left := r.parts[id]; left > 1 {
		r.parts[id] = left - 1
		return
	}
	delete(r.parts, id)
	r.write(FreeBit | id)
}

func (r *Recorder) remove(page uintptr, i int) {
	ranges := r.pages[page]
	ranges[i] = ranges[len(ranges)-1]
	if ranges = ranges[:len(ranges)-1]; len(ranges) == 0 {
		delete(r.pages, page)
		return
	}
	r.pages[page] = ranges
}

// address is where b starts, as a number.
//
// Safety: compared with other addresses while the block is live, by whoever
// holds the lock; never turned back into a pointer.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
