package gomem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

var errReset = errors.New("connection reset by test")

// newTestReader is a reader with an allocator of its own.
func newTestReader(t *testing.T, r io.Reader, bufLen int) *BufReader {
	t.Helper()
	return onItsOwn(t, NewBufReaderWithBufLen(r, bufLen))
}

// onItsOwn gives b an allocator of its own, which must be empty when the test is over
// and the reader recycled.
func onItsOwn(t *testing.T, b *BufReader) *BufReader {
	b.Allocator = NewScalableMemoryAllocator(1 << 16)
	t.Cleanup(func() {
		b.Recycle()
		if n := taken(b); n != 0 {
			t.Errorf("%d bytes are still taken after Recycle", n)
		}
	})
	return b
}

// taken is what the reader's allocator has handed out and not got back.
func taken(b *BufReader) int64 { return b.Allocator.GetTotalMalloc() - b.Allocator.GetTotalFree() }

// endless is n zero bytes.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.n)
	clear(p[:n])
	e.n -= n
	return n, nil
}

// expectRead asserts value and error of a call in one line.
func expectRead(t *testing.T, call string, got any, err error, want any, wantErr error) {
	t.Helper()
	if !errors.Is(err, wantErr) || wantErr == nil && err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s = %.60q, %v, want %.60q, %v", call, got, err, want, wantErr)
	}
}

// TestMonibucaRows has one case for each defect seen in Monibuca's BufReader that
// a stream can show.
func TestMonibucaRows(t *testing.T) {
	t.Run("M-01", func(t *testing.T) {
		b := newTestReader(t, strings.NewReader("hello"), 0)
		n, err := b.Read(make([]byte, 10))
		expectRead(t, "Read", n, err, 5, nil)
		b.Reset(strings.NewReader("hello"))
		all, err := io.ReadAll(b)
		expectRead(t, "ReadAll", string(all), err, "hello", nil)
		b.Reset(strings.NewReader("hello"))
		var dst bytes.Buffer
		m, err := io.Copy(&dst, b)
		expectRead(t, "Copy", m, err, int64(5), nil)
	})
	t.Run("M-02", func(t *testing.T) {
		pr, pw := io.Pipe()
		go func() { _, _ = pw.Write([]byte("four")) }()
		b := newTestReader(t, pr, 0)
		n, err := b.Read(make([]byte, 1024)) // must not wait for more
		expectRead(t, "Read", n, err, 4, nil)
	})
	t.Run("M-03", func(t *testing.T) {
		for _, size := range []int{1500, 1, 17, 1023, 5000} {
			one := newTestReader(t, &chunked{data: bytes.Repeat([]byte("a"), 40_000), err: io.EOF}, size)
			two := NewBufReaderWithBufLen(&chunked{data: bytes.Repeat([]byte("b"), 40_000), err: io.EOF}, size)
			two.Allocator = one.Allocator
			for range 25 {
				p, err := one.Next(1500)
				if err != nil {
					t.Fatal(err)
				}
				q, err := two.Next(1500)
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Count(p, []byte("a")) != 1500 || bytes.Count(q, []byte("b")) != 1500 {
					t.Fatalf("blocks of %d: the streams mix", size)
				}
			}
			two.Recycle()
		}
	})
	t.Run("M-04", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for range 20 {
					b := NewBufReaderWithBufLen(&chunked{data: bytes.Repeat([]byte{byte(i)}, 30_000), err: io.EOF}, 1500)
					err := b.ReadRange(30_000, func(p []byte) {
						if bytes.Count(p, []byte{byte(i)}) != len(p) {
							t.Error("bytes of another stream")
						}
					})
					if err != nil {
						t.Error(err)
					}
					b.Recycle()
				}
			})
		}
		wg.Wait()
	})
	t.Run("M-05", func(t *testing.T) {
		b := newTestReader(t, &chunked{data: []byte("hello"), err: io.EOF, with: true}, 0)
		s, err := b.ReadString(5)
		expectRead(t, "ReadString", s, err, "hello", nil)
		_, err = b.ReadByte()
		expectRead(t, "ReadByte", nil, err, nil, io.EOF)
		b.Reset(iotest.DataErrReader(bytes.NewReader(make([]byte, 64<<10))))
		all, err := io.ReadAll(b)
		expectRead(t, "ReadAll", len(all), err, 64<<10, nil)
		b.Reset(&chunked{data: []byte("seven b"), err: errReset, with: true})
		s, err = b.ReadString(7)
		expectRead(t, "ReadString", s, err, "seven b", nil)
		_, err = b.ReadString(1)
		expectRead(t, "ReadString", nil, err, nil, errReset)
	})
	t.Run("M-06", func(t *testing.T) {
		b := newTestReader(t, strings.NewReader("hello"), 0)
		p, err := b.Peek(10)
		expectRead(t, "Peek", string(p), err, "hello", io.EOF)
		expectRead(t, "Buffered", b.Buffered(), nil, 5, nil)
		for _, want := range "hello" {
			c, err := b.ReadByte()
			expectRead(t, "ReadByte", rune(c), err, want, nil)
		}
		_, err = b.ReadByte()
		expectRead(t, "ReadByte", nil, err, nil, io.EOF)
	})
	t.Run("M-07", func(t *testing.T) {
		b := newTestReader(t, &chunked{data: []byte("abc"), sizes: []byte{0, 1, 0, 0, 2}, err: io.EOF}, 0)
		s, err := b.ReadString(3)
		expectRead(t, "ReadString", s, err, "abc", nil)
		b = newTestReader(t, &chunked{data: []byte("a"), sizes: []byte{0, 1}, err: io.EOF}, 0)
		c, err := b.ReadByte()
		expectRead(t, "ReadByte", c, err, byte('a'), nil)
		feed := make(chan []byte, 6)
		feed <- []byte{}
		feed <- []byte("w")
		b = NewBufReaderChan(feed)
		c, err = b.ReadByte()
		expectRead(t, "ReadByte", c, err, byte('w'), nil)
		feed <- nil
		feed <- []byte("x")
		feed <- []byte{}
		feed <- []byte("y")
		s, err = b.ReadString(2)
		expectRead(t, "ReadString", s, err, "xy", nil)
		b.Recycle()
	})
	t.Run("M-08", func(t *testing.T) {
		b := newTestReader(t, strings.NewReader("one\nlast"), 0)
		s, err := b.ReadLine()
		expectRead(t, "ReadLine", s, err, "one", nil)
		s, err = b.ReadLine()
		expectRead(t, "ReadLine", s, err, "last", nil)
		_, err = b.ReadLine()
		expectRead(t, "ReadLine", nil, err, nil, io.EOF)
	})
	t.Run("M-12", func(t *testing.T) {
		for name, read := range map[string]func(b *BufReader) error{
			"ReadBE":   func(b *BufReader) error { _, err := b.ReadBE(4); return err },
			"ReadByte": func(b *BufReader) error { _, err := b.ReadByte(); return err },
			"Peek":     func(b *BufReader) error { _, err := b.Peek(4); _ = b.Skip(4); return err },
		} {
			b := newTestReader(t, &endless{1 << 20}, 0)
			for i := 0; ; i++ {
				if err := read(b); err != nil {
					expectRead(t, name, nil, err, nil, io.EOF)
					break
				}
				if i%1000 > 0 {
					continue
				}
				if n := taken(b); n > DefaultBufLen {
					t.Fatalf("%s: %d bytes are taken", name, n)
				}
			}
		}
	})
	t.Run("M-13", func(t *testing.T) {
		src := &script{list: []any{192 << 20}}
		b := newTestReader(t, src, 0)
		got, most := 0, int64(0)
		src.seen = func([]byte) { most = max(most, taken(b)) }
		expectRead(t, "Skip", nil, b.Skip(64<<20), nil, nil)
		err := b.ReadRange(64<<20, func(p []byte) {
			got += len(p)
			most = max(most, taken(b))
		})
		expectRead(t, "ReadRange", got, err, 64<<20, nil)
		expectRead(t, "Discard", nil, func() error { _, err := b.Discard(64 << 20); return err }(), nil, nil)
		if most > 2*DefaultBufLen {
			t.Errorf("%d bytes were taken", most)
		}
	})
	t.Run("M-14", func(t *testing.T) {
		src := append(bytes.Repeat([]byte("A"), 4096), bytes.Repeat([]byte("B"), 4096)...)
		b := newTestReader(t, bytes.NewReader(src), 4096)
		shared, err := b.ReadShared(8)
		expectRead(t, "ReadShared", nil, err, nil, nil)
		view, err := b.ReadBytes(4080)
		expectRead(t, "ReadBytes", view.Size, err, 4080, nil)
		if got := bytes.Join(view.Buffers, nil); bytes.Count(got, []byte("A")) != 4080 {
			t.Error("a view changed before the next read")
		}
		expectRead(t, "Skip", nil, b.Skip(4000), nil, nil)
		kept := shared.Memory()
		expectRead(t, "Memory", string(kept.ToBytes()), nil, "AAAAAAAA", nil)
		expectRead(t, "Release", nil, shared.Release(), nil, nil)
	})
	t.Run("M-15", func(t *testing.T) {
		mem := NewScalableMemoryAllocator(1 << 20)
		defer mem.Close()
		for range 200 {
			b := NewBufReaderWithBufLen(strings.NewReader("x"), 4<<20)
			b.Allocator = mem
			_, err := b.ReadByte()
			expectRead(t, "ReadByte", nil, err, nil, nil)
			b.Recycle()
			if n := taken(b); n != 0 {
				t.Fatalf("%d bytes are still taken", n)
			}
		}
	})
	t.Run("M-16", func(t *testing.T) {
		mem := NewScalableMemoryAllocator(1 << 20)
		defer mem.Close()
		if !mem.Free(nil) || !mem.Free(mem.Malloc(0)) {
			t.Error("an empty slice was refused")
		}
		var none *ScalableMemoryAllocator
		if none.Free(nil) || none.Free(none.Malloc(0)) {
			t.Error("no allocator freed something")
		}
		if s := mem.Stats(); s.Refused != 0 || s.Malloced != 0 || s.Freed != 0 {
			t.Errorf("frees of nothing counted: %+v", s)
		}
	})
	t.Run("M-17", func(t *testing.T) {
		feed := make(chan net.Buffers, 1)
		feed <- net.Buffers{{1}, {2, 3, 4, 5, 6}, {}, {7, 8, 9, 10, 11}}
		close(feed)
		b := NewBufReaderBuffersChan(feed)
		expectRead(t, "Skip", nil, b.Skip(3), nil, nil)
		c, err := b.ReadByte()
		expectRead(t, "ReadByte", c, err, byte(4), nil)
		m, err := b.ReadBytes(7)
		r := m.NewReader()
		expectRead(t, "ReadBytes", r.Length, err, 7, nil)
		expectRead(t, "Skip", nil, r.Skip(3), nil, nil)
		c, err = r.ReadByte()
		expectRead(t, "ReadByte", c, err, byte(8), nil)
		expectRead(t, "Skip(0) at the end", nil, b.Skip(0), nil, nil)
		b.Recycle()
	})
	t.Run("M-18", func(t *testing.T) {
		b := newTestReader(t, strings.NewReader("headneighbour"), 0)
		p, err := b.Next(4)
		expectRead(t, "Next", string(append(p, '#')), err, "head#", nil)
		s, err := b.ReadString(9)
		expectRead(t, "ReadString", s, err, "neighbour", nil)
	})
	t.Run("M-19", func(t *testing.T) {
		b := newTestReader(t, strings.NewReader("abc"), 0)
		_, err := b.ReadString(5)
		expectRead(t, "ReadString", b.Buffered(), err, 3, io.ErrUnexpectedEOF)
		_, err = b.ReadBE32(4)
		expectRead(t, "ReadBE32", b.Buffered(), err, 3, io.ErrUnexpectedEOF)
		_, err = b.ReadBE32(5)
		expectRead(t, "ReadBE32(5)", b.Buffered(), err, 3, ErrInvalidSize)
		s, err := b.ReadString(3)
		expectRead(t, "ReadString", s, err, "abc", nil)
	})
	t.Run("M-20", func(t *testing.T) {
		b := newTestReader(t, strings.NewReader("abc"), 0)
		c, err := b.ReadByte()
		expectRead(t, "ReadByte", c, err, byte('a'), nil)
		b.Recycle()
		b.Recycle()
		_, err = b.ReadByte()
		expectRead(t, "ReadByte", nil, err, nil, ErrRecycled)
	})
}

// TestMonibucaLimits has the rows in which a peer sends too much.
func TestMonibucaLimits(t *testing.T) {
	t.Run("M-09", func(t *testing.T) {
		b := newTestReader(t, &endless{256 << 20}, 0)
		_, err := b.ReadLine()
		expectRead(t, "ReadLine", nil, err, nil, ErrTooLong)
		limit, ok := errors.AsType[*LimitError](err)
		if !ok || limit.Limit != "MaxLineBytes" || limit.Max != DefaultMaxLineBytes || limit.Size <= limit.Max {
			t.Errorf("the error is %#v", err)
		}
		if n := taken(b); n > DefaultMaxLineBytes+2*DefaultBufLen {
			t.Errorf("%d bytes are taken", n)
		}
		const length = 8 << 20
		b = newTestReader(t, io.MultiReader(&endless{length}, strings.NewReader("\n")), 0)
		b.MaxLineBytes = length + 1
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		line, err := b.ReadLine()
		runtime.ReadMemStats(&after)
		expectRead(t, "ReadLine", len(line), err, length, nil)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4*length {
			t.Errorf("%d bytes were allocated for one line of %d", n, length)
		}
	})
	t.Run("M-10", func(t *testing.T) {
		many := strings.Repeat("Key: value\r\n", 1_000_000)
		for _, limit := range []int{0, 1000, 1 << 30} {
			b := newTestReader(t, strings.NewReader(many), 0)
			b.MaxHeaderBytes = limit
			h, err := b.ReadMIMEHeader()
			expectRead(t, "ReadMIMEHeader", len(h) <= maxHeaderLines, err, true, ErrTooLong)
		}
		b := newTestReader(t, strings.NewReader("A: "+strings.Repeat("x", 70_000)+"\n\n"), 0)
		_, err := b.ReadMIMEHeader()
		limit, _ := errors.AsType[*LimitError](err)
		expectRead(t, "ReadMIMEHeader", limit.Limit, err, "MaxLineBytes", ErrTooLong)
	})
	t.Run("M-11", func(t *testing.T) {
		bad := errors.New("a textproto.ProtocolError")
		type header = textproto.MIMEHeader
		for text, want := range map[string]struct {
			h   header
			err error
		}{
			"Subject: first\r\n second part\r\n\tthird\r\nA-B:\tx \r\n\r\n": {header{"Subject": {"first second part third"}, "A-B": {"x"}}, nil},
			"a: 1\nA: 2\n\n":             {header{"A": {"1", "2"}}, nil},
			"\r\n":                       {header{}, nil},
			"Empty:\n\n":                 {header{"Empty": {""}}, nil},
			"Content-Length : 5\r\n\r\n": {header{}, bad},
			"A: 1\nno colon here\n\n":    {header{"A": {"1"}}, bad},
			" first: blank\n\n":          {header{}, bad},
			": none\n\n":                 {header{}, bad},
			"A: \x00\n\n":                {header{}, bad},
			"A: 1\r\nB: 2\r\n":           {header{"A": {"1"}, "B": {"2"}}, io.ErrUnexpectedEOF},
			"A: 1":                       {header{"A": {"1"}}, io.ErrUnexpectedEOF},
			"":                           {header{}, io.EOF},
		} {
			b := newTestReader(t, iotest.OneByteReader(strings.NewReader(text)), 16)
			h, err := b.ReadMIMEHeader()
			if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
				err = bad
			}
			expectRead(t, fmt.Sprintf("ReadMIMEHeader of %q", text), h, err, want.h, want.err)
		}
	})
}
