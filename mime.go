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
// refuses a header beyond MaxHeaderBytes, or beyond 8,192 lines, the empty one
// included, unless MaxHeaderBytes is negative, and a line beyond MaxLineBytes. If the
// stream ends within the header the error is [io.ErrUnexpectedEOF]; before the first
// byte, [io.EOF]. With any error the lines before it are returned and consumed, and a
// malformed line is consumed with them. At the end of the stream the last line, even
// without an ending, is returned too if it is a valid header line. O(bytes).
func (b *BufReader) ReadMIMEHeader() (textproto.MIMEHeader, error) {
	p := headerParser{b: b, left: limitOf(b.MaxHeaderBytes, DefaultMaxHeaderBytes)}
	p.header = make(textproto.MIMEHeader)
	err := p.run()
	return p.header, err
}

type headerParser struct {
	b      *BufReader
	header textproto.MIMEHeader
	left   int // bytes until MaxHeaderBytes
	lines  int
	cut    bool // the stream ended inside the line
}

func (p *headerParser) run() error {
	for {
		line, err := p.line()
		if err != nil || len(line) == 0 {
			return err // io.EOF of the first line alone: the others have begun
		}
		key, value, err := splitLine(line)
		if err != nil {
			return p.refused(err)
		}
		value, err = p.continued(value)
		p.header[key] = append(p.header[key], unsafeString(value))
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
}

// refused is what to say of a malformed line: nothing can be said of one that is cut off.
func (p *headerParser) refused(err error) error {
	if p.cut {
		return io.ErrUnexpectedEOF
	}
	return err
}

// line consumes the next line and returns it without its ending, as a view.
func (p *headerParser) line() ([]byte, error) {
	b := p.b
	limit := limitOf(b.MaxLineBytes, DefaultMaxLineBytes)
	n, err := b.line("ReadMIMEHeader", min(limit, p.left))
	if limitErr, ok := err.(*LimitError); ok && p.left <= limit {
		return nil, p.tooLong(limitErr.Size)
	}
	if err != nil {
		return nil, err
	}
	if p.lines++; p.lines > maxHeaderLines && b.MaxHeaderBytes >= 0 {
		return nil, &LimitError{Op: "ReadMIMEHeader", Limit: headerLines, Max: maxHeaderLines, Size: p.lines}
	}
	p.left -= n
	v, err := b.cut(n)
	if err != nil {
		return nil, err
	}
	line := trimEnding(v)
	p.cut = len(line) == len(v)
	return line, nil
}

func (p *headerParser) tooLong(more int) error {
	limit := limitOf(p.b.MaxHeaderBytes, DefaultMaxHeaderBytes)
	return &LimitError{Op: "ReadMIMEHeader", Limit: "MaxHeaderBytes", Max: limit, Size: limit - p.left + more}
}

// continued copies value and adds the continuation lines behind it.
func (p *headerParser) continued(value []byte) ([]byte, error) {
	value = bytes.Clone(value) // before the view of it ends
	for {
		if p.cut {
			return value, io.EOF // which was delivered: the source may go on, or wait
		}
		next, err := p.b.peekByte()
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

// peekByte returns the next byte without consuming it.
func (b *BufReader) peekByte() (byte, error) {
	p, err := b.Peek(1)
	if err != nil {
		return 0, err
	}
	return p[0], nil
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
