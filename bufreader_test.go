package gomem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
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

// TestNothingIsLostWithoutMemory: a call that gets no block on its way, whichever it
// is, takes nothing it does not report, and reading goes on when there is memory.
func TestNothingIsLostWithoutMemory(t *testing.T) {
	want := noise(1 << 16)
	calls := map[string]func(b *BufReader) (int, error){
		"Peek": func(b *BufReader) (int, error) {
			there := b.Buffered()
			p, err := b.Peek(700)
			if there = max(there, b.Buffered()); err != nil && len(p) != 0 && len(p) != there {
				return 0, fmt.Errorf("%d of %d bytes with %w", len(p), there, io.ErrShortBuffer)
			}
			return 0, err
		},
		"Next tight": func(b *BufReader) (int, error) { p, err := b.Next(128); return len(p), err },
		"Next":       func(b *BufReader) (int, error) { p, err := b.Next(700); return len(p), err },
		"Next short": func(b *BufReader) (int, error) { p, err := b.Next(90); return len(p), err },
		"ReadBytes":  func(b *BufReader) (int, error) { m, err := b.ReadBytes(700); return m.Size, err },
		"ReadShared": func(b *BufReader) (int, error) {
			s, err := b.ReadShared(700)
			if err != nil {
				return 0, err
			}
			return s.Len(), s.Release()
		},
		"ReadString": func(b *BufReader) (int, error) { s, err := b.ReadString(700); return len(s), err },
		"ReadSlice":  func(b *BufReader) (int, error) { p, err := b.ReadSlice(200); return len(p), err },
		"ReadUntil":  func(b *BufReader) (int, error) { p, err := b.ReadUntil([]byte{1, 2}, 0); return len(p), err },
		"Discard":    func(b *BufReader) (int, error) { return b.Discard(700) },
		"ReadLEB128": func(b *BufReader) (int, error) { _, n, err := b.ReadLEB128(); return n, err },
	}
	for n := 400; n < 640; n += 7 { // with every end, also those too short to be read straight to p
		calls[fmt.Sprint("ReadBinary ", n)] = func(b *BufReader) (int, error) { return b.ReadBinary(make([]byte, n)) }
	}
	for name, read := range calls {
		for _, at := range []int{0, 99, 128} { // unread, where the call begins
			for last := range 12 {
				withoutMemory(t, name, want, []byte{100, 128, 3}, at, last, read)
				withoutMemory(t, name, want, []byte{128}, at, last, read)
			}
		}
	}
}

// withoutMemory has read called where at bytes are unread, of a stream that comes in
// pieces of the given sizes, and without memory after some reads of the source.
func withoutMemory(t *testing.T, name string, want, sizes []byte, at, reads int, read func(*BufReader) (int, error)) {
	t.Helper()
	mem := NewScalableMemoryAllocator(1 << 16)
	src := &chunked{data: want, sizes: sizes, err: io.EOF}
	left := math.MaxInt
	b := NewBufReaderWithBufLen(nil, 128)
	b.Reset(oddReader(func(p []byte) (int, error) {
		if left == 0 {
			b.Allocator = NewScalableMemoryAllocator(0, WithMaxBytes(1))
		}
		left--
		return src.Read(p)
	}))
	b.Allocator = mem
	pos := 256 - at
	kept, err := b.ReadShared(pos)
	if err != nil {
		t.Fatal(err)
	}
	if left = reads; left == 0 {
		b.Allocator = NewScalableMemoryAllocator(0, WithMaxBytes(1)) // from the beginning
	}
	n, err := read(b)
	if err != nil && !errors.Is(err, ErrLimit) && !errors.Is(err, ErrOverflow) {
		t.Fatalf("%s: %v", name, err)
	}
	b.Allocator, left = mem, math.MaxInt
	rest, err := io.ReadAll(b)
	if pos += n; err != nil || !bytes.Equal(rest, want[pos:]) {
		t.Fatalf("%s of pieces %v without memory after %d reads, %d bytes unread: then %d bytes, %v, want %d",
			name, sizes, reads, at, len(rest), err, len(want)-pos)
	}
	b.Recycle()
	expectError(t, kept.Release(), nil)
	if live := mem.Stats().Live; live != 0 {
		t.Fatalf("%s: %d bytes are still taken", name, live)
	}
}

// TestUnreadByteGivesTheLastByte: or none, whatever read it and wherever it is.
func TestUnreadByteGivesTheLastByte(t *testing.T) {
	want := noise(1 << 12)
	for name, read := range map[string]func(b *BufReader) error{
		"Read large": func(b *BufReader) error { _, err := b.Read(make([]byte, 100)); return err },
		"Read":       func(b *BufReader) error { _, err := b.Read(make([]byte, 5)); return err },
		"ReadNto":    func(b *BufReader) error { return b.ReadNto(200, make([]byte, 200)) },
		"ReadBinary": func(b *BufReader) error { _, err := b.ReadBinary(make([]byte, 70)); return err },
		"Next":       func(b *BufReader) error { _, err := b.Next(200); return err },
		"ReadString": func(b *BufReader) error { _, err := b.ReadString(100); return err },
		"Skip":       func(b *BufReader) error { return b.Skip(300) },
		"ReadRange":  func(b *BufReader) error { return b.ReadRange(300, func([]byte) {}) },
		"WriteTo": func(b *BufReader) error {
			if _, err := b.WriteTo(&sated{left: 130}); err != io.ErrShortWrite {
				return err
			}
			return nil
		},
	} {
		for begin := range 70 {
			for mode := range 8 {
				b := newTestReader(t, &chunked{data: want, sizes: []byte{33}, err: io.EOF}, 64)
				b.HoldViews = mode&1 != 0
				release := func() {}
				if mode&2 != 0 {
					s, err := b.ReadShared(begin)
					if err != nil {
						t.Fatal(err)
					}
					release = func() { expectError(t, s.Release(), nil) }
				} else if _, err := b.Next(begin); err != nil {
					t.Fatal(err)
				}
				if mode&4 != 0 {
					if _, err := b.Peek(begin % 7); err != nil {
						t.Fatal(err)
					}
				}
				if err := read(b); err != nil {
					t.Fatal(name, err)
				}
				at := int(b.TotalRead()) - b.Buffered()
				if b.UnreadByte() == nil {
					if c, err := b.ReadByte(); err != nil || c != want[at-1] {
						t.Fatalf("%s from byte %d, mode %d: unread byte %d is %#x, %v, want %#x", name, begin, mode, at-1, c, err, want[at-1])
					}
				}
				release()
			}
		}
	}
}

// sated takes no more than left bytes, and says nothing about it.
type sated struct{ left int }

func (l *sated) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	return n, nil
}

// TestPeekTellsTruncation: a source that says its stream was cut off, as those that
// decompress do, is not taken for one that came to its end.
func TestPeekTellsTruncation(t *testing.T) {
	for _, n := range []int{5, 100} {
		b := newTestReader(t, &chunked{data: []byte("abc"), sizes: []byte{1}, err: io.ErrUnexpectedEOF}, 64)
		p, err := b.Peek(n)
		expectRead(t, "Peek", string(p), err, "abc", io.ErrUnexpectedEOF)
	}
}
