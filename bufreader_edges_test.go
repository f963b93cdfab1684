package gomem

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
)

// TestMisuse38to40Later: an invalid count after valid ones is refused on the fast path
// as well, also one that is too large by a single byte.
func TestMisuse38to40Later(t *testing.T) {
	for name, count := range map[string]func(p []byte) int{
		"negative":        func([]byte) int { return -1 },
		"one byte beyond": func(p []byte) int { return len(p) + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			src := func() io.Reader {
				calls := 0
				return oddReader(func(p []byte) (int, error) {
					if calls++; calls <= 2 {
						return copy(p, "\xff"), nil
					}
					if calls > 100 {
						t.Fatal("the source is asked for ever")
					}
					return count(p), nil
				})
			}
			eachReader(t, src, func(t *testing.T, b *BufReader, read func(*BufReader) error) {
				for {
					if err := read(b); err != nil {
						expectError(t, err, ErrInvalidRead)
						break
					}
				}
				if b.TotalRead() != 2 {
					t.Errorf("%d bytes were taken from the source, want 2", b.TotalRead())
				}
			})
		})
	}
}

// TestPassingErrorIsDelivered: each error that comes alone is returned, once, by
// whatever reads then, and costs no byte.
func TestPassingErrorIsDelivered(t *testing.T) {
	data := bytes.Repeat([]byte("A: b\n\n\x00\x01\x02"), 40)
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			src, issued, delivered := &stumble{data: data}, 0, 0
			b := newTestReader(t, oddReader(func(p []byte) (int, error) {
				n, err := src.Read(p)
				if err == errReset {
					issued++
				}
				return n, err
			}), 16)
			b.Allocator = nil // what ReadShared gives is not released
			for {
				err := read(b)
				if err == nil && len(src.data)+b.Buffered() > 0 {
					if name == "Peek" {
						expectError(t, b.Skip(1), nil)
					}
					continue
				}
				if !errors.Is(err, errReset) {
					break
				}
				if delivered++; delivered != issued {
					t.Fatalf("%d of %d errors were delivered", delivered, issued)
				}
			}
			if delivered != issued || issued == 0 {
				t.Errorf("%d of %d errors were delivered", delivered, issued)
			}
		})
	}
}

// TestLimitsZeroAndNegative: zero is the default and less than zero no limit, for
// each of them; one byte is a limit too.
func TestLimitsZeroAndNegative(t *testing.T) {
	for _, c := range []struct {
		limit, max int // of the error; 0 if there is none
		frame      int
		line       string
	}{
		{0, DefaultMaxFrameBytes, DefaultMaxFrameBytes + 1, ""},
		{0, 0, DefaultMaxFrameBytes, strings.Repeat("x", DefaultMaxLineBytes-1) + "\n"},
		{0, DefaultMaxLineBytes, 0, strings.Repeat("x", DefaultMaxLineBytes) + "\n"},
		{-1, 0, DefaultMaxFrameBytes + 1, strings.Repeat("x", DefaultMaxLineBytes) + "\n"},
		{1, 1, 2, "x\n"},
		{1, 0, 1, "\n"},
	} {
		b := newTestReader(t, strings.NewReader(c.line), 0)
		b.MaxFrameBytes, b.MaxLineBytes = c.limit, c.limit
		expect := func(call string, err, unlimited error) {
			t.Helper()
			var refused *LimitError
			switch {
			case c.max == 0:
				expectError(t, err, unlimited)
			case !errors.As(err, &refused) || refused.Max != c.max:
				t.Errorf("%s with a limit of %d: %v, want %d in the error", call, c.limit, err, c.max)
			}
		}
		if c.line != "" {
			_, err := b.ReadLine()
			expect("ReadLine", err, nil)
			continue
		}
		_, err := b.ReadString(c.frame)
		expect("ReadString", err, io.EOF)
	}
}

// TestReadRangeAtTheLimit: up to MaxFrameBytes, which zero and less make the default,
// it is all or nothing; beyond it streams.
func TestReadRangeAtTheLimit(t *testing.T) {
	for _, c := range []struct {
		limit, n int
		streams  bool
	}{{0, 6, false}, {-1, 6, false}, {6, 6, false}, {5, 6, true}, {0, DefaultMaxFrameBytes + 1, true}} {
		b := newTestReader(t, strings.NewReader("hello"), 0)
		b.MaxFrameBytes = c.limit
		got := 0
		err := b.ReadRange(c.n, func(p []byte) { got += len(p) })
		expectError(t, err, io.ErrUnexpectedEOF)
		if want := map[bool]int{true: 5}[c.streams]; got != want || b.Buffered() != 5-want {
			t.Errorf("limit %d: ReadRange(%d) gave %d bytes, want %d", c.limit, c.n, got, want)
		}
		expectError(t, b.Skip(b.Buffered()), nil)
		expectError(t, b.ReadRange(c.n, func([]byte) {}), io.EOF)
	}
}

// TestBlockLength: zero and less is the default, and few bytes are 16, wherever they
// are said.
func TestBlockLength(t *testing.T) {
	var room int
	src := oddReader(func(p []byte) (int, error) {
		room = len(p)
		return 0, io.EOF
	})
	for bufLen, want := range map[int]int{-1: DefaultBufLen, 0: DefaultBufLen, 1: 16, 15: 16, 17: 17} {
		var zero BufReader
		zero.Reset(src)
		zero.BufLen = bufLen
		for _, b := range []*BufReader{&zero, NewBufReaderWithBufLen(src, bufLen)} {
			_, err := b.ReadByte()
			expectError(t, err, io.EOF)
			if room != want {
				t.Errorf("BufLen %d: the source was given %d bytes, want %d", bufLen, room, want)
			}
			b.Recycle()
		}
	}
}

// TestResetForgets: nothing of the stream before shows.
func TestResetForgets(t *testing.T) {
	b := newTestReader(t, strings.NewReader("before"), 0)
	expectError(t, b.Skip(3), nil)
	_ = b.Release(nil)
	expectError(t, b.Skip(2), nil)
	b.Reset(strings.NewReader("after"))
	if b.ReadLen() != 0 || b.TotalRead() != 0 || b.Buffered() != 0 {
		t.Errorf("ReadLen %d, TotalRead %d, Buffered %d", b.ReadLen(), b.TotalRead(), b.Buffered())
	}
	expectError(t, b.UnreadByte(), ErrInvalidUnread)
}

// whole are the ways to take n bytes where they lie.
var whole = map[string]func(b *BufReader, n int) ([][]byte, error){
	"Peek": func(b *BufReader, n int) ([][]byte, error) { p, err := b.Peek(n); return [][]byte{p}, err },
	"Next": func(b *BufReader, n int) ([][]byte, error) { p, err := b.Next(n); return [][]byte{p}, err },
	"ReadRange": func(b *BufReader, n int) (list [][]byte, err error) {
		err = b.ReadRange(n, func(p []byte) { list = append(list, p) })
		return list, err
	},
	"stream": func(b *BufReader, n int) (list [][]byte, err error) {
		b.MaxFrameBytes = n - 1
		err = b.ReadRange(n, func(p []byte) { list = append(list, p) })
		return list, err
	},
	"ReadBytes": func(b *BufReader, n int) ([][]byte, error) { m, err := b.ReadBytes(n); return m.Buffers, err },
	"ReadShared": func(b *BufReader, n int) ([][]byte, error) {
		s, err := b.ReadShared(n)
		if err != nil {
			return nil, err
		}
		return slices.Clone(s.Memory().Buffers), s.Release()
	},
}

// TestPacketsAreNotCopied: what lies in one packet, behind one that is read out, comes
// from where it is; what spans packets too, unless it is asked for in one piece.
func TestPacketsAreNotCopied(t *testing.T) {
	packets := net.Buffers{noise(600), noise(700), noise(800)}
	for name, read := range whole {
		for _, n := range []int{700, 1500} {
			if n == 1500 && (name == "Peek" || name == "Next") {
				continue
			}
			feed := make(chan net.Buffers, 1)
			feed <- packets
			b := NewBufReaderBuffersChan(feed)
			b.BufLen = 1000 // less than 1500: then ReadBytes gives a view of each block
			expectError(t, b.Skip(600), nil)
			views, err := read(b, n)
			expectError(t, err, nil)
			for i, v := range views {
				if &v[0] != &packets[1+i][0] || len(v) != len(packets[1+i]) {
					t.Errorf("%s(%d): view %d of %d bytes is a copy or a part", name, n, i, len(v))
				}
			}
			b.Recycle()
		}
	}
}

// TestViewsEndWithTheNextCall: a reader that goes on and on, by calls that span blocks
// each, holds no more than one of them needs.
func TestViewsEndWithTheNextCall(t *testing.T) {
	const blockLen, n = 256, 256 + 100
	for name, read := range whole {
		b := newTestReader(t, &endless{1 << 30}, blockLen)
		for range 100 {
			if _, err := read(b, n); err != nil {
				t.Fatal(err)
			}
			if name == "Peek" {
				expectError(t, b.Skip(n), nil)
			}
			if got := taken(b); got > 6*blockLen {
				t.Fatalf("%s of %d bytes holds %d", name, n, got)
			}
		}
	}
}

// TestOneBlockServes: small requests, however they fall, are all met from one block.
func TestOneBlockServes(t *testing.T) {
	const blockLen = 1000
	data := bytes.Repeat([]byte("0123456789abcdef\x01\x02\n"), 2000)
	for name, read := range map[string]func(b *BufReader) error{
		"ReadString": func(b *BufReader) error { _, err := b.ReadString(13); return err },
		"ReadRange":  func(b *BufReader) error { return b.ReadRange(13, func([]byte) {}) },
		"ReadLine":   func(b *BufReader) error { _, err := b.ReadLine(); return err },
		"ReadUntil":  func(b *BufReader) error { _, err := b.ReadUntil([]byte{1, 2}, 0); return err },
		"ReadBE64":   func(b *BufReader) error { _, err := b.ReadBE64(7); return err },
		"Next":       func(b *BufReader) error { _, err := b.Next(13); return err },
		"ReadShared": func(b *BufReader) error {
			s, err := b.ReadShared(13)
			if err != nil {
				return err
			}
			return s.Release()
		},
	} {
		b := newTestReader(t, &chunked{data: data, sizes: []byte{50, 3, 90}, err: io.EOF}, blockLen)
		for range 1500 {
			if err := read(b); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if got := b.Allocator.GetTotalMalloc(); got != blockLen {
			t.Errorf("%s: %d bytes were allocated, want one block of %d", name, got, blockLen)
		}
	}
}

// TestOneBlockWhileWaiting: whatever was read before, and let go by a call that did not
// leave the front block, a reader that waits holds one block, whichever call waits.
func TestOneBlockWhileWaiting(t *testing.T) {
	const blockLen = 16
	for before, read := range whole {
		for name, last := range readers {
			var b *BufReader
			left, waits := 5*blockLen+3, 0
			b = newTestReader(t, oddReader(func(p []byte) (int, error) {
				if left == 0 {
					waits++
					if got := taken(b); got > blockLen {
						t.Errorf("%s after %s: %d bytes are held while the reader waits", name, before, got)
					}
					return 0, io.EOF
				}
				n := min(len(p), left)
				left -= n
				return n, nil
			}), blockLen)
			_, err := read(b, 5*blockLen+2)
			expectError(t, err, nil)
			expectError(t, b.Skip(b.Buffered()), nil)
			b.MaxFrameBytes = 0
			if err := last(b); name != "WriteTo" {
				expectError(t, err, io.EOF)
			}
			if waits == 0 {
				t.Errorf("%s after %s: the reader did not wait", name, before)
			}
		}
	}
}

// TestUnreadBehindRelease: ReadLen is where the reader is, seen from the last Release.
func TestUnreadBehindRelease(t *testing.T) {
	b := newTestReader(t, strings.NewReader("hello"), 0)
	expectError(t, b.Skip(3), nil)
	expectError(t, b.Release(nil), nil)
	for want := range 4 {
		if got := b.ReadLen(); got != -want {
			t.Errorf("ReadLen %d, want %d", got, -want)
		}
		if want < 3 {
			expectError(t, b.UnreadByte(), nil)
		}
	}
	expectError(t, b.UnreadByte(), ErrInvalidUnread)
	expectError(t, b.Skip(5), nil)
	if got := b.ReadLen(); got != 2 {
		t.Errorf("ReadLen %d, want 2", got)
	}
}

// TestRangeOfAnyLength: a range longer than any stream ends with the stream, wherever
// in its block it begins.
func TestRangeOfAnyLength(t *testing.T) {
	for _, n := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt - 50} {
		b := newTestReader(t, &endless{100}, 64)
		_, err := b.ReadByte()
		expectError(t, err, nil)
		got := 0
		err = b.ReadRange(n, func(p []byte) { got += len(p) })
		expectError(t, err, io.ErrUnexpectedEOF)
		if got != 99 {
			t.Errorf("a range of %d gave %d bytes, want 99", n, got)
		}
	}
}

// TestRecycledByItsWriter: a writer that ends the connection, and with it the reader
// that writes to it, leaves a recycled reader, however much it says that it took.
func TestRecycledByItsWriter(t *testing.T) {
	for _, took := range []int{0, 1, 10} {
		b := newTestReader(t, strings.NewReader("0123456789"), 0)
		_, err := b.WriteTo(writerFunc(func(p []byte) (int, error) {
			b.Recycle()
			return took, errReset
		}))
		expectError(t, err, errReset)
		_, err = b.ReadByte()
		expectError(t, err, ErrRecycled)
		_, err = b.Next(5)
		expectError(t, err, ErrRecycled)
		expectError(t, b.UnreadByte(), ErrInvalidUnread)
	}
}

// TestRangeIntoNothing: a range that nobody takes is consumed, in one block, across
// blocks and beyond what is held together.
func TestRangeIntoNothing(t *testing.T) {
	b := newTestReader(t, strings.NewReader(strings.Repeat("0123456789", 10)), 16)
	b.MaxFrameBytes = 50
	_, err := b.Peek(3)
	expectError(t, err, nil)
	for _, n := range []int{3, 0, 30, 60} {
		expectError(t, b.ReadRange(n, nil), nil)
	}
	expectError(t, b.ReadRange(8, nil), io.ErrUnexpectedEOF)
	rest, err := b.ReadString(7)
	expectError(t, err, nil)
	if rest != "3456789" {
		t.Errorf("%q is left", rest)
	}
}
