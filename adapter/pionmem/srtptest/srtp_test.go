// Package srtptest runs queues of package pionmem in sessions of pion/srtp, which is where
// a BufferFactory ends up. It is a module of its own so that pionmem does not require srtp.
package srtptest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/adapter/pionmem"
	"github.com/gomem-go/gomem/gomemtest"
	"github.com/pion/logging"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/srtp/v3"
	"github.com/pion/transport/v5/packetio"
)

// logs counts what a session logs: one line for each packet that it could not handle, and
// one when its connection ends.
type logs struct {
	logging.LeveledLogger
	mu    sync.Mutex
	lines []string
}

func (l *logs) NewLogger(string) logging.LeveledLogger { return l }
func (l *logs) Error(string)                           {}
func (l *logs) Info(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, s)
}

func (l *logs) silent(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) > 0 {
		t.Errorf("the session logged %q", l.lines)
	}
}

// config returns what both ends of a session use.
func config(a *gomem.ScalableMemoryAllocator, l *logs) *srtp.Config {
	key, salt := []byte("sixteen byte key"), []byte("fourteen bytes")
	return &srtp.Config{
		Profile: srtp.ProtectionProfileAes128CmHmacSha1_80,
		Keys: srtp.SessionKeys{
			LocalMasterKey: key, LocalMasterSalt: salt, RemoteMasterKey: key, RemoteMasterSalt: salt,
		},
		BufferFactory: pionmem.Factory(a),
		LoggerFactory: l,
	}
}

// marked is a connection whose packets have an attribute, like those of pion/ice.
type marked struct {
	net.Conn
	n int
}

func (m *marked) ReadWithAttributes(p []byte, attrs packetio.Attributes) (int, packetio.Attributes, error) {
	n, err := m.Read(p)
	attrs = attrs[:0]
	attrs.Set("number", m.n)
	m.n++
	return n, attrs, err
}

// rtpPair returns a stream to write RTP to and the session that gets it.
func rtpPair(t *testing.T, a *gomem.ScalableMemoryAllocator) (*srtp.WriteStreamSRTP, *srtp.SessionSRTP, *logs) {
	t.Helper()
	from, to := net.Pipe()
	l := new(logs)
	sender, err := srtp.NewSessionSRTP(from, config(nil, l))
	if err != nil {
		t.Fatal(err)
	}
	receiver, err := srtp.NewSessionSRTP(&marked{Conn: to}, config(a, l))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // it ends the sessions, but keeps none of them
		_ = from.Close()
		_ = to.Close()
	})
	w, err := sender.OpenWriteStream()
	if err != nil {
		t.Fatal(err)
	}
	return w, receiver, l
}

func send(t *testing.T, w *srtp.WriteStreamSRTP, ssrc uint32, n int, payload []byte) {
	t.Helper()
	h := &rtp.Header{Version: 2, PayloadType: 96, SSRC: ssrc, SequenceNumber: uint16(n)}
	if _, err := w.WriteRTP(h, payload); err != nil {
		t.Fatal(err)
	}
}

// open returns streams of the first ssrcs numbers.
func open(t *testing.T, s *srtp.SessionSRTP, ssrcs int) []*srtp.ReadStreamSRTP {
	t.Helper()
	streams := make([]*srtp.ReadStreamSRTP, ssrcs)
	for i := range streams {
		var err error
		if streams[i], err = s.OpenReadStream(uint32(i)); err != nil {
			t.Fatal(err)
		}
	}
	return streams
}

// within fails the test if f does not become true.
func within(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func TestRTP(t *testing.T) {
	const ssrcs, packets = 8, 200
	a := gomemtest.New(t)
	w, s, l := rtpPair(t, a)
	streams := open(t, s, ssrcs)
	payload := bytes.Repeat([]byte("payload "), 200)
	var readers, reading sync.WaitGroup
	reading.Add(ssrcs)
	for _, r := range streams {
		readers.Go(func() {
			p := make([]byte, 2000)
			done := sync.OnceFunc(reading.Done)
			defer done()
			for i := range packets {
				n, h, err := r.ReadRTP(p)
				if err != nil || int(h.SequenceNumber) != i || h.SSRC != r.GetSSRC() || !bytes.Equal(p[12:n], payload[:i*7]) {
					t.Errorf("stream %d, packet %d: %v, %d bytes, %v", r.GetSSRC(), i, h, n, err)
					return
				}
			}
			done()
			if _, err := r.Read(p); err != io.EOF {
				t.Errorf("at the end: %v", err)
			}
		})
	}
	for i := range packets {
		for ssrc := range uint32(ssrcs) {
			send(t, w, ssrc, i, payload[:i*7])
		}
	}
	reading.Wait()
	for _, r := range streams {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
	l.silent(t)
}

func TestAttributes(t *testing.T) {
	w, s, _ := rtpPair(t, gomemtest.New(t))
	r := open(t, s, 1)[0]
	var attrs packetio.Attributes
	for i := range 50 {
		send(t, w, 0, i, []byte("x"))
		var err error
		_, attrs, err = r.ReadWithAttributes(make([]byte, 100), attrs)
		if err != nil || attrs.Get("number") != i || len(attrs) != 1 {
			t.Fatalf("packet %d: %v, %v", i, attrs, err)
		}
	}
}

// A full queue drops packets without a word, and so does one without memory.
func TestFull(t *testing.T) {
	const size, most = 1000, 1000 * 1000
	for name, limit := range map[string]int{"queue": 0, "memory": 512 << 10} {
		t.Run(name, func(t *testing.T) {
			var opts []gomem.Option
			if limit > 0 {
				opts = append(opts, gomem.WithMaxBytes(limit))
			}
			a := gomemtest.New(t, opts...)
			w, s, l := rtpPair(t, a)
			streams := open(t, s, 2)
			r, p := streams[0], make([]byte, 2000)
			payload := make([]byte, size)
			for i := range 1100 {
				send(t, w, 0, i, payload)
			}
			send(t, w, 1, 0, nil) // once it is there, the others have been dealt with
			if _, err := streams[1].Read(p); err != nil {
				t.Fatal(err)
			}
			live := a.Stats().Live
			if limit == 0 && live != most/(12+size+2)*(12+size) || live < most/10 || live > most {
				t.Errorf("%d bytes are queued", live)
			}
			for range live / (12 + size) {
				if _, err := r.Read(p); err != nil {
					t.Fatal(err)
				}
			}
			send(t, w, 0, 1100, payload)
			if _, h, err := r.ReadRTP(p); err != nil || h.SequenceNumber != 1100 {
				t.Errorf("after the loss: %v, %v", h, err)
			}
			l.silent(t)
		})
	}
}

func TestDeadlineAndClose(t *testing.T) {
	a := gomemtest.New(t)
	w, s, _ := rtpPair(t, a)
	r := open(t, s, 1)[0]
	p := make([]byte, 100)
	if err := r.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if _, err := r.Read(p); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("after the deadline: %v", err)
	}
	_ = r.SetReadDeadline(time.Time{})
	send(t, w, 0, 0, []byte("queued"))
	send(t, w, 0, 1, make([]byte, 200))
	within(t, "the packets did not arrive", func() bool { return a.Stats().Live == 12+6+12+200 })
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(p); err != nil || string(p[12:n]) != "queued" {
		t.Errorf("after Close: %q, %v", p[:n], err)
	}
	if n, err := r.Read(p); n != len(p) || err != io.ErrShortBuffer {
		t.Errorf("a packet of 212 bytes: %d, %v", n, err)
	}
	if _, err := r.Read(p); err != io.EOF {
		t.Errorf("when all is read: %v", err)
	}
}

// Pion leaves streams open when a session ends, and nobody reads what they hold: they
// give it back when they are garbage.
func TestAbandoned(t *testing.T) {
	a := gomemtest.New(t)
	func() {
		w, s, _ := rtpPair(t, a)
		streams := open(t, s, 4)
		for i := range 100 {
			for ssrc := range uint32(4) {
				send(t, w, ssrc, i, make([]byte, 300))
			}
		}
		_ = streams[0].Close()
		_ = s.Close()
		if a.Stats().Live == 0 {
			t.Error("nothing was left behind")
		}
	}()
	within(t, "packets of sessions that ended stay in use", func() bool {
		runtime.GC()
		return a.Stats().Live == 0
	})
}

func TestRTCP(t *testing.T) {
	a := gomemtest.New(t)
	from, to := net.Pipe()
	l := new(logs)
	sender, err := srtp.NewSessionSRTCP(from, config(nil, l))
	if err != nil {
		t.Fatal(err)
	}
	receiver, err := srtp.NewSessionSRTCP(to, config(a, l))
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	defer receiver.Close()
	w, err := sender.OpenWriteStream()
	if err != nil {
		t.Fatal(err)
	}
	var streams []*srtp.ReadStreamSRTCP
	for ssrc := range uint32(4) {
		r, err := receiver.OpenReadStream(ssrc)
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, r)
	}
	// One packet for all streams, whose queues it enters one after the other.
	p, err := (&rtcp.Goodbye{Sources: []uint32{0, 1, 2}, Reason: fmt.Sprintf("%-200s", "end")}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	const most = 100_000
	for range most/len(p) + 10 {
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 500)
	last, err := (&rtcp.Goodbye{Sources: []uint32{3}}).Marshal()
	if err == nil {
		_, err = w.Write(last)
	}
	if err == nil {
		_, err = streams[3].Read(got) // the others have been dealt with
	}
	if live := a.Stats().Live; err != nil || live != 3*(most/(len(p)+2))*len(p) {
		t.Fatalf("%d bytes are queued, %v", live, err)
	}
	for _, r := range streams[:3] {
		_ = r.Close()
		for range most / (len(p) + 2) {
			if n, err := r.Read(got); err != nil || !bytes.Equal(got[:n], p) {
				t.Fatalf("%q, %v", got[:n], err)
			}
		}
		if _, err := r.Read(got); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	}
	l.silent(t)
}
