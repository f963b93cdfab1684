package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/gomem-go/gomem"
)

// idle is how long a publisher may be silent.
const idle = 30 * time.Second

// Server accepts publishers. Each connection has a reader of its own; all of them
// share the blocks of one allocator.
type Server struct {
	// OnFrame gets each frame and the one reference to its payload, to release.
	OnFrame func(stream string, f Frame)
	// OnSDP gets the session description that announces a stream.
	OnSDP func(stream, sdp string)
}

// Serve accepts connections until l is closed, and waits for those it has.
func (s *Server) Serve(l net.Listener) error {
	var conns sync.WaitGroup
	defer conns.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		conns.Go(func() {
			defer c.Close()
			if err := s.handle(c); err != nil && err != io.EOF {
				fmt.Printf("%v: %v\n", c.RemoteAddr(), err)
			}
		})
	}
}

// handle speaks to one publisher until it tears the session down.
func (s *Server) handle(c net.Conn) error {
	r := gomem.NewBufReader(c)
	defer r.Recycle()
	p, stream := NewParser(r), ""
	for {
		if err := c.SetReadDeadline(time.Now().Add(idle)); err != nil {
			return err
		}
		u, err := p.Next()
		if err != nil {
			return err
		}
		if u.Request == nil {
			s.OnFrame(stream, u.Frame)
			continue
		}
		if u.Request.Method == "ANNOUNCE" {
			stream = u.Request.URL
			s.OnSDP(stream, u.Request.Body)
		}
		if _, err := io.WriteString(c, answer(u.Request)); err != nil {
			return err
		}
		if u.Request.Method == "TEARDOWN" {
			return nil
		}
	}
}

// answer is the response to a publisher's request.
func answer(q *Request) string {
	var b strings.Builder
	status := "200 OK"
	var extra []string
	switch q.Method {
	case "OPTIONS":
		extra = []string{"Public: OPTIONS, ANNOUNCE, SETUP, RECORD, TEARDOWN"}
	case "SETUP":
		transport := q.Header.Get("Transport")
		if !strings.Contains(transport, "interleaved=") {
			status = "461 Unsupported Transport"
			break
		}
		extra = []string{"Transport: " + transport, "Session: 1"}
	case "ANNOUNCE", "TEARDOWN":
	case "RECORD":
		extra = []string{"Session: 1"}
	default:
		status = "501 Not Implemented"
	}
	fmt.Fprintf(&b, "RTSP/1.0 %s\r\nCSeq: %s\r\n", status, q.Header.Get("Cseq"))
	for _, line := range extra {
		fmt.Fprintf(&b, "%s\r\n", line)
	}
	b.WriteString("\r\n")
	return b.String()
}
