package relay

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
)

// loopback returns the two ends of a connection.
func loopback(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	if far, err = l.AcceptTCP(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return near, far
}

// A frame that somebody forgot makes the run fail.
func TestForgottenFrame(t *testing.T) {
	e := newGomemEngine()
	near, far := loopback(t)
	src := e.open(near)
	if _, err := far.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	f, _, err := src.frame(600)
	if err != nil {
		t.Fatal(err)
	}
	src.close()
	if err := e.close(); err == nil || !strings.Contains(err.Error(), "still in use") {
		t.Errorf("with a frame held: %v", err)
	}
	f.release()
	if err := e.close(); err != nil {
		t.Errorf("after its release: %v", err)
	}
}

// The trailer is found however the frame lies in the blocks.
func TestTrailerAcrossBlocks(t *testing.T) {
	for _, name := range []string{"gomem", "std"} {
		e := newEngine(name)()
		near, far := loopback(t)
		src := e.open(near)
		const size = 1001 // no divisor of the block size
		go func() {
			defer far.Close()
			b := make([]byte, size)
			for i := range uint32(readSize / 4) {
				binary.BigEndian.PutUint32(b[size-4:], i*0x01020304)
				if _, err := far.Write(b); err != nil {
					return
				}
			}
		}()
		held := newBatch()
		for i := range uint32(readSize / 4) {
			f, _, err := src.frame(size)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.trailer(); got != i*0x01020304 {
				t.Fatalf("%s: frame %d: trailer %#x", name, i, got)
			}
			if !held.accepts(flv.InterFrame) {
				held.release()
				held = newBatch()
			}
			held.add(f, flv.InterFrame)
		}
		if _, have, err := src.frame(1); err != io.EOF || have != 0 {
			t.Errorf("%s: at the end: %d bytes, %v", name, have, err)
		}
		held.release()
		src.close()
		if err := e.close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The largest tag that the format knows passes, although it is larger than a
// subscriber's queue.
func TestLargestTag(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func() engine) {
		r := startRelay(t, open)
		sub := r.pull("x")
		tag := bytes.Repeat([]byte{0x5a}, flv.MaxTagSize)
		copy(tag, []byte{byte(flv.Video), 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0x17, 1})
		binary.BigEndian.PutUint32(tag[len(tag)-4:], flv.MaxTagSize-flv.TrailerSize)
		preamble := flv.Header{Video: true}.AppendPreamble(nil)
		pub := r.publish("x", preamble)
		go func() {
			pub.Write(tag)
			pub.CloseWrite()
		}()
		wantAll(t, "subscriber", sub, preamble, tag)
	})
}

func TestBatchRules(t *testing.T) {
	with := func(kinds ...flv.Kind) *batch {
		b := newBatch()
		for _, k := range kinds {
			b.add(frame{size: 1, plain: []byte{1}}, k)
		}
		return b
	}
	full := with()
	for range maxBatch {
		full.add(frame{size: 1, plain: []byte{1}}, flv.AudioFrame)
	}
	for _, c := range []struct {
		name string
		b    *batch
		next flv.Kind
		want bool
	}{
		{"anything into an empty batch", with(), flv.VideoConfig, true},
		{"inter after key", with(flv.KeyFrame), flv.InterFrame, true},
		{"key after inter", with(flv.InterFrame), flv.KeyFrame, false},
		{"configuration after audio", with(flv.AudioFrame), flv.AudioConfig, false},
		{"audio after configuration", with(flv.Metadata), flv.AudioFrame, false},
		{"one too many", full, flv.AudioFrame, false},
	} {
		if got := c.b.accepts(c.next); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		c.b.release()
	}
}
