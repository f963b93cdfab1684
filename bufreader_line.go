package gomem

import (
	"bytes"
	"io"
)

// ReadLine consumes a line and returns a copy of it without its ending "\n" or
// "\r\n", owned by the caller. The last line may lack an ending.
//
// The error is [io.EOF] when nothing is left, a [*LimitError] for a line longer
// than MaxLineBytes, ending included, or the source's; then nothing is consumed.
// O(length): each byte is looked at once, and one string allocated.
func (b *BufReader) ReadLine() (string, error) {
	n, err := b.line("ReadLine", limitOf(b.MaxLineBytes, DefaultMaxLineBytes))
	if err != nil {
		return "", err
	}
	if b.w-b.r >= n {
		p := b.buf[b.r : b.r+n]
		b.r += n
		return string(trimEnding(p)), nil
	}
	p := make([]byte, n)
	b.copyOut(p)
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
	return b.untilFrom(op, delim, 0, limit)
}

// untilFrom is until for an offset up to which delim was looked for.
func (b *BufReader) untilFrom(op string, delim byte, from, limit int) (int, error) {
	defer b.guard()
	for {
		n := b.index(delim, from) + 1
		if n > limit || n == 0 && b.Buffered() >= limit {
			return 0, &LimitError{Op: op, Limit: "MaxLineBytes", Max: limit, Size: max(n, b.Buffered())}
		}
		if n > 0 {
			return n, nil
		}
		from = b.Buffered()
		if err := b.more(); err != nil {
			return 0, err
		}
	}
}

// index returns where the first c at or behind offset from lies in the unread
// bytes, or -1.
func (b *BufReader) index(c byte, from int) int {
	base, part := 0, b.buf[b.r:b.w]
	for i := 0; ; i++ {
		if skip := max(from-base, 0); skip < len(part) {
			if at := bytes.IndexByte(part[skip:], c); at >= 0 {
				return base + skip + at
			}
		}
		if i == len(b.queue) {
			return -1
		}
		base += len(part)
		s := b.queue[i]
		part = s.blk.mem[s.r:s.w]
	}
}

// ReadSlice consumes everything up to and including the first delim and returns
// it as a view, valid until the next call on the reader.
//
// As with bufio, the end of the stream gives what was left together with
// [io.EOF]. A [*LimitError] beyond MaxLineBytes and an error of the source come
// with nothing, and consume nothing. O(length); copies only across blocks.
func (b *BufReader) ReadSlice(delim byte) ([]byte, error) {
	n, err := b.until("ReadSlice", delim, limitOf(b.MaxLineBytes, DefaultMaxLineBytes))
	if err == io.EOF {
		n = b.Buffered()
	} else if err != nil {
		return nil, err
	}
	v, merr := b.cut(n)
	if merr != nil {
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
// reader. The limit counts delim; zero means MaxLineBytes, less than zero none.
//
// On error nothing is consumed: [io.ErrUnexpectedEOF] or [io.EOF] if delim does
// not come, a [*LimitError], [ErrInvalidSize] for an empty delim, or the source's.
// O(length · len(delim)) at worst; copies only across blocks.
func (b *BufReader) ReadUntil(delim []byte, limit int) ([]byte, error) {
	if len(delim) == 0 {
		return nil, ErrInvalidSize
	}
	own := limit > 0
	limit = limitOf(limit, limitOf(b.MaxLineBytes, DefaultMaxLineBytes))
	b.settle()
	last := delim[len(delim)-1]
	for from := 0; ; {
		n, err := b.untilFrom("ReadUntil", last, from, limit)
		if refused, ok := err.(*LimitError); ok && own {
			refused.Limit = "limit"
		}
		if err != nil {
			return nil, b.short(err)
		}
		if n >= len(delim) && b.holds(delim, n-len(delim)) {
			return b.cut(n)
		}
		from = n
	}
}

// holds reports that the unread bytes have p at offset at.
func (b *BufReader) holds(p []byte, at int) bool {
	base, part := 0, b.buf[b.r:b.w]
	for i := 0; ; i++ {
		if skip := at - base; skip < len(part) {
			n := min(len(p), len(part)-skip)
			if !bytes.Equal(part[skip:skip+n], p[:n]) {
				return false
			}
			if p = p[n:]; len(p) == 0 {
				return true
			}
			at += n
		}
		if i == len(b.queue) {
			return false
		}
		base += len(part)
		s := b.queue[i]
		part = s.blk.mem[s.r:s.w]
	}
}
