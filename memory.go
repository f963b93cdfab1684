package gomem

import (
	"bytes"
	"io"
	"net"
	"slices"
	"unsafe"
)

// Memory is a chain of buffers that is used as one sequence of bytes.
//
//	Buffers  [ h e l ] [ ] [ l o ]        Size 5
//
// The invariant: Size is the sum of the lengths of Buffers. The methods keep
// it; a program that changes Buffers itself adjusts Size too.
//
// A Memory holds buffers but does not own them: nothing is copied when they are
// added, and how long a buffer is valid is up to its owner. Copying a Memory by
// value copies the chain, not the bytes: a later Push, Append, UpdateBuffer,
// ClipFront or Reset on one of the two does not affect the other, as long as
// only one of them is appended to (they share spare capacity, like two slices
// of one array).
//
// A Memory may be read by several goroutines at once, but changed only while no
// other uses it.
type Memory struct {
	Size int
	// Buffers is shared by all copies of the chain. Do not convert it to net.Buffers: its
	// WriteTo clears the elements, and every other holder then sends nothing. Use
	// [Memory.WriteTo], or net.Buffers(slices.Clone(m.Buffers)).
	Buffers [][]byte
}

// minChain is the number of buffers the first growth of a chain makes room for.
const minChain = 4

// NewMemory returns a chain that holds the one buffer buf, without a copy.
// O(1), one allocation.
func NewMemory(buf []byte) Memory {
	return Memory{Size: len(buf), Buffers: [][]byte{buf}}
}

// PushOne adds b at the end of the chain, without a copy. Amortized O(1): a
// full chain doubles, which moves the headers of its buffers but no byte.
func (m *Memory) PushOne(b []byte) {
	if len(m.Buffers) == cap(m.Buffers) {
		m.grow(1)
	}
	m.Buffers = append(m.Buffers, b)
	m.Size += len(b)
}

// grow makes room for n more buffers at least, and doubles the room. The standard
// growth of a long slice is a quarter at a time, which moves every header four times
// on its way.
func (m *Memory) grow(n int) {
	switch {
	case m.Buffers == nil && n <= minChain:
		m.Buffers = make([][]byte, 0, minChain) // of a constant size: faster
	case len(m.Buffers) == 0:
		m.Buffers = make([][]byte, 0, max(n, roomFor(m.Buffers)))
	default:
		m.Buffers = slices.Grow(m.Buffers, max(n, len(m.Buffers), minChain))
	}
}

// resets is where the empty lists of emptied chains lie, each as far behind the start
// as there shall be room when it grows. They have no room there, so nothing is written.
var resets [256][]byte

// emptyAfter is what is left of a list of n buffers: an empty one that knows how much
// room to make at once for as many again and a quarter more.
func emptyAfter(n int) [][]byte {
	if n <= minChain {
		return nil
	}
	return unsafe.Slice(&resets[min(n+n/4, len(resets)-1)], 0)
}

// roomFor is the room that an empty list knows of, 0 if it is not of emptyAfter.
func roomFor(empty [][]byte) int {
	// Safety: the addresses are compared and never followed.
	at := uintptr(unsafe.Pointer(unsafe.SliceData(empty))) - uintptr(unsafe.Pointer(&resets))
	if at >= unsafe.Sizeof(resets) {
		return 0
	}
	return int(at / unsafe.Sizeof(resets[0]))
}

// Push adds the buffers b at the end of the chain, in order, without a copy.
// Amortized O(len(b)).
func (m *Memory) Push(b ...[]byte) {
	if len(b) > cap(m.Buffers)-len(m.Buffers) {
		m.grow(len(b))
	}
	m.Buffers = append(m.Buffers, b...)
	for _, buf := range b {
		m.Size += len(buf)
	}
}

// Append adds the buffers of other at the end of the chain, without a copy, and
// returns m. A chain may be appended to itself. Amortized O(other.Count()).
func (m *Memory) Append(other Memory) *Memory {
	if len(other.Buffers) > cap(m.Buffers)-len(m.Buffers) {
		m.grow(len(other.Buffers))
	}
	m.Buffers = append(m.Buffers, other.Buffers...)
	m.Size += other.Size
	return m
}

// CopyFrom adds the bytes of other at the end of the chain, as one new buffer
// on the Go heap that is independent of other. A nil or empty other adds
// nothing. O(other.Size); allocates the buffer, and the list when that grows.
func (m *Memory) CopyFrom(other *Memory) {
	if other == nil || other.Size == 0 {
		return
	}
	m.PushOne(other.ToBytes())
}

// UpdateBuffer replaces the buffer at index by buf and adjusts Size. A
// negative index counts from the end: -1 is the last buffer. If there is no
// such buffer nothing changes. The slice headers are copied, so that a copy of
// the chain made earlier keeps the old buffer: O(Count()), one allocation.
func (m *Memory) UpdateBuffer(index int, buf []byte) { m.TryUpdateBuffer(index, buf) }

// TryUpdateBuffer is [Memory.UpdateBuffer], and reports whether there is a buffer
// at index; if not, nothing changes.
func (m *Memory) TryUpdateBuffer(index int, buf []byte) bool {
	if index < 0 {
		index += len(m.Buffers)
	}
	if index < 0 || index >= len(m.Buffers) {
		return false
	}
	m.Size += len(buf) - len(m.Buffers[index])
	m.Buffers = slices.Clone(m.Buffers)
	m.Buffers[index] = buf
	return true
}

// Reset empties the chain. It drops the array of buffers, so a copy of the
// chain made earlier stays as it is; refilling a chain of up to 255 buffers to the same
// length allocates its array once. A program that has no such copies may keep the array,
// and allocate nothing:
//
//	m.Size, m.Buffers = 0, m.Buffers[:0]
//
// O(1), never allocates.
func (m *Memory) Reset() {
	m.Buffers = emptyAfter(len(m.Buffers))
	m.Size = 0
}

// Count is the number of buffers in the chain, empty ones included. O(1).
func (m *Memory) Count() int { return len(m.Buffers) }

// Range calls yield with every buffer in order: views, valid as long as the
// buffers themselves. O(Count()), never allocates.
func (m *Memory) Range(yield func([]byte)) {
	for _, b := range m.Buffers {
		yield(b)
	}
}

// ToBytes returns a copy of all bytes in one slice on the Go heap, owned by
// the caller. O(Size), one allocation.
func (m *Memory) ToBytes() []byte {
	if m.Size == 0 {
		return []byte{}
	}
	// Join does not clear the memory that it is about to fill.
	b := bytes.Join(m.Buffers, nil)
	return b[:len(b):len(b)]
}

// CopyTo copies the bytes into buf, as many as fit. O(Size), never allocates.
func (m *Memory) CopyTo(buf []byte) {
	for _, b := range m.Buffers {
		n := copy(buf, b)
		if n < len(b) {
			return
		}
		buf = buf[n:]
	}
}

// Equal reports whether m and other hold the same bytes, however they are cut
// into buffers. A nil other equals an empty chain. O(Size), never allocates.
func (m *Memory) Equal(other *Memory) bool {
	if other == nil {
		return m.Size == 0
	}
	if m.Size != other.Size {
		return false
	}
	var rest []byte
	next := 0
	for _, b := range m.Buffers {
		for len(b) > 0 {
			for len(rest) == 0 {
				if next == len(other.Buffers) {
					return false
				}
				rest = other.Buffers[next]
				next++
			}
			n := min(len(b), len(rest))
			if !bytes.Equal(b[:n], rest[:n]) {
				return false
			}
			b, rest = b[n:], rest[n:]
		}
	}
	return true
}

// WriteTo writes all bytes to w and returns how many it wrote; the chain does
// not change. On a TCP or Unix connection the buffers are sent with writev if the system
// has it, as many in each call as it takes (1,024 on Linux). On a packet connection they
// are sent as one packet, for which they are copied together unless the connection is one
// of package net and one call of writev takes them all.
//
// The error is w's, io.ErrShortWrite if w stopped early without one, or
// [ErrInvalidWrite] if its count is impossible. [io.ErrUnexpectedEOF] says that Size
// exceeds the bytes there are, as after net.Buffers(m.Buffers).WriteTo, which clears the
// elements. O(Size); allocates only for writev and for a packet.
func (m *Memory) WriteTo(w io.Writer) (int64, error) { return writeViews(w, m.Buffers, m.Size) }

// writeViews writes views of size bytes to w, in order, as [Memory.WriteTo] does.
func writeViews(w io.Writer, views [][]byte, size int) (int64, error) {
	n, err := writeOut(w, views)
	if err == nil && n < int64(size) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// writeOut is writeViews without the question if that was all.
func writeOut(w io.Writer, views [][]byte) (int64, error) {
	if len(views) > 1 && hasWritev(w, len(views)) {
		return writev(w, views)
	} else if len(views) > 1 && isPacketConn(w) {
		n, err := writeAll(w, bytes.Join(views, nil))
		return int64(n), err
	}
	var total int64
	for _, b := range views {
		n, err := writeAll(w, b)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// hasWritev reports whether net.Buffers gets that many buffers to w as Write gets one:
// to a stream, or with one writev.
func hasWritev(w io.Writer, buffers int) bool {
	switch c := w.(type) {
	case *net.TCPConn:
		return true
	case *net.UnixConn:
		at := c.LocalAddr()
		return buffers <= maxWritev || at != nil && at.Network() == "unix" // a stream
	case *net.UDPConn, *net.IPConn:
		return buffers <= maxWritev
	}
	return false
}

// isPacketConn reports whether each Write to w may become a packet.
func isPacketConn(w io.Writer) bool {
	_, ok := w.(net.PacketConn)
	return ok
}

// writeAll writes b, if there is anything to write, and believes no count that
// cannot be true.
func writeAll(w io.Writer, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := w.Write(b)
	if n < 0 || n > len(b) {
		return 0, ErrInvalidWrite
	}
	if n < len(b) && err == nil {
		err = io.ErrShortWrite
	}
	return n, err
}

// NewReader returns a reader at the first byte of m. It reads m itself, not a
// copy. O(1), never allocates.
func (m *Memory) NewReader() MemoryReader {
	return MemoryReader{Memory: m, Length: m.Size}
}
