package gomem

import (
	"bytes"
	"fmt"
	"io"
)

// ReadLine consumes a line and returns a copy of it without its ending "\n" or
// "\r\n", owned by the caller. The last line may lack an ending.
//
// The error is [io.EOF] when nothing is left, a [*LimitError] if the next
// MaxLineBytes bytes contain no ending, or the source's. On error nothing is
// consumed. If a line that was cut off must not pass for a whole one, use ReadUntil,
// which then returns [io.ErrUnexpectedEOF]. O(length): each byte is looked at once, and
// one string is allocated.
func (b *BufReader) ReadLine() (string, error) {
	since := b.sight()
	n, err := b.line("ReadLine", limitOf(b.MaxLineBytes, DefaultMaxLineBytes))
	if err != nil {
		return "", err
	}
	if b.w-b.r >= n {
		p := b.buf[b.r : b.r+n]
		b.r += n
		b.passed(since)
		return string(trimEnding(p)), nil
	}
	p := make([]byte, n)
	b.copyOut(p, since)
	return unsafeString(trimEnding(p)), nil
}

// line makes the next line available and returns its length with the ending.
func (b *BufReader) line(op string, limit int) (int, error) {
	n, err := b.until(op, '\n', limit)
	if err == io.EOF && b.Buffered() > 0 {
		return b.Buffered(), nil
	}
	return n, err
}

func trimEnding(p []byte) []byte {
	if n := len(p); n > 0 && p[n-1] == '\n' {
		if n > 1 && p[n-2] == '\r' {
			n--
		}
		return p[:n-1]
	}
	return p
}

// until makes everything up to the first delim available and returns its length,
// delim included. At the end of the stream the error is plain io.EOF.
func (b *BufReader) until(op string, delim byte, limit int) (int, error) {
	if i := bytes.IndexByte(b.buf[b.r:b.w], delim); i >= 0 && i < limit {
		return i + 1, nil
	}
	b.settle()
	n, err := b.untilFrom(delim, new(spot), limit)
	if n > limit {
		return 0, &LimitError{Op: op, Limit: "MaxLineBytes", Max: limit, Size: n}
	}
	return n, err
}

// spot is how far a search came in the unread bytes. Reading on does not move it:
// the blocks that are searched stay where they are in the row.
type spot struct {
	from int // offset up to which was searched
	part int // the part that has it, or the one before: see BufReader.part
	base int // offset of that part
}

// part is the unread bytes of the front, for 0, or of a block behind it.
func (b *BufReader) part(i int) []byte {
	if i == 0 {
		return b.buf[b.r:b.w]
	}
	s := &b.queue.list()[i-1]
	return s.blk.mem[s.r:s.w]
}

// untilFrom is until for delim at or behind a spot, which moves behind it. A result
// beyond limit says that there is more than that up to delim, so much at least, and is
// for the caller to refuse: an error is the source's, or of memory.
func (b *BufReader) untilFrom(delim byte, at *spot, limit int) (int, error) {
	defer b.guard()
	for {
		if n := b.index(delim, at) + 1; n > 0 {
			return n, nil
		}
		if have := b.Buffered(); have >= limit {
			return max(have, limit+1), nil
		}
		if err := b.more(); err != nil {
			return 0, err
		}
	}
}

// index returns where the first c at or behind a spot lies in the unread bytes, or
// -1, and moves the spot behind what it looked at.
func (b *BufReader) index(c byte, at *spot) int {
	for parts := 1 + len(b.queue.list()); ; at.part++ {
		p := b.part(at.part)
		if i := bytes.IndexByte(p[at.from-at.base:], c); i >= 0 {
			at.from += i + 1
			return at.from - 1
		}
		at.from = at.base + len(p)
		if at.part == parts-1 {
			return -1
		}
		at.base = at.from
	}
}

// ReadSlice consumes everything up to and including the first delim and returns
// it as a view, valid until the next call on the reader.
//
// As with bufio, at the end of the stream it returns the bytes that are left
// together with [io.EOF]. A [*LimitError] beyond MaxLineBytes and an error of
// the source come without bytes, and consume nothing. O(length); copies only
// across blocks.
func (b *BufReader) ReadSlice(delim byte) ([]byte, error) {
	n, err := b.until("ReadSlice", delim, limitOf(b.MaxLineBytes, DefaultMaxLineBytes))
	if err == io.EOF {
		n = b.Buffered()
	} else if err != nil {
		return nil, err
	}
	v, merr := b.cut(n)
	if merr != nil {
		if err != nil {
			b.err = err // the end is for the call that gets the bytes
		}
		return nil, merr
	}
	return v, err
}

// cut consumes n bytes, all present, and returns them in one piece.
func (b *BufReader) cut(n int) ([]byte, error) {
	if b.w-b.r < n {
		if err := b.merge(n); err != nil {
			return nil, err
		}
	}
	v := b.buf[b.r : b.r+n : b.r+n]
	b.r += n
	return v, nil
}

// ReadUntil consumes everything up to and including the first delim, which must
// not be empty, and returns it as a view, valid until the next call on the
// reader. The limit includes delim; zero means MaxLineBytes, less than zero no
// limit.
//
// On error nothing is consumed: [io.ErrUnexpectedEOF] or [io.EOF] if the stream
// ends before delim, a [*LimitError], [ErrInvalidSize] for an empty delim, or the
// source's. O(length · len(delim)) at worst; copies only across blocks.
func (b *BufReader) ReadUntil(delim []byte, limit int) ([]byte, error) {
	if len(delim) == 0 {
		return nil, fmt.Errorf("ReadUntil an empty delimiter: %w", ErrInvalidSize)
	}
	name := "MaxLineBytes"
	if limit > 0 {
		name = "limit"
	}
	limit = limitOf(limit, limitOf(b.MaxLineBytes, DefaultMaxLineBytes))
	b.settle()
	last := delim[len(delim)-1]
	for at := new(spot); ; {
		n, err := b.untilFrom(last, at, limit)
		switch {
		case err != nil:
			return nil, b.short(err)
		case n > limit:
			return nil, &LimitError{Op: "ReadUntil", Limit: name, Max: limit, Size: n}
		}
		if b.endsWith(delim, *at) {
			return b.cut(n)
		}
	}
}

// endsWith reports that the unread bytes up to a spot end with p.
func (b *BufReader) endsWith(p []byte, at spot) bool {
	for len(p) > 0 {
		if at.from == at.base {
			if at.part == 0 {
				return false
			}
			at.part--
			at.base -= len(b.part(at.part))
			continue
		}
		n := min(len(p), at.from-at.base)
		end := at.from - at.base
		if !bytes.Equal(b.part(at.part)[end-n:end], p[len(p)-n:]) {
			return false
		}
		p = p[:len(p)-n]
		at.from -= n
	}
	return true
}
