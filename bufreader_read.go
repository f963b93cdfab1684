package gomem

import (
	"fmt"
	"io"
	"math"
	"unsafe"
)

// The contracts of package io that the reader keeps.
var (
	_ io.Reader      = (*BufReader)(nil)
	_ io.ByteScanner = (*BufReader)(nil)
	_ io.WriterTo    = (*BufReader)(nil)
)

// unsafeString makes a string of bytes that nobody changes any more.
func unsafeString(p []byte) string {
	// Safety: the callers made p and drop it, so the string is its only user.
	return unsafe.String(unsafe.SliceData(p), len(p))
}

// Read copies the bytes that have arrived into p, and waits only if there are
// none. It copies at most one block, or reads straight from the source when p is
// at least as large as a block. To fill all of p use [BufReader.ReadBinary].
//
// It returns 0 < n <= len(p), or 0 and an error: [io.EOF] at the end,
// [io.ErrNoProgress] if the source keeps returning nothing, or the source's.
// O(n), never allocates once the reader has a block.
func (b *BufReader) Read(p []byte) (int, error) {
	if b.r == b.w {
		if n, err := b.readEmpty(p); n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
	n := copy(p, b.buf[b.r:b.w])
	b.r += n
	return n, nil
}

// readEmpty gets something into the front, or p filled past it.
func (b *BufReader) readEmpty(p []byte) (int, error) {
	defer b.guard()
	b.settle()
	if b.r < b.w {
		return 0, nil
	}
	if len(p) == 0 {
		err := b.err
		b.err = nil
		return 0, b.ended(err)
	}
	if b.err == nil && b.src != nil && len(p) >= b.blockLen() {
		b.vacateFront() // so that UnreadByte does not find what came before p
		n, err := b.pull(p)
		return n, b.ended(err)
	}
	return 0, b.more()
}

// ReadNto consumes n bytes and copies them to the beginning of to.
//
// Requires 0 <= n <= len(to), else [ErrInvalidSize] or [io.ErrShortBuffer]; other
// errors as for Next. On error nothing is consumed. O(n); if more than a block is not
// buffered yet, those bytes are read straight into to.
func (b *BufReader) ReadNto(n int, to []byte) error {
	switch {
	case n < 0:
		return invalidSize("ReadNto", n)
	case n > len(to):
		return fmt.Errorf("ReadNto of %d bytes into %d: %w", n, len(to), io.ErrShortBuffer)
	}
	_, err := b.fillUp(to[:n])
	return err
}

// ReadBinary fills bs with the next len(bs) bytes and returns that number, or 0
// and an error as for Next, with nothing consumed. It satisfies bufiox.Reader.
// O(n).
func (b *BufReader) ReadBinary(bs []byte) (int, error) { return b.fillUp(bs) }

// fillUp copies exactly len(p) bytes to p, or consumes none.
func (b *BufReader) fillUp(p []byte) (int, error) {
	if b.w-b.r >= len(p) {
		b.r += copy(p, b.buf[b.r:b.w])
		return len(p), nil
	}
	return b.fillSlow(p)
}

func (b *BufReader) fillSlow(p []byte) (int, error) {
	defer b.guard()
	since := b.sight()
	b.settle()
	if b.src == nil || b.Buffered() >= len(p) || len(p)-b.Buffered() < b.blockLen() {
		if err := b.chain(len(p), (*BufReader).more); err != nil {
			return 0, b.short(err)
		}
		b.copyOut(p, since)
		return len(p), nil
	}
	return b.fillRest(p, since)
}

// fillRest is fillSlow for what is longer than a block and not there yet: it reads
// straight into p, but for an end too short to be worth a read, and puts that back
// on an error.
func (b *BufReader) fillRest(p []byte, since sight) (int, error) {
	at := b.Buffered()
	b.copyOut(p[:at], since)
	b.vacateFront() // as in readEmpty
	for at < len(p) {
		var n int
		var err error
		if rest := p[at:]; b.err == nil && len(rest) >= b.least() {
			n, err = b.pull(rest)
		} else if err = b.more(); err == nil {
			n = min(len(rest), b.Buffered())
			b.copyOut(rest[:n], since)
		}
		at += n
		if err != nil {
			b.putBack(p[:at])
			return 0, b.short(err)
		}
	}
	return at, nil
}

// copyOut consumes len(p) bytes, all present, for a call without views.
func (b *BufReader) copyOut(p []byte, since sight) {
	for _, v := range b.take(len(p)) {
		p = p[copy(p, v):]
	}
	b.passed(since)
}

// putBack makes p unread again, in an empty reader. What the allocator has no room
// for goes to the Go heap: it must not be lost.
func (b *BufReader) putBack(p []byte) {
	b.giveUpFront()
	b.plain = 0 // the next call may give a view of p, and end where this one did on its way
	if len(p) == 0 {
		return
	}
	owner := b.Allocator
	mem := owner.Malloc(len(p))
	if mem == nil {
		owner, mem = nil, make([]byte, len(p))
	}
	copy(mem, p)
	b.front, b.buf, b.w = newBlock(mem, owner, b.shares), mem, len(p)
}

// Skip consumes n bytes, holding no more than a block of them at a time.
//
// The error is [ErrInvalidSize] for n < 0, with nothing consumed; otherwise
// [io.EOF] if there was no byte, [io.ErrUnexpectedEOF] if the stream ended within
// the n bytes, or the source's, with everything before it consumed. O(1) within a
// block, never allocates once the reader has one.
func (b *BufReader) Skip(n int) error { return b.pass(n, (*BufReader).skipSlow) }

// pass is the fast path of Skip, with the slow path as a parameter, as in nextByte.
func (b *BufReader) pass(n int, out func(*BufReader, int) (int, error)) error {
	if uint(n) <= uint(b.w-b.r) {
		b.r += n
		return nil
	}
	done, err := out(b, n)
	return truncated(err, done)
}

// Discard is Skip with the results of bufio's Discard: how many bytes were
// consumed and, if fewer than n, the reason, which is [io.EOF] for any end of the
// stream.
func (b *BufReader) Discard(n int) (int, error) { return b.leap(n, (*BufReader).discardSlow) }

// leap is the fast path of Discard, with the slow path as a parameter, as in nextByte.
func (b *BufReader) leap(n int, out func(*BufReader, int) (int, error)) (int, error) {
	if uint(n) <= uint(b.w-b.r) {
		b.r += n
		return n, nil
	}
	return out(b, n)
}

func (b *BufReader) skipSlow(n int) (int, error) { return b.discard("Skip", n) }

func (b *BufReader) discardSlow(n int) (int, error) { return b.discard("Discard", n) }

func (b *BufReader) discard(op string, n int) (int, error) {
	if n < 0 {
		return 0, invalidSize(op, n)
	}
	defer b.guard()
	left, since := n, b.sight()
	for b.settle(); left > b.w-b.r; b.settle() {
		b.unseen(since)
		left -= b.w - b.r
		b.r = b.w
		if b.queued == 0 {
			if err := b.more(); err != nil {
				b.passed(since)
				return n - left, err
			}
		}
	}
	b.r += left
	b.passed(since)
	return n, nil
}

// WriteTo writes the unread bytes and then the rest of the stream to w, block
// by block. It returns the number of bytes written; bytes that w did not take
// stay unread.
//
// The error is nil at the end of the stream, else the source's or w's,
// [io.ErrShortWrite] if w stopped without one, or [ErrInvalidWrite] if its
// count is impossible. O(bytes), never allocates once the reader has a block.
func (b *BufReader) WriteTo(w io.Writer) (int64, error) {
	n, end, err := b.pour(w, math.MaxInt64)
	if err == nil && end != io.EOF {
		err = end
	}
	return n, err
}

// CopyN writes the next n bytes to w, block by block as they arrive, so that a body is
// passed on without being held. It returns the number of bytes written; bytes that w did
// not take stay unread, as do those behind the n bytes.
//
// Requires n >= 0, else [ErrInvalidSize]. As with [io.CopyN] the error is nil if and only
// if n bytes were written. Otherwise it is the source's or w's: [io.EOF] if the stream
// ended before, [io.ErrShortWrite] if w stopped without an error, or [ErrInvalidWrite] if
// its count is impossible. O(n), never allocates once the reader has a block.
func (b *BufReader) CopyN(w io.Writer, n int64) (int64, error) {
	if n < 0 {
		return 0, fmt.Errorf("CopyN of %d bytes: %w", n, ErrInvalidSize)
	}
	done, end, err := b.pour(w, n)
	switch {
	case done == n:
		return n, nil
	case err == nil:
		err = end
	}
	return done, err
}

// pour writes up to n bytes to w and returns how many, and why not all: end if the source
// has no more, else err.
func (b *BufReader) pour(w io.Writer, n int64) (done int64, end, err error) {
	defer b.guard()
	since := b.sight()
	for done < n && end == nil && err == nil {
		b.settle()
		b.unseen(since)
		if b.r == b.w {
			end = b.more()
			continue
		}
		to := b.r + int(min(int64(b.w-b.r), n-done))
		k, werr := writeAll(w, b.buf[b.r:to:to])
		b.r = min(b.r+k, b.w) // w may have recycled the reader
		done += int64(k)
		err = werr
	}
	b.passed(since)
	return done, end, err
}
