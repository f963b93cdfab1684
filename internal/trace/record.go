package trace

import (
	"bufio"
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
	pages   map[uintptr][]recorded // live blocks by the page that they start in
	largest uintptr                // bytes of the largest block so far
}

// recorded is a live block.
type recorded struct {
	start uintptr
	size  uintptr
	live  uintptr // bytes not freed yet
	id    uint32
}

const pageShift = 12

// errTooMany: the format has no more ids.
var errTooMany = errors.New("a trace has room for 2³¹ blocks")

// NewRecorder returns a recorder that writes to w. The caller closes it, which
// writes out what is buffered; w stays open.
func NewRecorder(w io.Writer) *Recorder {
	return &Recorder{out: bufio.NewWriterSize(w, 64<<10), pages: map[uintptr][]recorded{}}
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
	for _, blocks := range r.pages {
		for _, b := range blocks {
			r.write(FreeBit | b.id)
		}
	}
	clear(r.pages)
}

// Close writes out what is buffered and returns the first failure to write.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = r.out.Flush()
	}
	return r.err
}

func (r *Recorder) write(op uint32) {
	if r.err != nil {
		return
	}
	var word [4]byte
	binary.LittleEndian.PutUint32(word[:], op)
	_, r.err = r.out.Write(word[:])
}

func (r *Recorder) add(start, size uintptr) {
	if r.next == FreeBit {
		r.err = errTooMany
		return
	}
	page := start >> pageShift
	r.pages[page] = append(r.pages[page], recorded{start, size, size, r.next})
	r.largest = max(r.largest, size)
	r.next++
	r.write(uint32(min(size, FreeBit-1)))
}

// drop takes up to n bytes at address at from the block that has them and
// returns how many that were, 0 if no block has them.
func (r *Recorder) drop(at, n uintptr) uintptr {
	// A block that has the byte starts in this page or in one not further back
	// than the largest block is long.
	page := at >> pageShift
	for back := uintptr(0); back <= r.largest>>pageShift+1 && back <= page; back++ {
		blocks := r.pages[page-back]
		for i := range blocks {
			b := &blocks[i]
			if at < b.start || at >= b.start+b.size {
				continue
			}
			freed := min(n, b.start+b.size-at, b.live)
			if b.live -= freed; b.live == 0 {
				r.write(FreeBit | b.id)
				r.remove(page-back, i)
			}
			return freed
		}
	}
	return 0
}

func (r *Recorder) remove(page uintptr, i int) {
	blocks := r.pages[page]
	blocks[i] = blocks[len(blocks)-1]
	if blocks = blocks[:len(blocks)-1]; len(blocks) == 0 {
		delete(r.pages, page)
		return
	}
	r.pages[page] = blocks
}

// address is where b starts, as a number.
//
// Safety: compared with other addresses while the block is live, by whoever
// holds the lock; never turned back into a pointer.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
