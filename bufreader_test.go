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
