//go:build unix

package gomem

import (
	"io"
	"net"
	"os"
	"syscall"
)

// rawSource reads from a stream socket in two steps, so that no block is held
// while the peer is silent: try without waiting, and give the block up before
// waiting for the socket to become readable.
type rawSource struct {
	conn net.Conn
	sys  syscall.RawConn
	try  func(fd uintptr) bool // bound once: a closure per read would allocate
	rd   *BufReader
	n    int
	err  error
}

// newRawSource returns nil unless r is exactly a stream socket of package net; a
// type that embeds one may read differently.
func newRawSource(r io.Reader) *rawSource {
	var sc syscall.Conn
	switch c := r.(type) {
	case *net.TCPConn:
		sc = c
	case *net.UnixConn:
		if a := c.LocalAddr(); a == nil || a.Network() != "unix" {
			return nil
		}
		sc = c
	default:
		return nil
	}
	sys, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	s := &rawSource{conn: r.(net.Conn), sys: sys}
	s.try = s.tryRead
	return s
}

// tryRead is called by the runtime's poller with the descriptor, again after each
// wait; false means wait. The descriptor does not block (runtime assumption 9).
func (s *rawSource) tryRead(fd uintptr) bool {
	b := s.rd
	if b.front == nil {
		if s.err = b.newFront(); s.err != nil {
			return true
		}
	}
	for {
		s.n, s.err = syscall.Read(int(fd), b.buf[b.w:])
		if s.err != syscall.EINTR {
			break
		}
	}
	if s.err == syscall.EAGAIN {
		s.n = 0
		b.giveUpIdle()
		return false
	}
	return true
}

// fillIdle is fillTail for a reader without unread bytes over a socket.
func (b *BufReader) fillIdle() error {
	s := b.raw
	s.rd, s.n, s.err = b, 0, nil
	err := s.sys.Read(s.try)
	s.rd = nil
	switch {
	case err != nil: // deadline, or closed; maybe before it came to a try
		if op, ok := err.(*net.OpError); ok {
			op.Op = "read"
		}
		return err
	case s.n > 0:
		b.w += s.n
		b.total += int64(s.n)
		return nil
	case s.err == nil:
		return io.EOF
	}
	if errno, ok := s.err.(syscall.Errno); ok {
		return &net.OpError{
			Op: "read", Net: s.conn.LocalAddr().Network(),
			Source: s.conn.LocalAddr(), Addr: s.conn.RemoteAddr(),
			Err: os.NewSyscallError("read", errno),
		}
	}
	return s.err
}
