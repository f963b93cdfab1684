package gomem

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"testing"
)

// record parses one unit of a protocol; it returns what it kept.
type record func(b *BufReader) (*SharedMemory, error)

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// flvTag reads a tag and the size behind it; the file header comes as a tag too.
func flvTag(b *BufReader) (*SharedMemory, error) {
	first, err := b.Peek(1)
	if err != nil {
		return nil, err
	}
	if first[0] == 'F' {
		return b.ReadShared(13)
	}
	head, err := b.Peek(4)
	if err != nil {
		return nil, eofInside(err)
	}
	size := int(head[1])<<16 | int(head[2])<<8 | int(head[3])
	return b.ReadShared(11 + size + 4)
}

// rtspUnit reads an interleaved frame whole, or a message as its lines and body.
func rtspUnit(b *BufReader) (*SharedMemory, error) {
	first, err := b.Peek(1)
	if err != nil {
		return nil, err
	}
	if first[0] == '$' {
		head, err := b.Peek(4)
		if err != nil {
			return nil, eofInside(err)
		}
		return b.ReadShared(4 + int(head[2])<<8 + int(head[3]))
	}
	if _, err := b.ReadLine(); err != nil {
		return nil, err
	}
	h, err := b.ReadMIMEHeader()
	if err != nil {
		return nil, eofInside(err)
	}
	n, _ := strconv.Atoi(h.Get("Content-Length"))
	s, err := b.ReadShared(n)
	return s, eofInside(err)
}

func eofInside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// eachStream runs f over the recorded streams.
func eachStream(t *testing.T, f func(t *testing.T, data []byte, unit record, units int)) {
	t.Run("flv", func(t *testing.T) { f(t, readFile(t, "testdata/testsrc.flv"), flvTag, 0) })
	t.Run("rtsp", func(t *testing.T) { f(t, readFile(t, "testdata/rtsp-publish.bin"), rtspUnit, 6+108) })
}

// bounds returns where each unit begins, and the end.
func bounds(t *testing.T, data []byte, unit record, units int) []int {
	t.Helper()
	b := newTestReader(t, bytes.NewReader(data), 0)
	var at []int
	for {
		at = append(at, int(b.TotalRead())-b.Buffered())
		s, err := unit(b)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("unit %d: %v", len(at), err)
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if at[len(at)-1] != len(data) || units > 0 && len(at)-1 != units {
		t.Fatalf("%d units up to byte %d, want %d up to %d", len(at)-1, at[len(at)-1], units, len(data))
	}
	return at
}

// TestErrorAtEveryByte ends the stream at each byte offset with each kind of error:
// units before it are whole, the error is the source's, and all memory returns.
func TestErrorAtEveryByte(t *testing.T) {
	eachStream(t, func(t *testing.T, data []byte, unit record, units int) {
		at := bounds(t, data, unit, units)
		b := newTestReader(t, nil, 2048)
		for i := range len(at) - 1 {
			for end := at[i]; end < at[i+1]; end += byteStep {
				for _, want := range []error{errReset, io.EOF} {
					with := end%2 == 0 && end > at[i]
					b.Reset(&chunked{data: data[at[i]:end], err: want, with: with})
					_, err := unit(b)
					if want == io.EOF && end > at[i] {
						want = io.ErrUnexpectedEOF
					}
					if !errors.Is(err, want) {
						t.Fatalf("unit %d cut at byte %d: %v, want %v", i, end-at[i], err, want)
					}
					if b.TotalRead() != int64(end-at[i]) {
						t.Fatalf("unit %d cut at byte %d: %d bytes came", i, end-at[i], b.TotalRead())
					}
				}
			}
			b.Recycle()
			if n := taken(b); n != 0 {
				t.Fatalf("unit %d: %d bytes are still taken", i, n)
			}
		}
	})
}

// stumble fails once before every byte.
type stumble struct {
	data []byte
	odd  bool
}

func (s *stumble) Read(p []byte) (int, error) {
	if s.odd = !s.odd; s.odd {
		return 0, errReset
	}
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:1], s.data)
	s.data = s.data[n:]
	return n, nil
}

// TestErrorBeforeEveryByte: an error that passes, as a timeout does, costs nothing.
// The FLV stream is read by calls that take all or nothing, each made again until
// it succeeds; what was kept adds up to the stream.
func TestErrorBeforeEveryByte(t *testing.T) {
	data := readFile(t, "testdata/testsrc.flv")
	if testing.Short() {
		data = data[:bounds(t, data, flvTag, 0)[20]]
	}
	b := newTestReader(t, &stumble{data: data}, 1000)
	var got bytes.Buffer
	for {
		s, err := flvTag(b)
		if errors.Is(err, errReset) {
			continue
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.WriteTo(&got); err != nil {
			t.Fatal(err)
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got.Bytes(), data) {
		t.Fatalf("%d of %d bytes, or other ones", got.Len(), len(data))
	}
}
