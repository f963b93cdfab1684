package main

import (
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/gomem-go/gomem"
)

// Unit is one thing that arrives on an RTSP connection over TCP: a request, or
// an interleaved frame (RFC 2326, section 10.12).
type Unit struct {
	Request *Request
	Frame   Frame // valid if Request is nil
}

// Request is an RTSP request; all of it is a copy.
type Request struct {
	Method, URL string
	Header      textproto.MIMEHeader
	Body        string
}

// Frame is an RTP or RTCP packet of a channel. The payload is shared memory: it
// stays as long as somebody holds a reference, and is released by each holder.
type Frame struct {
	Channel byte
	Payload *gomem.SharedMemory
}

// Parser takes a connection apart. Nothing but requests is copied.
type Parser struct{ r *gomem.BufReader }

// NewParser makes a parser over r, whose limits bound what a peer may send.
func NewParser(r *gomem.BufReader) *Parser { return &Parser{r} }

// Next returns the next unit, and io.EOF at the end of the connection between two.
func (p *Parser) Next() (Unit, error) {
	for {
		first, err := p.r.Peek(1)
		if err != nil {
			return Unit{}, err
		}
		switch first[0] {
		case '$':
			f, err := p.frame()
			return Unit{Frame: f}, inside(err)
		case '\r', '\n': // clients may put empty lines between requests
			if err := p.r.Skip(1); err != nil {
				return Unit{}, err
			}
		default:
			q, err := p.request()
			return Unit{Request: q}, inside(err)
		}
	}
}

// frame reads '$', a channel, a 16-bit length, and the packet.
func (p *Parser) frame() (Frame, error) {
	head, err := p.r.Next(4)
	if err != nil {
		return Frame{}, err
	}
	f := Frame{Channel: head[1]}
	f.Payload, err = p.r.ReadShared(int(head[2])<<8 | int(head[3]))
	return f, err
}

func (p *Parser) request() (*Request, error) {
	line, err := p.r.ReadLine()
	if err != nil {
		return nil, err
	}
	method, rest, ok := strings.Cut(line, " ")
	url, version, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 || !strings.HasPrefix(version, "RTSP/1.") {
		return nil, textproto.ProtocolError(fmt.Sprintf("not an RTSP request: %.80q", line))
	}
	q := &Request{Method: method, URL: url}
	if q.Header, err = p.r.ReadMIMEHeader(); err != nil {
		return nil, err
	}
	if length := q.Header.Get("Content-Length"); length != "" {
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 {
			return nil, textproto.ProtocolError(fmt.Sprintf("Content-Length: %.80q", length))
		}
		if q.Body, err = p.r.ReadString(n); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// inside turns the end of the stream within a unit into what it is.
func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
