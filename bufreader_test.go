package gomem

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// noise returns n bytes that repeat only after a long way.
func noise(n int) []byte {
	p := make([]byte, n)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

// chunked delivers data in pieces whose sizes come from sizes in turn, the last
// one with the error when with is set.
type chunked struct {
	data  []byte
	sizes []byte
	at    int
	err   error
	with  bool
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, c.err
	}
	n := len(c.data)
	if len(c.sizes) > 0 {
		n = int(c.sizes[c.at%len(c.sizes)])
		c.at++
	}
	n = copy(p, c.data[:min(n, len(c.data))])
	c.data = c.data[n:]
	if len(c.data) == 0 && c.with {
		return n, c.err
	}
	return n, nil
}

func TestBufReaderConformsToReader(t *testing.T) {
	want := noise(5000)
	wraps := map[string]func(io.Reader) io.Reader{
		"whole":    func(r io.Reader) io.Reader { return r },
		"one byte": iotest.OneByteReader,
		"half":     iotest.HalfReader,
		"data err": iotest.DataErrReader,
	}
	for name, wrap := range wraps {
		for _, size := range []int{1, 16, 100, 1500, 4096, 0} {
			b := NewBufReaderWithBufLen(wrap(bytes.NewReader(want)), size)
			if err := iotest.TestReader(b, want); err != nil {
				t.Errorf("%s, blocks of %d: %v", name, size, err)
			}
			b.Recycle()
		}
	}
}

func TestReadSharedOutlivesTheReader(t *testing.T) {
	want := noise(100_000)
	b := NewBufReaderWithBufLen(bytes.NewReader(want), 1500)
	var kept []*SharedMemory
	for left := len(want); left > 0; {
		n := min(left, 700)
		s, err := b.ReadShared(n)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, s)
		left -= n
	}
	b.Recycle()
	var got bytes.Buffer
	for _, s := range kept {
		if _, err := s.WriteTo(&got); err != nil {
			t.Fatal(err)
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Fatal("the frames differ from what was sent")
	}
	for i, s := range kept {
		if err := s.Retain(); !errors.Is(err, ErrReleased) {
			t.Fatalf("frame %d: Retain after the last Release = %v", i, err)
		}
		if err := s.Release(); !errors.Is(err, ErrReleased) {
			t.Fatalf("frame %d: a Release too many = %v", i, err)
		}
	}
}

func TestReadLineAcrossBlocks(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, size := range []int{16, 100, 4096} {
		b := NewBufReaderWithBufLen(iotest.HalfReader(strings.NewReader("a\r\n"+long+"\n\nlast")), size)
		for i, want := range []string{"a", long, "", "last"} {
			got, err := b.ReadLine()
			if err != nil || got != want {
				t.Fatalf("blocks of %d: line %d = %.20q, %v, want %.20q", size, i, got, err, want)
			}
		}
		if _, err := b.ReadLine(); err != io.EOF {
			t.Fatalf("after the last line: %v", err)
		}
	}
}

// TestHoldViews: with HoldViews, whatever was read since the last Release stays
// as it was; afterwards nothing is held but what is unread.
func TestHoldViews(t *testing.T) {
	want := noise(50_000)
	b := newTestReader(t, &chunked{data: want, sizes: []byte{200, 7, 90}, err: io.EOF}, 1000)
	b.HoldViews = true
	for at := 0; at < len(want); {
		begin := at
		var views [][]byte
		for range 8 {
			n := min(700, len(want)-at)
			p, err := b.Peek(n)
			if err != nil {
				t.Fatal(err)
			}
			q, err := b.Next(n)
			if err != nil {
				t.Fatal(err)
			}
			views = append(views, q)
			if at += n; !bytes.Equal(p, q) {
				t.Fatal("a peeked view changed")
			}
		}
		if got := bytes.Join(views, nil); !bytes.Equal(got, want[begin:at]) || b.ReadLen() != len(got) {
			t.Fatalf("a view up to byte %d changed, or ReadLen %d is wrong", at, b.ReadLen())
		}
		if err := b.Release(nil); err != nil || b.ReadLen() != 0 {
			t.Fatal(err)
		}
		if n := taken(b); n > 2*1000 {
			t.Fatalf("%d bytes are taken after Release", n)
		}
	}
}

// TestAllocatorsMayChange: blocks go back to where they came from.
func TestAllocatorsMayChange(t *testing.T) {
	b := newTestReader(t, bytes.NewReader(noise(10_000)), 1000)
	first := b.Allocator
	s, err := b.ReadShared(1500)
	if err != nil {
		t.Fatal(err)
	}
	b.Allocator = nil // the Go heap
	if _, err := b.Next(4000); err != nil {
		t.Fatal(err)
	}
	b.Allocator = first
	if _, err := io.Copy(io.Discard, b); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestOutOfMemory: a reader that gets no block says so, and goes on when it does.
func TestOutOfMemory(t *testing.T) {
	b := newTestReader(t, bytes.NewReader(noise(100)), 1<<20)
	b.Allocator = NewScalableMemoryAllocator(1<<16, WithMaxBytes(1<<16))
	for name, read := range readers {
		if name == "Read large" || name == "stream" {
			continue // they may do without, or take what there is
		}
		if err := read(b); !errors.Is(err, ErrLimit) && !errors.Is(err, ErrOutOfMemory) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.BufLen = 1000
	if got, err := io.ReadAll(b); err != nil || len(got) != 100 {
		t.Errorf("with small blocks: %d bytes, %v", len(got), err)
	}
}
