package trace

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"sync"
	"unsafe"
)

// Recorder writes the operations of a running allocator in the binary form. A
// block that is freed in parts is written as freed with its last byte.
//
// It runs each operation under its own lock, so that the order in the trace is
// the order in which memory changed hands. Any goroutine may call any method.
type Recorder struct {
	mu    sync.Mutex
	out   *bufio.Writer
	err   error // the first failure; nothing is written after it
	next  uint32
	live  lengths
	parts map[uint32]int // how many ranges are left of a block, if it is not one
}

// recorded is a range of live bytes: a block, or one of those that are left of a
// block which was freed in part. New blocks may lie between them.
type recorded struct {
	start, end uintptr
	id         uint32
}

// lengths has the live ranges. Those of class k are longer than 2^(k-1) bytes, up to 2^k;
// as they do not overlap, at most one of them begins in each 2^(k-1) bytes, by whose number
// it is entered. So the range around a byte is found in three looks for each class.
type lengths [bits.UintSize + 1]map[uintptr]recorded

// class is that of n bytes, and width the binary logarithm of the bytes in which one of
// them begins at most.
func class(n uintptr) (k, width int) {
	k = bits.Len64(uint64(n - 1))
	return k, max(k-1, 0)
}

func (l *lengths) add(b recorded) {
	k, width := class(b.end - b.start)
	if l[k] == nil {
		l[k] = make(map[uintptr]recorded)
	}
	l[k][b.start>>width] = b
}

func (l *lengths) remove(b recorded) {
	k, width := class(b.end - b.start)
	delete(l[k], b.start>>width)
}

// find returns the range that has the byte at address at. It looks first for one of n
// bytes that begins there.
func (l *lengths) find(at, n uintptr) (b recorded, ok bool) {
	k, width := class(n)
	if b, ok = l[k][at>>width]; ok && b.start == at {
		return b, true
	}
	for k := range l {
		if len(l[k]) == 0 {
			continue
		}
		first := at >> max(k-1, 0)
		for back := range min(first+1, 3) {
			if b = l[k][first-back]; at-b.start < b.end-b.start {
				return b, true
			}
		}
	}
	return recorded{}, false
}

// all yields the ranges, in no order.
func (l *lengths) all(yield func(recorded) bool) {
	for _, ranges := range l {
		for _, b := range ranges {
			if !yield(b) {
				return
			}
		}
	}
}

var (
	// errTooMany: the format has no more ids.
	errTooMany = errors.New("a trace has room for 2³¹ blocks")
	// errPanicked: nobody knows how much was written.
	errPanicked = errors.New("the writer of the trace panicked")
)

// NewRecorder returns a recorder that writes to w. The caller closes it, which
// writes out what is buffered; w stays open.
func NewRecorder(w io.Writer) *Recorder {
	return &Recorder{out: bufio.NewWriterSize(w, 64<<10), parts: map[uint32]int{}}
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
	for b := range r.live.all {
		r.gone(b.id)
	}
	r.live = lengths{}
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
	r.live.add(recorded{start, start + size, r.next})
	op := uint32(min(size, FreeBit-1))
	if r.next == 0 {
		op = opening(op)
	}
	r.next++
	r.write(op)
}

// drop takes up to n bytes at address at from the range that has them and
// returns how many that were, 0 if none has them.
func (r *Recorder) drop(at, n uintptr) uintptr {
	b, ok := r.live.find(at, n)
	if !ok {
		return 0
	}
	r.live.remove(b)
	freed := min(n, b.end-at)
	left := 0
	for _, rest := range [2]recorded{{b.start, at, b.id}, {at + freed, b.end, b.id}} {
		if rest.start < rest.end {
			r.live.add(rest)
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

// address is where b starts, as a number.
//
// Safety: compared with other addresses while the block is live, by whoever
// holds the lock; never turned back into a pointer.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
