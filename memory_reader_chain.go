package gomem

import (
	"bytes"
	"io"
	"net"
)

// Range calls yield with the unread bytes of every buffer in order, as views,
// and consumes each before it calls yield with it. With a nil yield it only
// consumes. O(buffers), never allocates.
func (r *MemoryReader) Range(yield func([]byte)) {
	r.RangeN(r.Length, yield)
}

// RangeN is Range for the next n bytes, or for all that are left if there are
// fewer; the last view is cut to fit. A negative n counts as zero. If the reader no
// longer has its Memory, or the Memory the buffer being read, yield is not called.
func (r *MemoryReader) RangeN(n int, yield func([]byte)) {
	for n > 0 && r.Length > 0 {
		i, start := r.next-1, r.off
		if start >= len(r.cur) {
			i, start = r.next, 0
		}
		gone := r.Memory == nil || uint(i) >= uint(len(r.Buffers))
		if gone || start > len(r.Buffers[i]) {
			if i < r.next { // what was being read is not in the Memory any more
				r.cur, r.off = nil, 0
			}
			if gone {
				r.Length = 0
			}
			return
		}
		// Where the reader is: a view cut from cur would be the same, but for the
		// compiler all that r refers to would leave with it, and a Memory in a variable
		// move to the heap.
		b := r.Buffers[i]
		take := min(n, r.Length, len(b)-start)
		r.cur, r.off, r.next = b, start+take, i+1
		r.Length -= take
		n -= take
		if take > 0 && yield != nil {
			yield(b[start : start+take : start+take])
		}
	}
}

// ClipFront removes the bytes that have been read from the Memory, and calls
// yield (which may be nil) with each removed piece, which the Memory then no
// longer holds. The result of yield is ignored; it exists so that an
// allocator's Free fits. Reading continues where it was, and clipped bytes
// cannot be unread.
//
// For a reader from [RecyclableMemory.NewReader], what yield gets is the caller's
// to free, and what is removed without a yield is freed by Recycle. What CopyFrom of a
// RecyclableMemory took from the Go heap is not passed to yield. If yield panics, Recycle
// frees what yield was not called with.
//
// Copies of the Memory, and the slice of buffers the reader was made from, stay
// as they are; so what is removed stays reachable through the array of that slice as
// long as the Memory uses it.
//
// O(buffers removed) if reading has stopped between two buffers. Inside a buffer
// ClipFront copies the list of those that are left: O(Count()), one allocation; so clip a
// long chain only now and then. If a RecyclableMemory that frees by list holds buffers of
// someone else, O(Count()) and an allocation for more than a few of them.
func (r *MemoryReader) ClipFront(yield func([]byte) bool) {
	if r.Memory == nil || r.next > len(r.Buffers) {
		return
	}
	m, old := r.Memory, r.Buffers
	whole, part := r.next-1, r.off
	if r.off >= len(r.cur) {
		whole, part = r.next, 0
	} else {
		part = min(part, len(old[whole]))
	}
	dropped := part
	for _, b := range old[:whole] {
		dropped += len(b)
	}
	owner := r.recyclable()
	switch {
	case whole == len(old):
		m.Buffers = nil
	case part == 0:
		m.Buffers = old[whole:]
		if owner != nil {
			owner.inside = owner.inside || whole > 0
		}
	default:
		m.Buffers = append(make([][]byte, 0, 2*(len(old)-whole)), old[whole:]...)
		m.Buffers[0] = m.Buffers[0][part:]
	}
	m.Size -= dropped
	r.cur, r.off, r.next = nil, 0, 0
	switch {
	case yield != nil:
		owner.handOver(old, whole, part, yield)
	case owner != nil:
		owner.clipped(old, whole, part)
	}
}

// ToBytes returns a copy of the bytes not yet read, which the caller owns, and
// consumes nothing. O(Length), one allocation.
func (r *MemoryReader) ToBytes() []byte {
	b := make([]byte, r.have(max(r.Length, 0)))
	return b[:r.gather(b)]
}

// CopyTo copies the bytes not yet read into buf, as many as fit, and consumes
// nothing. O(Length), never allocates.
func (r *MemoryReader) CopyTo(buf []byte) { r.gather(buf) }

// Equal reports whether the bytes not yet read are those of other, however they
// are cut into buffers, and consumes nothing. O(Length), never allocates.
func (r *MemoryReader) Equal(other *Memory) bool {
	var o MemoryReader
	if other != nil {
		o = other.NewReader()
	}
	if max(r.Length, 0) != o.Length {
		return false
	}
	rest := *r
	for rest.Length > 0 {
		a, b := rest.GetCurrent(), o.GetCurrent()
		n := min(len(a), len(b))
		if n == 0 || !bytes.Equal(a[:n], b[:n]) {
			return false
		}
		rest.off += n
		rest.Length -= n
		o.off += n
		o.Length -= n
	}
	return true
}

// Reset empties the Memory and the reader. O(1); for a reader from
// [RecyclableMemory.NewReader] it is [RecyclableMemory.Reset].
func (r *MemoryReader) Reset() {
	if owner := r.recyclable(); owner != nil {
		owner.Reset()
	} else if r.Memory != nil {
		r.Memory.Reset()
	}
	*r = MemoryReader{Memory: r.Memory, owner: r.owner}
}

// recyclable is the memory that is read if it gives back, else nil.
func (r *MemoryReader) recyclable() *RecyclableMemory {
	if r.owner == nil || r.Memory != &r.owner.Memory {
		return nil
	}
	return r.owner
}

// WriteTo writes the bytes not yet read to w and consumes those that w took,
// so that io.Copy continues where reading stopped. On a TCP or Unix connection the
// buffers are sent with writev if the system has it, up to 1,024 in each call; on a
// packet connection they are sent as one packet, see [Memory.WriteTo].
//
// The error is w's, io.ErrShortWrite if w stopped early without one, or
// [ErrInvalidWrite] if its count is impossible; bytes that were not written remain
// unread. [io.ErrUnexpectedEOF] says that Length exceeds the bytes there are. O(Length);
// allocates only for writev and for a packet.
func (r *MemoryReader) WriteTo(w io.Writer) (int64, error) {
	var total int64
	behind := 0 // buffers
	if r.Memory != nil {
		behind = max(len(r.Buffers)-r.next, 0)
	}
	switch {
	case behind == 0:
	case hasWritev(w, behind+1):
		rest := *r
		list := make(net.Buffers, 0, behind+1)
		for rest.fill() {
			list = append(list, rest.Pop())
		}
		n, err := list.WriteTo(w)
		_ = r.advance(int(n)) // they are there
		if err != nil {
			return n, err
		}
		total = n // what follows is nothing, or less than Length says
	case isPacketConn(w):
		n, err := writeAll(w, r.ToBytes())
		_ = r.advance(n)
		if err != nil {
			return int64(n), err
		}
		total = int64(n)
	}
	for r.fill() {
		n, err := writeAll(w, r.GetCurrent())
		r.off += n
		r.Length -= n
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	if r.Length > 0 {
		return total, r.short(0)
	}
	return total, nil
}
