package gomem

import (
	"fmt"
	"io"
)

// MemoryReader reads a [Memory] from front to back, across its buffers.
//
//	Buffers  [ 1 2 3 ] [ 4 5 6 ] [ 7 8 ]
//	                       ^ off 1 in cur, next 2; Length 4, Offset() 4
//
// Length is the number of bytes not yet read. A program that pushes a buffer to
// the Memory of a reader must add its length to Length to make it readable;
// lowering Length ends the reading early. Apart from that a Memory must not
// change while it is read, except through the reader's ClipFront.
//
// A call that asks for more bytes than are left consumes nothing and returns
// io.EOF if none are left, else io.ErrUnexpectedEOF; a negative count is
// refused with [ErrInvalidSize]. Empty buffers are skipped. If Length says more than
// there is, the first call that misses a byte returns io.ErrUnexpectedEOF, or nothing,
// and sets Length to what there is: a loop until Length is 0 ends.
//
// Methods that return bytes of the Memory itself say so: those are views,
// valid as long as the buffers. ToBytes, CopyTo, Equal and WriteTo of a reader
// refer to the bytes not yet read; Size and Count remain those of the whole
// Memory.
//
// A MemoryReader is for one goroutine; several may read one Memory, each with a
// reader of its own. A copy of a reader reads on independently. The zero value has
// nothing to read, and no Memory: set that field before calling a method of Memory
// itself, such as Push and Count.
type MemoryReader struct {
	*Memory
	Length int
	cur    []byte            // the buffer being read: Buffers[next-1]; nil before the first
	off    int               // how much of cur has been read, 0 <= off <= len(cur)
	next   int               // index of the buffer after cur
	owner  *RecyclableMemory // what Memory is part of, if it gives back
}

var (
	_ io.Reader      = (*MemoryReader)(nil)
	_ io.ByteScanner = (*MemoryReader)(nil)
	_ io.WriterTo    = (*MemoryReader)(nil)
)

// NewReadableBuffersFromBytes returns a reader of the buffers b, in order, without a
// copy. The slice b itself is kept and never changed: leave it as it is while the
// reader is in use. O(len(b)); a reader that stays in its function allocates nothing,
// else one allocation.
func NewReadableBuffersFromBytes(b ...[]byte) MemoryReader {
	m := &Memory{Buffers: b[:len(b):len(b)]}
	for _, buf := range b {
		m.Size += len(buf)
	}
	return MemoryReader{Memory: m, Length: m.Size}
}

// fill moves on to the buffer that holds the next byte and reports whether
// there is one. After a true result cur[off:] is not empty.
func (r *MemoryReader) fill() bool {
	if r.Length <= 0 {
		return false
	}
	for r.off >= len(r.cur) {
		if r.Memory == nil || r.next >= len(r.Buffers) {
			return false
		}
		r.cur, r.off = r.Buffers[r.next], 0
		r.next++
	}
	return true
}

// need reports why n bytes cannot be read, nil if they can. What is called often
// asks first, to save the call.
func (r *MemoryReader) need(n int) error {
	switch {
	case n < 0:
		return fmt.Errorf("read of %d bytes: %w", n, ErrInvalidSize)
	case n <= r.Length:
		return nil
	case r.Length <= 0:
		return io.EOF
	}
	return io.ErrUnexpectedEOF
}

// gather copies the next len(p) bytes to p, across buffers, and consumes
// nothing. It returns the number copied, which is short only at the end.
func (r *MemoryReader) gather(p []byte) int {
	if len(p) > r.Length {
		p = p[:max(r.Length, 0)]
	}
	n := copy(p, r.cur[r.off:])
	for i := r.next; n < len(p) && r.Memory != nil && i < len(r.Buffers); i++ {
		n += copy(p[n:], r.Buffers[i])
	}
	return n
}

// have is how many of the next n bytes there are, 0 <= n <= Length.
func (r *MemoryReader) have(n int) int {
	found := len(r.cur) - r.off
	for i := r.next; found < n && r.Memory != nil && i < len(r.Buffers); i++ {
		found += len(r.Buffers[i])
	}
	return min(found, n)
}

// short corrects Length, which says more than the n bytes that there are.
func (r *MemoryReader) short(n int) error {
	r.Length = n
	return io.ErrUnexpectedEOF
}

// advance consumes n bytes, n <= Length, or none if there are not so many.
func (r *MemoryReader) advance(n int) error {
	r.Length -= n
	left := n - (len(r.cur) - r.off)
	if left <= 0 {
		r.off += n
		return nil
	}
	for i := r.next; r.Memory != nil && i < len(r.Buffers); i++ {
		if b := r.Buffers[i]; left <= len(b) {
			r.cur, r.off, r.next = b, left, i+1
			return nil
		}
		left -= len(r.Buffers[i])
	}
	return r.short(n - left)
}

// Read copies as many of the next bytes to p as are left and fit, and
// consumes them; unlike most readers it fills p across buffers. The first
// call that finds nothing left returns io.EOF, which never comes together
// with bytes. O(len(p)), never allocates.
func (r *MemoryReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.Length <= 0 {
		return 0, io.EOF
	}
	n := r.gather(p)
	if n == 0 {
		return 0, r.short(0)
	}
	return n, r.advance(n)
}

// ReadByte returns the next byte and consumes it. O(1), never allocates; inlined
// within a buffer.
func (r *MemoryReader) ReadByte() (byte, error) { return r.nextByte((*MemoryReader).readByteSlow) }

// nextByte is the fast path of ReadByte. Here and in the functions like it the
// slow path is a parameter: the compiler rates the call of a parameter at a third
// of another call, and so inlines the fast path, which costs less than a call
// does.
func (r *MemoryReader) nextByte(out func(*MemoryReader) (byte, error)) (b byte, err error) {
	if uint(r.off) >= uint(len(r.cur)) || r.Length <= 0 {
		return out(r)
	}
	b = r.cur[r.off]
	r.off++
	r.Length--
	return
}

func (r *MemoryReader) readByteSlow() (byte, error) {
	if !r.fill() {
		if r.Length > 0 {
			return 0, r.short(0)
		}
		return 0, io.EOF
	}
	b := r.cur[r.off]
	r.off++
	r.Length--
	return b, nil
}

// UnreadByte gives the last byte back. The error is [ErrInvalidUnread] if no byte has
// been read. O(1) within a buffer.
func (r *MemoryReader) UnreadByte() error { return r.TryUnread(1) }

// ReadByteMask is ReadByte with the result masked: it returns byte & mask. O(1).
func (r *MemoryReader) ReadByteMask(mask byte) (byte, error) {
	b, err := r.ReadByte()
	return b & mask, err
}

// ReadByteTo reads one byte into each of the targets, in order; a nil target
// skips its byte. With fewer bytes left than targets it consumes none and
// writes none. O(len(b)), never allocates.
func (r *MemoryReader) ReadByteTo(b ...*byte) error {
	if err := r.need(len(b)); err != nil {
		return err
	}
	if have := r.have(len(b)); have < len(b) {
		return r.short(have)
	}
	for _, to := range b {
		c, _ := r.ReadByte() // it is there
		if to != nil {
			*to = c
		}
	}
	return nil
}

// ReadBytes returns a copy of the next n bytes on the Go heap, owned by the
// caller. O(n), one allocation, made only if the n bytes are there.
func (r *MemoryReader) ReadBytes(n int) ([]byte, error) {
	if n < 0 || n > r.Length {
		return nil, r.need(n)
	}
	if r.fill() && n <= len(r.cur)-r.off {
		from := r.cur[r.off : r.off+n]
		b := make([]byte, len(from)) // of the length of what is copied: not cleared
		copy(b, from)
		r.off += n
		r.Length -= n
		return b, nil
	}
	if have := r.have(n); have < n {
		return nil, r.short(have)
	}
	b := make([]byte, n)
	r.gather(b)
	return b, r.advance(n)
}

// Skip consumes n bytes. O(1) within a buffer, inlined, else O(buffers passed);
// allocates for an error only.
func (r *MemoryReader) Skip(n int) error { return r.pass(n, (*MemoryReader).skipSlow) }

// pass is the fast path of Skip.
func (r *MemoryReader) pass(n int, out func(*MemoryReader, int) error) error {
	if uint(n) <= uint(len(r.cur)-r.off) && n <= r.Length {
		r.off += n
		r.Length -= n
		return nil
	}
	return out(r, n)
}

func (r *MemoryReader) skipSlow(n int) error {
	if n < 0 || n > r.Length {
		return r.need(n)
	}
	return r.advance(n)
}

// Unread gives the last n bytes back, across buffers, so that they are read
// again. If n is negative, more than has been read, or more than ClipFront has
// left, nothing changes; [MemoryReader.TryUnread] says why. O(1) within a buffer,
// else O(buffers passed); allocates only if nothing changes.
func (r *MemoryReader) Unread(n int) { _ = r.TryUnread(n) }

// TryUnread is [MemoryReader.Unread] with the reason when nothing changes: the
// error wraps [ErrInvalidUnread], or [ErrInvalidSize] if n is negative. The cost is
// that of Unread; allocates for an error only.
func (r *MemoryReader) TryUnread(n int) error {
	if n < 0 {
		return fmt.Errorf("unread of %d bytes: %w", n, ErrInvalidSize)
	}
	if n <= r.off {
		r.off -= n
		r.Length += n
		return nil
	}
	left, i := n-r.off, r.next-1
	for left > 0 {
		i--
		if i < 0 || r.Memory == nil || i >= len(r.Buffers) {
			return fmt.Errorf("unread of %d bytes, %d were read: %w", n, n-left, ErrInvalidUnread)
		}
		left -= len(r.Buffers[i])
	}
	r.cur, r.off, r.next = r.Buffers[i], -left, i+1
	r.Length += n
	return nil
}

// Offset is the number of bytes read so far, Size minus Length. O(1).
func (r *MemoryReader) Offset() int {
	if r.Memory == nil {
		return 0
	}
	return r.Size - r.Length
}

// MoveToEnd consumes everything, Length bytes. O(buffers passed), never allocates.
func (r *MemoryReader) MoveToEnd() {
	if r.advance(max(r.Length, 0)) != nil {
		_ = r.advance(r.Length) // which says now what there is
	}
	r.Length = 0
}

// GetCurrent returns the unread bytes of the current buffer as a view, and
// consumes nothing; nil when nothing is left. O(1), never allocates.
func (r *MemoryReader) GetCurrent() []byte {
	if !r.fill() {
		r.Length = 0
		return nil
	}
	n := min(len(r.cur)-r.off, r.Length)
	return r.cur[r.off : r.off+n : r.off+n]
}

// Pop returns the unread bytes of the current buffer as a view and consumes
// them; nil when nothing is left. O(1), never allocates.
func (r *MemoryReader) Pop() []byte {
	b := r.GetCurrent()
	r.off += len(b)
	r.Length -= len(b)
	return b
}
