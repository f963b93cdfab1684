package gomem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// socketPair is both ends of a connection over the loopback.
func socketPair(t *testing.T, network string) (net.Conn, net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if strings.HasPrefix(network, "unix") {
		address = t.TempDir() + "/s"
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip("no such network here: ", err)
	}
	defer l.Close()
	one, err := net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	two, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = one.Close(), two.Close() })
	return one, two
}

// idleHoldsNone says whether a reader on a socket holds no block while it waits.
func idleHoldsNone() bool {
	switch runtime.GOOS {
	case "windows", "plan9", "js", "wasip1":
		return false
	}
	return true
}

// TestIdleReaderHoldsNoBlock: while it waits, between messages, and in the face of
// deadlines, resets and the end of the stream.
func TestIdleReaderHoldsNoBlock(t *testing.T) {
	if !idleHoldsNone() {
		t.Skip("a reader waits with its block on this system")
	}
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			client, server := socketPair(t, network)
			b := newTestReader(t, server, 0)
			got := make(chan byte)
			go func() {
				defer close(got)
				for {
					c, err := b.ReadByte()
					if err != nil {
						if err != io.EOF {
							t.Error(err)
						}
						return
					}
					got <- c
				}
			}()
			for _, c := range []byte("idle") {
				waitUntil(t, "a reader without a block", func() bool { return taken(b) == 0 })
				if _, err := client.Write([]byte{c}); err != nil {
					t.Fatal(err)
				}
				if g := <-got; g != c {
					t.Fatalf("got %q, want %q", g, c)
				}
			}
			_ = client.Close()
			if _, open := <-got; open {
				t.Fatal("a byte after the end")
			}
		})
	}
}

// TestSocketErrors: a reader over a socket fails as the socket itself does.
func TestSocketErrors(t *testing.T) {
	client, server := socketPair(t, "tcp")
	b := newTestReader(t, server, 0)
	_ = server.SetReadDeadline(time.Now().Add(-time.Second))
	_, err := b.ReadByte()
	if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("past the deadline: %v", err)
	}
	_, plain := server.Read(make([]byte, 1))
	if plain.Error() != err.Error() {
		t.Errorf("the error reads %q, the socket's %q", err, plain)
	}
	_ = server.SetReadDeadline(time.Time{})
	_, _ = client.Write([]byte("x"))
	c, err := b.ReadByte()
	expectRead(t, "after the deadline", c, err, byte('x'), nil)
	_ = client.(*net.TCPConn).SetLinger(0)
	_ = client.Close()
	_, err = b.ReadByte()
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "read" || op.Addr == nil {
		t.Errorf("after a reset: %#v", err)
	}
	_ = server.Close()
	_, err = b.ReadByte()
	expectError(t, err, net.ErrClosed)
}

// TestHoldViewsOnSocket: waiting between messages costs no block of its own, and
// after Release none at all.
func TestHoldViewsOnSocket(t *testing.T) {
	client, server := socketPair(t, "tcp")
	b := newTestReader(t, server, 4096)
	b.HoldViews = true
	for range 3 {
		var views [][]byte
		for i := range 30 {
			// The first byte is waited for, so that each message has a wait of its own.
			go func() {
				time.Sleep(time.Millisecond)
				_, _ = client.Write(bytes.Repeat([]byte{byte(i)}, 100))
			}()
			p, err := b.Next(100)
			if err != nil {
				t.Fatal(err)
			}
			views = append(views, p)
		}
		for i, p := range views {
			if !bytes.Equal(p, bytes.Repeat([]byte{byte(i)}, 100)) {
				t.Fatalf("view %d changed", i)
			}
		}
		if n := taken(b); n > 4096 {
			t.Errorf("%d bytes are taken for views of 3000", n)
		}
		expectError(t, b.Release(nil), nil)
	}
	_ = server.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, err := b.ReadByte()
	expectError(t, err, os.ErrDeadlineExceeded)
	if n := taken(b); n != 0 && newRawSource(server) != nil {
		t.Errorf("%d bytes are taken after Release and a wait", n)
	}
}

// embedded must be read by its own method, not by the socket inside.
type embedded struct{ *net.TCPConn }

func (e embedded) Read(p []byte) (int, error) { return copy(p, "own"), io.EOF }

func TestEmbeddedSocketIsReadByItsMethod(t *testing.T) {
	_, server := socketPair(t, "tcp")
	b := newTestReader(t, embedded{server.(*net.TCPConn)}, 0)
	all, err := io.ReadAll(b)
	expectRead(t, "ReadAll", string(all), err, "own", nil)
}

// TestThousandConnections: each of 1,000 connections sends frames; they are kept
// past the next read, checked and released by other goroutines; afterwards the idle
// readers hold nothing.
func TestThousandConnections(t *testing.T) {
	conns, frames := 1000, 20
	if testing.Short() {
		conns = 200
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback: ", err)
	}
	defer l.Close()
	mem := NewScalableMemoryAllocator(1 << 20)
	kept := make(chan *SharedMemory, 256)
	var got, idle atomic.Int64
	var servers, clients, checkers sync.WaitGroup
	for range 4 {
		checkers.Go(func() {
			for s := range kept {
				if checkFrame(s) {
					got.Add(1)
				} else {
					t.Error("a frame was damaged")
				}
				if err := s.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	servers.Go(func() {
		for range conns {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			servers.Go(func() { serveFrames(t, c, mem, kept, &idle, frames) })
		}
	})
	done := make(chan struct{})
	for i := range conns {
		clients.Go(func() { sendFrames(t, l.Addr().String(), i, frames, done) })
		if i%50 == 49 {
			time.Sleep(time.Millisecond) // the queue of connections not yet accepted is short
		}
	}
	waitUntil(t, "all frames", func() bool { return idle.Load() == int64(conns) && got.Load() == int64(conns*frames) })
	if idleHoldsNone() {
		waitUntil(t, "idle connections without memory", func() bool { return mem.GetTotalMalloc() == mem.GetTotalFree() })
	}
	close(done)
	clients.Wait()
	servers.Wait()
	close(kept)
	checkers.Wait()
	if err := mem.Verify(); err != nil {
		t.Error(err)
	}
	if n := mem.GetTotalMalloc() - mem.GetTotalFree(); n != 0 {
		t.Errorf("%d bytes are still taken", n)
	}
	_ = mem.Close()
}

// A frame is a length, and that many bytes of one value.
func sendFrames(t *testing.T, address string, id, frames int, done chan struct{}) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	for f := range frames {
		n := 1 + (id*31+f*977)%3000
		p := binary.BigEndian.AppendUint32(nil, uint32(n))
		if _, err := c.Write(append(p, bytes.Repeat([]byte{byte(id + f)}, n)...)); err != nil {
			t.Error(err)
			return
		}
	}
	<-done
}

func serveFrames(t *testing.T, c net.Conn, mem *ScalableMemoryAllocator, kept chan *SharedMemory, idle *atomic.Int64, frames int) {
	defer c.Close()
	b := NewBufReader(c)
	b.Allocator = mem
	defer b.Recycle()
	for range frames {
		n, err := b.ReadBE32(4)
		if err != nil {
			t.Error(err)
			return
		}
		s, err := b.ReadShared(int(n))
		if err != nil {
			t.Error(err)
			return
		}
		kept <- s
	}
	idle.Add(1)
	if _, err := b.ReadByte(); err != io.EOF {
		t.Errorf("after the last frame: %v", err)
	}
}

func checkFrame(s *SharedMemory) bool {
	m := s.Memory()
	p := m.ToBytes()
	return len(p) == s.Len() && bytes.Count(p, p[:1]) == len(p)
}

// TestWritevOfSharedFrames: several blocks reach a socket in order, and the frame
// stays whole for the next holder.
func TestWritevOfSharedFrames(t *testing.T) {
	client, server := socketPair(t, "tcp")
	want := noise(10_000)
	b := newTestReader(t, &chunked{data: want, err: io.EOF}, 512)
	s, err := b.ReadShared(len(want))
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Memory(); m.Count() < 10 {
		t.Fatalf("%d views", m.Count())
	}
	for range 2 {
		var writer sync.WaitGroup
		writer.Go(func() {
			n, err := s.WriteTo(client)
			expectRead(t, "WriteTo", n, err, int64(len(want)), nil)
		})
		got := make([]byte, len(want))
		if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("the frame arrived damaged, %v", err)
		}
		writer.Wait()
	}
	_ = client.Close()
	n, err := s.WriteTo(client)
	expectRead(t, "WriteTo", n, err, int64(0), net.ErrClosed)
	expectError(t, s.Release(), nil)
}

// TestWritevIsOneCall: buffers of a chain and blocks of a frame are sent together. A
// socket that keeps the boundaries of what is sent tells.
func TestWritevIsOneCall(t *testing.T) {
	if runtime.GOARCH == "wasm" {
		t.Skip("package net has no sockets here")
	}
	client, server := socketPair(t, "unixpacket")
	want := noise(200)
	b := newTestReader(t, &chunked{data: want, err: io.EOF}, 16)
	frame, err := b.ReadShared(len(want))
	if err != nil {
		t.Fatal(err)
	}
	chain := frame.Memory()
	reader := chain.NewReader()
	for name, from := range map[string]io.WriterTo{"a frame": frame, "a chain": &chain, "a reader": &reader} {
		if n, err := from.WriteTo(client); n != int64(len(want)) || err != nil {
			t.Fatalf("WriteTo of %s = %d, %v", name, n, err)
		}
		got := make([]byte, 2*len(want))
		if n, err := server.Read(got); err != nil || !bytes.Equal(got[:n], want) {
			t.Errorf("%s of %d bytes: %d arrived at once, %v", name, len(want), n, err)
		}
	}
	expectError(t, frame.Release(), nil)
}

// waitUntil polls for a state that another goroutine reaches.
func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}
