package gomem

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// ReadByte consumes one byte. The error is [io.EOF] at the end, or the source's.
// O(1), never allocates once the reader has a block; inlined within a block.
func (b *BufReader) ReadByte() (byte, error) { return b.nextByte((*BufReader).readByteSlow) }

// nextByte is the fast path of ReadByte. Here and in the functions like it the
// slow path is a parameter: the compiler rates the call of a parameter at a third
// of another call, and so inlines the fast path, which costs less than a call
// does.
func (b *BufReader) nextByte(out func(*BufReader) (byte, error)) (c byte, err error) {
	if b.r >= b.w {
		return out(b)
	}
	c = b.buf[b.r]
	b.r++
	return
}

func (b *BufReader) readByteSlow() (byte, error) {
	defer b.guard()
	b.settle()
	if b.r == b.w {
		if err := b.more(); err != nil {
			return 0, err
		}
	}
	c := b.buf[b.r]
	b.r++
	return c, nil
}

// UnreadByte makes the last byte read unread again. It works once after any call, except
// WriteTo, that consumed bytes and did not fail, unless the bytes went straight to the
// caller's memory, as they may if that has room for a block or more. It works repeatedly
// as long as the bytes lie in the same block. With HoldViews it may fail after Release.
// If the byte belongs to a frame, it is in the next view, too: do not write to it there.
//
// The error is [ErrInvalidUnread] when there is no such byte. O(1).
func (b *BufReader) UnreadByte() error {
	if b.r == 0 {
		return ErrInvalidUnread
	}
	b.r--
	b.plain = 0 // the next call may give a view of the byte, and end where the last one did
	return nil
}

// number makes n bytes of a number available and returns them as a view.
func (b *BufReader) number(n, most int) ([]byte, error) {
	if n < 0 || n > most {
		return nil, tooWide(n, most)
	}
	b.settle()
	if err := b.flat(n); err != nil {
		return nil, b.short(err)
	}
	return b.buf[b.r : b.r+n], nil
}

// ReadBE32 consumes an unsigned number of n bytes, most significant first.
//
// Requires 0 <= n <= 4, else [ErrInvalidSize]; other errors as for Next. On error nothing
// is consumed. O(n); once the reader has a block, it allocates only for an error.
func (b *BufReader) ReadBE32(n int) (uint32, error) { return b.word(n, (*BufReader).readBE32Slow) }

// word is the fast path of ReadBE32.
func (b *BufReader) word(n int, out func(*BufReader, int) (uint32, error)) (v uint32, err error) {
	if n != 4 || b.w-b.r < 4 {
		return out(b, n)
	}
	v = binary.BigEndian.Uint32(b.buf[b.r:])
	b.r += 4
	return
}

func (b *BufReader) readBE32Slow(n int) (uint32, error) {
	v, err := b.bigEndian(n, 4)
	return uint32(v), err
}

// ReadBE64 consumes an unsigned number of n bytes, most significant first.
//
// Requires 0 <= n <= 8; otherwise as ReadBE32.
func (b *BufReader) ReadBE64(n int) (uint64, error) { return b.bigEndian(n, 8) }

func (b *BufReader) bigEndian(n, most int) (v uint64, err error) {
	var p []byte
	if r := b.r; uint(n) <= uint(most) && b.w-r >= n {
		p = b.buf[r : r+n]
	} else if p, err = b.number(n, most); err != nil {
		return 0, err
	}
	for _, c := range p {
		v = v<<8 | uint64(c)
	}
	b.r += n
	return v, nil
}

// ReadBE consumes an unsigned number of n bytes, most significant first.
//
// Requires 0 <= n <= 8; [ErrOverflow] if the value does not fit an int, with
// nothing consumed; otherwise as ReadBE32.
func (b *BufReader) ReadBE(n int) (int, error) {
	v, err := b.bigEndian(n, 8)
	return b.toInt(v, n, err)
}

// toInt puts the n bytes of a number back that an int cannot hold.
func (b *BufReader) toInt(v uint64, n int, err error) (int, error) {
	if err == nil && v > math.MaxInt {
		b.r -= n
		return 0, fmt.Errorf("%d in an int: %w", v, ErrOverflow)
	}
	return int(v), err
}

// ReadLE32 consumes an unsigned number of n bytes, least significant first.
//
// Requires 0 <= n <= 4; otherwise as ReadBE32.
func (b *BufReader) ReadLE32(n int) (uint32, error) {
	v, err := b.littleEndian(n, 4)
	return uint32(v), err
}

// ReadLE64 consumes an unsigned number of n bytes, least significant first.
//
// Requires 0 <= n <= 8; otherwise as ReadBE32.
func (b *BufReader) ReadLE64(n int) (uint64, error) { return b.littleEndian(n, 8) }

// ReadLE consumes an unsigned number of n bytes, least significant first.
//
// Requires 0 <= n <= 8; otherwise as ReadBE.
func (b *BufReader) ReadLE(n int) (int, error) {
	v, err := b.littleEndian(n, 8)
	return b.toInt(v, n, err)
}

func (b *BufReader) littleEndian(n, most int) (uint64, error) {
	v, err := b.bigEndian(n, most)
	if err != nil {
		return 0, err
	}
	return bits.ReverseBytes64(v) >> (64 - 8*n), nil
}

// ReadLEB128 consumes an unsigned LEB128 number of at most 64 bits and returns it
// together with its length in bytes.
//
// The error is [ErrOverflow] beyond 64 bits; other errors as for Next. On error
// nothing is consumed. O(length), never waits for more than the number's own bytes; once
// the reader has a block, it allocates only for an error.
func (b *BufReader) ReadLEB128() (v uint64, n int, err error) {
	for n = 1; ; n++ {
		if b.w-b.r < n {
			b.settle()
			if err := b.flat(n); err != nil {
				return 0, 0, b.short(err)
			}
		}
		c := b.buf[b.r+n-1]
		if n == 10 && c > 1 {
			return 0, 0, fmt.Errorf("LEB128 beyond 64 bits: %w", ErrOverflow)
		}
		v |= uint64(c&0x7f) << (7 * (n - 1))
		if c < 0x80 {
			b.r += n
			return v, n, nil
		}
	}
}

// LEB128Unmarshal is ReadLEB128 for a uint: a value that does not fit one is
// [ErrOverflow], too, with nothing consumed.
func (b *BufReader) LEB128Unmarshal() (uint, int, error) {
	v, n, err := b.ReadLEB128()
	if err == nil && v > math.MaxUint {
		b.r -= n
		return 0, 0, fmt.Errorf("%d in a uint: %w", v, ErrOverflow)
	}
	return uint(v), n, err
}
