package gomem

import (
	"bytes"
	"fmt"
	"io"
	"net/textproto"
)

// maxHeaderLines bounds how many lines a MIME header has: an entry of the map
// costs far more than the three bytes that make it.
const maxHeaderLines = 8 << 10

// headerLines names that limit, the only one that does not count bytes.
const headerLines = "header lines"

// ReadMIMEHeader consumes a MIME header and the empty line that ends it, as in
// RFC 822 and its successors. Keys are put into canonical form, blanks around
// values are removed, and a line that begins with a blank is joined to the one
// before by a space. The map and its strings are copies, owned by the caller.
//
// A key that is not a token, blanks before the colon, a line without a colon and
// control characters are refused with a [textproto.ProtocolError]. A [*LimitError]
// refuses a line beyond MaxLineBytes, a header beyond MaxHeaderBytes and, unless
// MaxHeaderBytes is negative, one beyond 8,192 lines, the empty one included. With these
// errors the lines before are returned and consumed, and a malformed line is consumed
// with them.
//
// If the stream ends within the header the error is [io.ErrUnexpectedEOF]; before the
// first byte, [io.EOF]. The lines before the end are returned and consumed. The last
// line, even without an ending, is consumed, and returned if it is a valid header line.
//
// Any other error of the source, such as a timeout, and a lack of memory come with the
// fields that are known to have ended, which are consumed. The next call reads on behind
// them, with the limits anew: it returns the other fields, and io.ErrUnexpectedEOF if the
// stream has ended meanwhile and anything of the header had arrived. O(bytes).
func (b *BufReader) ReadMIMEHeader() (textproto.MIMEHeader, error) {
	p := headerParser{b: b, left: limitOf(b.MaxHeaderBytes, DefaultMaxHeaderBytes)}
	p.header = make(textproto.MIMEHeader)
	err := p.run()
	return p.header, err
}

type headerParser struct {
	b      *BufReader
	header textproto.MIMEHeader
	field  int // length of the lines of this field, unread and in the front
	left   int // bytes until MaxHeaderBytes
	lines  int
	ended  bool // the stream did, behind the line that is looked at
	cut    bool // the stream ended inside the line
	refuse bool // the error is the parser's own
}

func (p *headerParser) run() error {
	for {
		line, err := p.line()
		if err != nil {
			return err // io.EOF of the first line alone: the others have begun
		}
		if len(line) == 0 {
			return p.end(nil)
		}
		key, value, err := splitLine(line)
		if err != nil {
			return p.end(p.refused(err))
		}
		value, err = p.continued(value)
		if err != nil && err != io.EOF && !p.refuse {
			return err // the field stays unread: it may go on
		}
		p.header[key] = append(p.header[key], unsafeString(value))
		if err := p.end(err); err != nil {
			return err
		}
	}
}

// end consumes the lines of the field and names the end of the stream behind them.
func (p *headerParser) end(err error) error {
	n := p.field
	p.b.r += n
	p.field = 0
	return truncated(err, n)
}

// refused is what to say of a malformed line: nothing can be said of one that is cut off.
func (p *headerParser) refused(err error) error {
	if p.cut {
		return io.EOF
	}
	p.refuse = true
	return err
}

// line adds the next line to the field and returns it without its ending, as a view.
func (p *headerParser) line() ([]byte, error) {
	b := p.b
	n, err := p.lineLen()
	if err != nil {
		return nil, err
	}
	if p.lines++; p.lines > maxHeaderLines && b.MaxHeaderBytes >= 0 {
		p.refuse = true
		return nil, &LimitError{Op: "ReadMIMEHeader", Limit: headerLines, Max: maxHeaderLines, Size: p.lines}
	}
	if b.w-b.r < p.field+n {
		if err := b.merge(p.field + n); err != nil {
			if p.ended {
				b.err = io.EOF // for the call that gets the line
			}
			return nil, err
		}
	}
	v := b.buf[b.r+p.field : b.r+p.field+n]
	p.field += n
	p.left -= n
	line := trimEnding(v)
	p.cut = len(line) == len(v)
	return line, nil
}

// lineLen makes the line behind the field available and returns its length with the
// ending.
func (p *headerParser) lineLen() (int, error) {
	b := p.b
	limit := limitOf(b.MaxLineBytes, DefaultMaxLineBytes)
	most := min(limit, p.left)
	if i := bytes.IndexByte(b.buf[b.r+p.field:b.w], '\n'); i >= 0 && i < most {
		return i + 1, nil
	}
	b.settle()
	n, err := b.untilFrom('\n', &spot{from: p.field}, p.field+most)
	if n > p.field+most {
		p.refuse = true
		return 0, p.tooLong(limit, n-p.field)
	}
	if p.ended = err == io.EOF && b.Buffered() > p.field; p.ended {
		n, err = b.Buffered(), nil
	}
	return n - p.field, err
}

// tooLong says which limit a line of size bytes exceeds.
func (p *headerParser) tooLong(limit, size int) error {
	if limit < p.left {
		return &LimitError{Op: "ReadMIMEHeader", Limit: "MaxLineBytes", Max: limit, Size: size}
	}
	limit = limitOf(p.b.MaxHeaderBytes, DefaultMaxHeaderBytes)
	return &LimitError{Op: "ReadMIMEHeader", Limit: "MaxHeaderBytes", Max: limit, Size: limit - p.left + size}
}

// continued copies value and adds the continuation lines behind it.
func (p *headerParser) continued(value []byte) ([]byte, error) {
	value = bytes.Clone(value) // before the view of it ends
	for {
		if p.cut {
			return value, io.EOF // which was delivered: the source may go on, or wait
		}
		next, err := p.behind()
		if err != nil || !blank(next) {
			return value, err
		}
		line, err := p.line()
		if err != nil {
			return value, err
		}
		if !valueOK(line) {
			return value, p.refused(malformed("has a control character", line))
		}
		if line = trimBlanks(line); len(line) > 0 {
			if len(value) > 0 {
				value = append(value, ' ')
			}
			value = append(value, line...)
		}
	}
}

// behind returns the byte behind the lines of the field, as soon as it has arrived.
func (p *headerParser) behind() (byte, error) {
	b := p.b
	if at := b.r + p.field; at < b.w {
		return b.buf[at], nil
	}
	return p.waitBehind()
}

func (p *headerParser) waitBehind() (byte, error) {
	b := p.b
	defer b.guard()
	b.settle()
	if err := b.chain(p.field+1, (*BufReader).more); err != nil {
		return 0, err
	}
	if at := b.r + p.field; at < b.w {
		return b.buf[at], nil
	}
	next := b.queue.next()
	return next.blk.mem[next.r], nil
}

// splitLine takes a header line apart: canonical key, value without blanks
// around it.
func splitLine(line []byte) (string, []byte, error) {
	key, value, ok := bytes.Cut(line, []byte{':'})
	switch {
	case blank(line[0]):
		return "", nil, malformed("begins with a blank", line)
	case !ok:
		return "", nil, malformed("has no colon", line)
	case len(key) == 0:
		return "", nil, malformed("has an empty key", line)
	}
	for _, c := range key {
		if !tokenByte(c) {
			return "", nil, malformed("has an invalid key", line)
		}
	}
	if !valueOK(value) {
		return "", nil, malformed("has a control character", key)
	}
	return textproto.CanonicalMIMEHeaderKey(string(key)), trimBlanks(value), nil
}

// malformed names the line, of which at most the beginning is quoted.
func malformed(why string, line []byte) error {
	return textproto.ProtocolError(fmt.Sprintf("header line %s: %q", why, line[:min(len(line), 128)]))
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

func trimBlanks(p []byte) []byte { return bytes.Trim(p, " \t") }

// tokenByte reports that c may stand in a key (RFC 9110, section 5.6.2).
func tokenByte(c byte) bool {
	switch {
	case '0' <= c && c <= '9', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z':
		return true
	}
	return c > ' ' && bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) >= 0
}

// valueOK reports that v has no control character other than a tab (RFC 9110,
// section 5.5).
func valueOK(v []byte) bool {
	for _, c := range v {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
