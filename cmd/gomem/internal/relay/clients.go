package relay

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"time"
)

// castagnoli has hardware support, so that checking the streams does not become
// the workload.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// digest identifies a sequence of bytes by its length and checksum.
type digest struct {
	bytes int64
	crc   uint32
}

func (d *digest) add(b []byte) {
	d.bytes += int64(len(b))
	d.crc = crc32.Update(d.crc, castagnoli, b)
}

func (d digest) String() string { return fmt.Sprintf("%d bytes, crc %08x", d.bytes, d.crc) }

// testPublisher sends the input to the relay until stop, then ends at the end of a
// tag.
type testPublisher struct {
	conn net.Conn
	in   *input
	sent digest // of the tags
}

func dialPublisher(ctx context.Context, addr, name string, in *input) (*testPublisher, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "PUBLISH %s\n", name); err != nil {
		conn.Close()
		return nil, err
	}
	return &testPublisher{conn: conn, in: in}, nil
}

// run sends, at full speed or paced by the timestamps, until ctx is done. It calls settled
// when it has sent the first tags, so many, which are warmStep apart, or ends before.
func (p *testPublisher) run(ctx context.Context, paced bool, first int, settled func()) error {
	settled = sync.OnceFunc(settled)
	defer settled()
	defer p.conn.Close()
	if _, err := p.conn.Write(p.in.preamble); err != nil {
		return err
	}
	cuts := p.in.pieces
	if paced {
		cuts = p.in.cuts
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for begin := time.Now(); ; begin = begin.Add(p.in.length) {
		from := 0
		for _, c := range cuts {
			if first > 0 {
				first--
				begin = time.Now().Add(warmStep - c.due)
			} else {
				settled()
			}
			if paced {
				timer.Reset(time.Until(begin.Add(c.due)))
				select {
				case <-ctx.Done():
				case <-timer.C:
				}
			}
			if ctx.Err() != nil {
				return nil
			}
			piece := p.in.tags[from:c.end]
			if _, err := p.conn.Write(piece); err != nil {
				return err
			}
			p.sent.add(piece)
			from = c.end
		}
	}
}

// testSubscriber pulls a stream and sums up what it gets.
type testSubscriber struct {
	conn net.Conn
	got  digest // of what follows the file header
	buf  []byte
}

// dialSubscriber returns when the relay has the subscriber on its list, or ctx is
// done: the system takes connections that nobody accepts.
func dialSubscriber(ctx context.Context, addr, name string) (*testSubscriber, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	s := &testSubscriber{conn: conn, buf: make([]byte, 256<<10)}
	if _, err = fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n", name, addr); err == nil {
		err = s.expect([]byte(httpHead))
	}
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (s *testSubscriber) expect(want []byte) error {
	got := s.buf[:len(want)]
	if _, err := io.ReadFull(s.conn, got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("got %q, want %q", got, want)
	}
	return nil
}

// run receives to the end of the stream.
func (s *testSubscriber) run(preamble []byte) error {
	defer s.conn.Close()
	if err := s.expect(preamble); err != nil {
		return err
	}
	for {
		n, err := s.conn.Read(s.buf)
		s.got.add(s.buf[:n])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
