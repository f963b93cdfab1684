package gomem

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

// oddReader answers each Read by what answer returns.
type oddReader func(p []byte) (int, error)

func (f oddReader) Read(p []byte) (int, error) { return f(p) }

// readers are the ways to make a reader ask its source.
var readers = map[string]func(b *BufReader) error{
	"Read":       func(b *BufReader) error { _, err := b.Read(make([]byte, 8)); return err },
	"Read large": func(b *BufReader) error { _, err := b.Read(make([]byte, 1<<15)); return err },
	"ReadByte":   func(b *BufReader) error { _, err := b.ReadByte(); return err },
	"ReadBE32":   func(b *BufReader) error { _, err := b.ReadBE32(4); return err },
	"ReadLE64":   func(b *BufReader) error { _, err := b.ReadLE64(8); return err },
	"ReadLEB128": func(b *BufReader) error { _, _, err := b.ReadLEB128(); return err },
	"Peek":       func(b *BufReader) error { _, err := b.Peek(5); return err },
	"Next":       func(b *BufReader) error { _, err := b.Next(1 << 15); return err },
	"ReadRange":  func(b *BufReader) error { return b.ReadRange(5, func([]byte) {}) },
	"stream":     func(b *BufReader) error { return b.ReadRange(1<<30, func([]byte) {}) },
	"ReadBytes":  func(b *BufReader) error { _, err := b.ReadBytes(5); return err },
	"ReadShared": func(b *BufReader) error {
		s, err := b.ReadShared(5)
		if err == nil {
			err = s.Release()
		}
		return err
	},
	"ReadString": func(b *BufReader) error { _, err := b.ReadString(5); return err },
	"ReadNto":    func(b *BufReader) error { return b.ReadNto(1<<15, make([]byte, 1<<15)) },
	"ReadBinary": func(b *BufReader) error { _, err := b.ReadBinary(make([]byte, 5)); return err },
	"ReadLine":   func(b *BufReader) error { _, err := b.ReadLine(); return err },
	"ReadSlice":  func(b *BufReader) error { _, err := b.ReadSlice(0); return err },
	"ReadUntil":  func(b *BufReader) error { _, err := b.ReadUntil([]byte{1, 2}, 0); return err },
	"ReadMIME":   func(b *BufReader) error { _, err := b.ReadMIMEHeader(); return err },
	"Skip":       func(b *BufReader) error { return b.Skip(5) },
	"Discard":    func(b *BufReader) error { _, err := b.Discard(5); return err },
	"WriteTo":    func(b *BufReader) error { _, err := b.WriteTo(io.Discard); return err },
	"CopyN":      func(b *BufReader) error { _, err := b.CopyN(io.Discard, 5); return err },
}

// eachReader runs f for every way to read, over a source of its own.
func eachReader(t *testing.T, src func() io.Reader, f func(t *testing.T, b *BufReader, read func(*BufReader) error)) {
	for name, read := range readers {
		t.Run(name, func(t *testing.T) { f(t, newTestReader(t, src(), 0), read) })
	}
}

func expectError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func TestMisuse38to40(t *testing.T) {
	for name, n := range map[string]int{"38 negative": -1, "39 beyond p": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			src := func() io.Reader { return oddReader(func([]byte) (int, error) { return n, nil }) }
			eachReader(t, src, func(t *testing.T, b *BufReader, read func(*BufReader) error) {
				expectError(t, read(b), ErrInvalidRead)
				if b.Buffered() != 0 || b.TotalRead() != 0 {
					t.Errorf("%d bytes came of it", b.Buffered())
				}
			})
		})
	}
	t.Run("40 nothing for ever", func(t *testing.T) {
		src := func() io.Reader { return oddReader(func([]byte) (int, error) { return 0, nil }) }
		eachReader(t, src, func(t *testing.T, b *BufReader, read func(*BufReader) error) {
			expectError(t, read(b), io.ErrNoProgress)
		})
	})
}

func TestMisuse41DataWithError(t *testing.T) {
	src := func() io.Reader { return &chunked{data: []byte{0xff, 0xff}, err: errReset, with: true} }
	eachReader(t, src, func(t *testing.T, b *BufReader, read func(*BufReader) error) {
		before := 0
		err := read(b)
		if err == nil { // it was content with the bytes
			before = int(b.TotalRead()) - b.Buffered()
			rest, err := io.ReadAll(b)
			expectError(t, err, errReset)
			before += len(rest)
		} else {
			expectError(t, err, errReset)
			before = int(b.TotalRead())
		}
		if before != 2 {
			t.Errorf("%d of 2 bytes were delivered", before)
		}
	})
}

func TestMisuse42SourcePanics(t *testing.T) {
	src := func() io.Reader {
		calls := 0
		return oddReader(func(p []byte) (int, error) {
			if calls++; calls == 1 {
				return copy(p, "abc\xff"), nil
			}
			panic("source")
		})
	}
	eachReader(t, src, func(t *testing.T, b *BufReader, read func(*BufReader) error) {
		defer func() {
			if got := recover(); got != "source" {
				t.Errorf("recovered %v", got)
			}
			if n := taken(b); n != 0 || b.Buffered() != 0 {
				t.Errorf("%d bytes are still taken, %d buffered", n, b.Buffered())
			}
		}()
		for {
			if err := read(b); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestMisuse43SourceKeepsTheSlice(t *testing.T) {
	// It cannot be told from a source that is slow to return; what is promised is
	// that the reader never lends more than its own block.
	var lent [][]byte
	b := newTestReader(t, oddReader(func(p []byte) (int, error) {
		lent = append(lent, p)
		return copy(p, "0123456789"), nil
	}), 64)
	for range 100 {
		if _, err := b.Next(7); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range lent {
		if cap(p) > 64 {
			t.Fatalf("a slice of capacity %d was lent", cap(p))
		}
	}
}

func TestMisuse44LengthPrefix(t *testing.T) {
	const huge = 1<<31 - 1
	for name, call := range map[string]func(b *BufReader, n int) error{
		"Peek":      func(b *BufReader, n int) error { _, err := b.Peek(n); return err },
		"Next":      func(b *BufReader, n int) error { _, err := b.Next(n); return err },
		"ReadBytes": func(b *BufReader, n int) error { _, err := b.ReadBytes(n); return err },
		"ReadShared": func(b *BufReader, n int) error {
			s, err := b.ReadShared(n)
			if err == nil {
				err = s.Release()
			}
			return err
		},
		"ReadString": func(b *BufReader, n int) error { _, err := b.ReadString(n); return err },
	} {
		b := newTestReader(t, strings.NewReader("\xff\xff\xff\xffrest"), 0)
		v, err := b.ReadBE32(4)
		expectRead(t, "ReadBE32", v, err, uint32(1<<32-1), nil)
		before := taken(b)
		err = call(b, huge)
		limit, ok := errors.AsType[*LimitError](err)
		if !ok || limit.Size != huge || limit.Max != DefaultMaxFrameBytes || !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
		if taken(b) != before || b.Buffered() != 4 {
			t.Errorf("%s: %d bytes more are taken, %d unread", name, taken(b)-before, b.Buffered())
		}
		b.MaxFrameBytes = 3
		expectError(t, call(b, 4), ErrTooLong) // also where the bytes are there
		expectError(t, call(b, 3), nil)
		// A long frame that is announced costs only what has arrived of it.
		b.Reset(strings.NewReader("short"))
		b.MaxFrameBytes = -1
		if err := call(b, huge); err != io.ErrUnexpectedEOF && err != io.EOF {
			t.Errorf("%s of a truncated frame: %v", name, err)
		}
		if n := taken(b); n > DefaultBufLen {
			t.Errorf("%s: %d bytes are taken for a frame that did not come", name, n)
		}
	}
}

func TestMisuse45to50(t *testing.T) {
	b := newTestReader(t, strings.NewReader("abcdef"), 0)
	if _, err := b.Peek(6); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"45 Peek":       func() error { _, err := b.Peek(-1); return err },
		"45 Next":       func() error { _, err := b.Next(-1); return err },
		"45 ReadShared": func() error { _, err := b.ReadShared(-1); return err },
		"45 ReadRange":  func() error { return b.ReadRange(-1, nil) },
		"45 ReadBytes":  func() error { _, err := b.ReadBytes(-1); return err },
		"45 ReadString": func() error { _, err := b.ReadString(-1); return err },
		"45 ReadNto":    func() error { return b.ReadNto(-1, nil) },
		"45 ReadBE":     func() error { _, err := b.ReadBE(-1); return err },
		"45 ReadLE":     func() error { _, err := b.ReadLE(9); return err },
		"45 ReadUntil":  func() error { _, err := b.ReadUntil(nil, 0); return err },
		"46 Skip":       func() error { return b.Skip(-1) },
		"48 Discard":    func() error { _, err := b.Discard(-1); return err },
	} {
		if err := call(); !errors.Is(err, ErrInvalidSize) || b.Buffered() != 6 {
			t.Errorf("%s: %v, %d bytes left", name, err, b.Buffered())
		}
	}
	expectError(t, b.ReadNto(3, make([]byte, 2)), io.ErrShortBuffer)
	expectError(t, b.UnreadByte(), ErrInvalidUnread) // 47
	_, err := b.Peek(7)
	expectError(t, err, io.EOF)
	n, err := b.Discard(7)
	expectRead(t, "Discard", n, err, 6, io.EOF)
	expectError(t, b.Skip(1), io.EOF)

	b.Recycle() // 49: twice, and then used
	b.Recycle()
	for name, read := range readers {
		if err := read(b); !errors.Is(err, ErrRecycled) {
			t.Errorf("49 %s after Recycle: %v", name, err)
		}
	}
	expectError(t, b.UnreadByte(), ErrInvalidUnread)
	b.Reset(strings.NewReader("again"))
	all, err := io.ReadAll(b)
	expectRead(t, "after Reset", string(all), err, "again", nil)
	var zero BufReader
	_, err = zero.ReadByte()
	expectError(t, err, ErrRecycled)
	zero.Reset(strings.NewReader("zero"))
	s, err := zero.ReadShared(4)
	if err != nil {
		t.Fatal(err)
	}
	m := s.Memory() // 50: a chain that is put behind itself
	m.Append(m)
	expectRead(t, "Append", string(m.ToBytes()), nil, "zerozero", nil)
	expectRead(t, "Len", s.Len(), s.Release(), 4, nil)
}

// TestCallbackPanics: the bytes count as read, and the reader goes on.
func TestCallbackPanics(t *testing.T) {
	want := noise(4000)
	for call := 1; call <= 4; call++ {
		b := newTestReader(t, &chunked{data: want, sizes: []byte{200}, err: io.EOF}, 512)
		calls := 0
		func() {
			defer func() { _ = recover() }()
			_ = b.ReadRange(1500, func([]byte) {
				if calls++; calls == call {
					panic("yield")
				}
			})
		}()
		if calls == 0 {
			t.Fatal("yield was not called")
		}
		rest, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(rest, want[1500:]) {
			t.Fatalf("panic in call %d: %d bytes follow, %v", call, len(rest), err)
		}
	}
}

// TestRecycleClosesMouthOnce: whoever closed it before.
func TestRecycleClosesMouthOnce(t *testing.T) {
	feed := make(chan []byte)
	b := NewBufReaderChan(feed)
	b.Recycle()
	b.Recycle()
	if _, open := <-feed; open {
		t.Error("Recycle left Mouth open")
	}
	feed = make(chan []byte, 1)
	b = NewBufReaderChan(feed)
	close(feed)
	b.Recycle() // must not panic
	feed = make(chan []byte)
	b = NewBufReaderChan(feed)
	b.Reset(strings.NewReader("x"))
	b.Recycle()
	select {
	case <-feed:
		t.Error("a Mouth that Reset forgot was closed")
	default:
	}
}

// TestFeedDoesNotWait: neither for room nor for a channel that is closed or missing.
func TestFeedDoesNotWait(t *testing.T) {
	for _, b := range []*BufReader{new(BufReader), NewBufReaderChan(nil), NewBufReader(strings.NewReader("x"))} {
		if b.Feed([]byte("x")) {
			t.Error("a reader without a channel was fed")
		}
	}
	feed := make(chan []byte, 1)
	b := NewBufReaderChan(feed)
	if !b.Feed([]byte("one")) || b.Feed([]byte("two")) {
		t.Error("a channel of one packet did not take exactly one")
	}
	close(feed)
	if b.Feed([]byte("three")) {
		t.Error("a closed channel was fed")
	}
	got, err := io.ReadAll(b)
	if string(got) != "one" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	b.Recycle()
	if b.Feed([]byte("four")) {
		t.Error("a recycled reader was fed")
	}
}

// TestNoChannel: a channel that is nil is no source, and not one that never sends.
func TestNoChannel(t *testing.T) {
	for _, b := range []*BufReader{NewBufReaderChan(nil), NewBufReaderBuffersChan(nil), NewBufReader(nil)} {
		_, err := b.ReadByte()
		expectError(t, err, ErrRecycled)
		b.Recycle()
	}
}

// TestReleaseRace: of two goroutines that release the same reference, one does.
func TestReleaseRace(t *testing.T) {
	b := newTestReader(t, &endless{1 << 30}, 0)
	for range 2000 {
		s, err := b.ReadShared(100)
		if err != nil {
			t.Fatal(err)
		}
		var refused [2]error
		var wg sync.WaitGroup
		for i := range refused {
			wg.Go(func() { refused[i] = s.Release() })
		}
		wg.Wait()
		if (refused[0] == nil) == (refused[1] == nil) {
			t.Fatalf("two releases of one reference: %v", refused)
		}
	}
}

// TestStaleHandle: a released frame stays released while 1,024 further ones are read.
func TestStaleHandle(t *testing.T) {
	b := newTestReader(t, &endless{1 << 30}, 0)
	old, err := b.ReadShared(10)
	if err != nil {
		t.Fatal(err)
	}
	expectError(t, old.Release(), nil)
	for range 1024 {
		s, err := b.ReadShared(10)
		if err != nil {
			t.Fatal(err)
		}
		if m := old.Memory(); old.Len() != 0 || m.Size != 0 || len(m.Buffers) != 0 {
			t.Fatal("a released frame has bytes")
		}
		expectError(t, old.Retain(), ErrReleased)
		_, err = old.WriteTo(io.Discard)
		expectError(t, err, ErrReleased)
		expectError(t, s.Release(), nil)
	}
}

// TestZeroReaders: readers that no constructor made say that there is nothing to read.
func TestZeroReaders(t *testing.T) {
	b := new(BufReader)
	for call, read := range map[string]func() error{
		"ReadByte":   func() error { _, err := b.ReadByte(); return err },
		"Peek":       func() error { _, err := b.Peek(1); return err },
		"ReadShared": func() error { _, err := b.ReadShared(1); return err },
		"ReadLine":   func() error { _, err := b.ReadLine(); return err },
		"WriteTo":    func() error { _, err := b.WriteTo(io.Discard); return err },
		"ReadNto":    func() error { return b.ReadNto(9, make([]byte, 9)) },
	} {
		expectRead(t, call, nil, read(), nil, ErrRecycled)
	}
	b.Recycle()
	b.Reset(strings.NewReader("text"))
	s, err := b.ReadString(4)
	expectRead(t, "ReadString", s, err, "text", nil)
	var m MemoryReader
	_, err = m.ReadByte()
	expectRead(t, "ReadByte of a chain", nil, err, nil, io.EOF)
}
