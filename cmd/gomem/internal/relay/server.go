package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
)

// maxConns bounds the clients of one server.
const maxConns = 10_000

// counters of one server. They are added to once for each batch, not each frame.
type counters struct {
	framesIn, bytesIn   atomic.Int64 // from publishers
	framesOut, bytesOut atomic.Int64 // written to subscribers
	dropped             atomic.Int64 // frames that slow subscribers missed
	publishers          atomic.Int64 // now
	subscribers         atomic.Int64 // now
	faults              atomic.Int64 // clients sent away or cut off
}

// server accepts publishers and subscribers on one port and passes frames from
// the former to the latter. It runs from serve until close.
type server struct {
	engine  engine
	wait    bool                             // slow subscribers hold their publisher up
	report  func(format string, args ...any) // told about clients that come, go and fail
	refused func(err error)                  // told about clients that cannot be accepted; may be nil
	quiet   time.Duration                    // how long a client may say nothing until it is a subscriber
	stall   time.Duration                    // how long a subscriber may take nothing
	count   counters

	corrupt func(f frame) // for tests: damages frames on their way; may be nil

	listener *net.TCPListener
	wg       sync.WaitGroup

	mu      sync.Mutex
	streams map[string]*stream
	conns   map[*net.TCPConn]struct{}
	closed  bool
}

func listen(addr string, e engine) (*server, error) {
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, err
	}
	return &server{
		engine:   e,
		report:   func(string, ...any) {},
		quiet:    quietTime,
		stall:    stallTimeout,
		listener: l,
		streams:  make(map[string]*stream),
		conns:    make(map[*net.TCPConn]struct{}),
	}, nil
}

// serve accepts until close.
func (s *server) serve() {
	const pause = 50 * time.Millisecond // when the system is out of descriptors
	for {
		conn, err := s.listener.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			s.report("accept: %v", err)
			if s.refused != nil {
				s.refused(err)
			}
			time.Sleep(pause)
			continue
		}
		if !s.register(conn) {
			s.count.faults.Add(1)
			conn.Close()
		}
	}
}

// register starts a goroutine for conn unless the server is closed or full.
func (s *server) register(conn *net.TCPConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= maxConns {
		return false
	}
	s.conns[conn] = struct{}{}
	quiet := s.quiet
	s.wg.Go(func() {
		s.handle(conn, quiet)
		conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	})
	return true
}

// close sends everybody away and waits until they are gone.
func (s *server) close() {
	s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// handle serves one client from greeting to farewell.
func (s *server) handle(conn *net.TCPConn, quiet time.Duration) {
	src := s.engine.open(conn)
	hello, err := greet(conn, src, quiet)
	switch {
	case err != nil:
		src.close()
		if !errors.Is(err, errGone) {
			err = fmt.Errorf("sent away: %w", err)
		}
	case hello.role == publishes:
		err = s.publish(conn, src, hello.name)
		src.close()
	default:
		src.close() // a subscriber has nothing more to say
		err = s.pull(conn, hello)
	}
	if err != nil && !errors.Is(err, errGone) && !errors.Is(err, net.ErrClosed) {
		s.count.faults.Add(1)
		s.report("%v %v", conn.RemoteAddr(), err)
	}
}

// claim makes the caller the publisher of a stream that has none. Without a
// name it takes the first free one of live, live2, live3, …
func (s *server) claim(name string, h flv.Header) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	anyName := name == ""
	if anyName {
		name = defaultName
	}
	for i := 2; ; i++ {
		st := s.streamLocked(name)
		if !st.live() {
			st.begin(h)
			return st, nil
		}
		if !anyName {
			return nil, fmt.Errorf("sent away: stream %s has a publisher", name)
		}
		name = fmt.Sprint(defaultName, i)
	}
}

func (s *server) streamLocked(name string) *stream {
	st := s.streams[name]
	if st == nil {
		st = &stream{name: name}
		s.streams[name] = st
	}
	return st
}

// leave removes a subscriber, or nil for the publisher, and with the last of
// them the stream.
func (s *server) leave(st *stream, sub *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub == nil {
		st.finish()
	} else {
		st.remove(sub)
	}
	// Those who are still draining a stream that ended may outlast it: by now the
	// name can be another's.
	if st.idle() && s.streams[st.name] == st {
		delete(s.streams, st.name)
	}
}

// httpHead precedes the stream for clients that came by HTTP.
const httpHead = "HTTP/1.1 200 OK\r\nContent-Type: video/x-flv\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n"

// pull serves a subscriber until the stream ends or the client leaves. The
// error is for one that was cut off.
func (s *server) pull(conn *net.TCPConn, hello greeting) error {
	sub := newSubscriber(conn, s.wait, s.stall)
	s.mu.Lock()
	st := s.streamLocked(hello.name)
	st.add(sub)
	s.mu.Unlock()
	s.count.subscribers.Add(1)
	defer s.count.subscribers.Add(-1)
	s.report("%v pulls %s", conn.RemoteAddr(), st.name)

	var watch sync.WaitGroup
	watch.Go(func() { sub.watch() })
	var err error
	if hello.role == pullsHTTP {
		_, err = io.WriteString(conn, httpHead)
	}
	if err == nil {
		err = sub.write(&s.count)
	}
	conn.Close()
	watch.Wait()
	s.leave(st, sub)
	if sub.dropped > 0 {
		s.report("%v missed %d frames", conn.RemoteAddr(), sub.dropped)
	}
	if os.IsTimeout(err) {
		return fmt.Errorf("cut off: took nothing for %v", s.stall)
	}
	s.report("%v left %s", conn.RemoteAddr(), st.name)
	return nil
}

// publish passes the tags of one publisher on until it ends.
func (s *server) publish(conn *net.TCPConn, src source, name string) error {
	p := publisher{server: s, conn: conn, src: src, batch: newBatch()}
	defer func() { p.batch.release() }()
	h, err := p.header()
	if err != nil {
		return fmt.Errorf("sent away: %w", err)
	}
	if p.stream, err = s.claim(name, h); err != nil {
		return err
	}
	defer s.leave(p.stream, nil)
	s.count.publishers.Add(1)
	defer s.count.publishers.Add(-1)
	s.report("%v publishes %s", conn.RemoteAddr(), p.stream.name)
	if err := p.run(); err != nil {
		return fmt.Errorf("publisher of %s failed: %w", p.stream.name, err)
	}
	s.report("%v ended %s", conn.RemoteAddr(), p.stream.name)
	return nil
}
