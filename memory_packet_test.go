package gomem

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// countedConn is a connection of packets that counts: a wrapper as programs have.
type countedConn struct {
	*net.UDPConn
	bytes int
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return c.UDPConn.Write(p)
}

// TestPacketsStayWhole: whatever is written to a connection of packets in one call is one
// packet, in however many buffers it lies.
func TestPacketsStayWhole(t *testing.T) {
	in, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Skip("no UDP here: ", err)
	}
	defer in.Close()
	out, err := net.DialUDP("udp", nil, in.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Skip("no UDP here: ", err)
	}
	defer out.Close()
	one := make([]byte, 1<<16)
	packet := func() string {
		t.Helper()
		if err := in.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := in.Read(one)
		if err != nil {
			t.Fatal(err)
		}
		return string(one[:n])
	}
	wrapped := &countedConn{UDPConn: out}
	const piece = "0123456" // 9,216 bytes are the largest packet of macOS
	for _, buffers := range []int{2, maxWritev + 100} {
		var m Memory
		for range buffers {
			m.PushOne([]byte(piece))
		}
		want := strings.Repeat(piece, buffers)
		frames := NewBufReaderWithBufLen(strings.NewReader(want), 16)
		for name, write := range map[string]func(w io.Writer) (int64, error){
			"Memory": m.WriteTo,
			"MemoryReader": func(w io.Writer) (int64, error) {
				r := m.NewReader()
				return r.WriteTo(w)
			},
			"MemoryReader, read before": func(w io.Writer) (int64, error) {
				r := NewReadableBuffersFromBytes(append([][]byte{[]byte("xy" + piece)}, m.Buffers[1:]...)...)
				if err := r.Skip(2); err != nil {
					t.Fatal(err)
				}
				n, err := r.WriteTo(w)
				if r.Length != 0 {
					t.Errorf("%d bytes are left", r.Length)
				}
				return n, err
			},
		} {
			for where, w := range map[string]io.Writer{"connection": out, "wrapper": wrapped} {
				n, err := write(w)
				if err != nil || int(n) != len(want) {
					t.Errorf("%s to a %s: %d of %d bytes, %v", name, where, n, len(want), err)
				}
				if got := packet(); got != want {
					t.Errorf("%s to a %s: a packet of %d bytes, want %d", name, where, len(got), len(want))
				}
			}
		}
		frame, err := frames.ReadShared(len(want))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []io.Writer{out, wrapped} {
			if _, err := frame.WriteTo(w); err != nil {
				t.Error(err)
			}
			if got := packet(); got != want {
				t.Errorf("a frame: a packet of %d bytes, want %d", len(got), len(want))
			}
		}
		if err := frame.Release(); err != nil {
			t.Error(err)
		}
		frames.Recycle()
	}
	if wrapped.bytes == 0 {
		t.Error("the wrapper's Write was left out")
	}
}

// TestWritevOfManyBuffers: a stream takes any number of buffers as they are; a connection
// of packets as many as one writev does.
func TestWritevOfManyBuffers(t *testing.T) {
	for network, want := range map[string]bool{"tcp": true, "unix": true, "unixpacket": false} {
		t.Run(network, func(t *testing.T) {
			out, in := socketPair(t, network)
			if !hasWritev(out, maxWritev) || hasWritev(out, maxWritev+1) != want || hasWritev(in, maxWritev+1) != want {
				t.Errorf("more than %d: %v", maxWritev, !want)
			}
		})
	}
	if hasWritev(new(net.UnixConn), maxWritev+1) {
		t.Error("no connection is a stream")
	}
}

// TestWriteOfConsumedList: bytes that somebody took out of the list are missed, with
// whatever they are written.
func TestWriteOfConsumedList(t *testing.T) {
	for _, kept := range []int{0, 3, 16, 40} {
		m := Memory{Size: 40, Buffers: [][]byte{make([]byte, 16), make([]byte, 16), make([]byte, 8)}}
		b := newTestReader(t, &endless{40}, 16)
		s, err := b.ReadShared(40)
		expectError(t, err, nil)
		for _, c := range []struct {
			name  string
			list  Memory
			write func(w io.Writer) (int64, error)
		}{
			{"Memory", m, m.WriteTo},
			{"SharedMemory", s.Memory(), s.WriteTo},
		} {
			taken := net.Buffers(c.list.Buffers)
			_, _ = taken.WriteTo(&sated{left: 40 - kept})
			var want error
			if kept < 40 {
				want = io.ErrUnexpectedEOF
			}
			n, err := c.write(io.Discard)
			expectRead(t, c.name, n, err, int64(kept), want)
		}
		expectError(t, s.Release(), nil)
	}
}
