package gomem

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"
)

// TestWaitOnSocketHoldsNoBlock: whichever call waits, and whatever was read before. A
// deadline ends the wait; what is taken then was taken while it waited.
func TestWaitOnSocketHoldsNoBlock(t *testing.T) {
	if !idleHoldsNone() {
		t.Skip("a reader waits with its block on this system")
	}
	client, server := socketPair(t, "tcp")
	for name, read := range readers {
		for before, begin := range map[string]func(b *BufReader) (done func()){
			"nothing": func(b *BufReader) func() { return func() {} },
			"a view": func(b *BufReader) func() {
				_, err := b.Next(100)
				expectError(t, err, nil)
				return func() {}
			},
			"a frame": func(b *BufReader) func() {
				s, err := b.ReadShared(100)
				expectError(t, err, nil)
				return func() { expectError(t, s.Release(), nil) }
			},
		} {
			for _, left := range []time.Duration{time.Millisecond, -time.Second} { // of the time for the read
				b := newTestReader(t, server, 1000)
				if before != "nothing" {
					_, err := client.Write(noise(100))
					expectError(t, err, nil)
				}
				done := begin(b)
				_ = server.SetReadDeadline(time.Now().Add(left))
				expectError(t, read(b), os.ErrDeadlineExceeded)
				done()
				if n := taken(b); n != 0 {
					t.Errorf("%s after %s, with %v left: %d bytes were taken during the wait", name, before, left, n)
				}
				_ = server.SetReadDeadline(time.Time{})
				b.Recycle()
			}
		}
	}
}

// TestSocketIsCounted: TotalRead and Buffered say where a reader on a socket is,
// however the bytes came.
func TestSocketIsCounted(t *testing.T) {
	client, server := socketPair(t, "tcp")
	b := newTestReader(t, server, 64)
	at := 0
	for i := range 300 {
		if b.Buffered() == 0 {
			_, err := client.Write(noise(1 + i))
			expectError(t, err, nil)
		}
		n, err := b.Read(make([]byte, 1+i*7%90))
		if at += n; err != nil || int(b.TotalRead())-b.Buffered() != at {
			t.Fatalf("at %d-%d, want %d; %v", b.TotalRead(), b.Buffered(), at, err)
		}
	}
}

// TestDatagramsAreNotAStream: a socket of datagrams is read by its own method, which
// keeps them apart.
func TestDatagramsAreNotAStream(t *testing.T) {
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: t.TempDir() + "/s"})
	if err != nil {
		t.Skip("no such network here: ", err)
	}
	defer c.Close()
	if newRawSource(c) != nil {
		t.Error("datagrams are taken for a stream")
	}
}

// TestReadNothing: a Read into no room returns the error that came with the bytes
// before, once, and costs nothing.
func TestReadNothing(t *testing.T) {
	parts := []string{"ab", "cd"}
	b := newTestReader(t, oddReader(func(p []byte) (int, error) {
		if len(parts) == 0 {
			return 0, io.EOF
		}
		n := copy(p, parts[0])
		parts = parts[1:]
		return n, errReset
	}), 0)
	for _, c := range "abcd" {
		if n, err := b.Read(nil); n != 0 || err != nil {
			t.Errorf("before %q: Read(nil) = %d, %v", c, n, err)
		}
		got, err := b.ReadByte()
		expectRead(t, "ReadByte", rune(got), err, c, nil)
		if c == 'b' || c == 'd' {
			_, err := b.Read(nil)
			expectError(t, err, errReset)
		}
	}
	_, err := b.ReadByte()
	expectError(t, err, io.EOF)
}

// TestReadOfABlock: what has room for a block is filled by the source itself.
func TestReadOfABlock(t *testing.T) {
	for n, want := range map[int]int64{16: 0, 17: 0, 15: 16} {
		b := newTestReader(t, strings.NewReader("0123456789abcdefg"), 16)
		got, err := b.Read(make([]byte, n))
		if got != n || err != nil || b.Allocator.GetTotalMalloc() != want {
			t.Errorf("Read(%d) = %d, %v, with %d bytes of memory", n, got, err, b.Allocator.GetTotalMalloc())
		}
	}
}

// TestPacketInTime: a packet that is asked for before it is there is not copied either.
func TestPacketInTime(t *testing.T) {
	packets := [][]byte{noise(700), noise(700), noise(700)}
	feed := make(chan []byte, len(packets))
	for _, p := range packets {
		feed <- p
	}
	b := NewBufReaderChan(feed)
	defer b.Recycle()
	for i, read := range []func() ([]byte, error){
		func() ([]byte, error) { return b.Next(700) },
		func() ([]byte, error) { p, err := b.Peek(700); return p, errors.Join(err, b.Skip(700)) },
		func() ([]byte, error) { m, err := b.ReadBytes(700); return m.Buffers[0], err },
	} {
		p, err := read()
		if err != nil || !same(p, packets[i]) {
			t.Errorf("packet %d comes as a copy of %d bytes, %v", i, len(p), err)
		}
	}
}

// TestReaderKeepsNoPacket: what was read out is not kept from the garbage collector by
// the reader, whether it goes on with other calls, gets another source or is recycled.
func TestReaderKeepsNoPacket(t *testing.T) {
	const n = 1 << 16
	for name, read := range map[string]func(b *BufReader) error{
		"ReadBytes":  func(b *BufReader) error { _, err := b.ReadBytes(2 * n); return err },
		"ReadString": func(b *BufReader) error { _, err := b.ReadString(2 * n); return err },
		"ReadRange":  func(b *BufReader) error { return b.ReadRange(2*n, func([]byte) {}) },
		"ReadNto":    func(b *BufReader) error { return b.ReadNto(2*n, make([]byte, 2*n)) },
		"Next":       func(b *BufReader) error { _, err := b.Next(2 * n); return err },
		"Skip":       func(b *BufReader) error { return b.Skip(2 * n) },
	} {
		for then, end := range map[string]func(b *BufReader){
			"other calls": func(b *BufReader) {
				for range 2 * smallPacket {
					if _, err := b.ReadByte(); err != nil {
						t.Fatal(err)
					}
				}
			},
			"Reset":   func(b *BufReader) { b.Reset(nil) },
			"Recycle": (*BufReader).Recycle,
		} {
			feed := make(chan []byte, 4)
			var kept []weak.Pointer[byte]
			for range 2 {
				p := make([]byte, n)
				kept = append(kept, weak.Make(&p[0]))
				feed <- p
			}
			feed <- noise(smallPacket + 1)
			feed <- noise(smallPacket)
			b := NewBufReaderChan(feed)
			if err := read(b); err != nil {
				t.Fatal(err)
			}
			end(b)
			runtime.GC()
			for i, p := range kept {
				if p.Value() != nil {
					t.Errorf("%s, then %s: packet %d is kept", name, then, i)
				}
			}
			b.Recycle()
		}
	}
}
