package gomem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
)

// TestLimitErrors: what is refused is named: the method, the limit, and how much the
// input asked for, as far as it was seen. Nothing is consumed, and no more is read
// than it takes to know.
func TestLimitErrors(t *testing.T) {
	type call func(b *BufReader) error
	line := func(b *BufReader) error { _, err := b.ReadLine(); return err }
	slice := func(b *BufReader) error { _, err := b.ReadSlice('\n'); return err }
	until := func(limit int) call {
		return func(b *BufReader) error { _, err := b.ReadUntil([]byte("\r\n"), limit); return err }
	}
	const text = "0123456\r\nand more behind it"
	for _, c := range []struct {
		name string
		call call
		max  int // MaxLineBytes
		want *LimitError
	}{
		{"ReadLine", line, 9, nil},
		{"ReadLine", line, 8, &LimitError{Op: "ReadLine", Limit: "MaxLineBytes", Max: 8, Size: 9}},
		{"ReadSlice", slice, 9, nil},
		{"ReadSlice", slice, 8, &LimitError{Op: "ReadSlice", Limit: "MaxLineBytes", Max: 8, Size: 9}},
		{"ReadSlice", slice, 3, &LimitError{Op: "ReadSlice", Limit: "MaxLineBytes", Max: 3, Size: 9}},
		{"ReadUntil", until(0), 9, nil},
		{"ReadUntil", until(0), 8, &LimitError{Op: "ReadUntil", Limit: "MaxLineBytes", Max: 8, Size: 9}},
		{"ReadUntil", until(-1), 8, nil},
		{"ReadUntil", until(9), 1, nil},
		{"ReadUntil", until(8), 100, &LimitError{Op: "ReadUntil", Limit: "limit", Max: 8, Size: 9}},
	} {
		for ahead := range len(text) {
			name := fmt.Sprintf("%s with MaxLineBytes %d, %d bytes there", c.name, c.max, ahead)
			src := &chunked{data: []byte(text), sizes: append([]byte{byte(ahead)}, bytes.Repeat([]byte{1}, len(text))...), err: io.EOF}
			b := newTestReader(t, src, 0)
			b.MaxLineBytes = c.max
			if _, err := b.Peek(min(ahead, 1)); err != nil {
				t.Fatal(err)
			}
			err := c.call(b)
			if c.want == nil {
				expectRead(t, name, int(b.TotalRead())-b.Buffered(), err, 9, nil)
				continue
			}
			got, ok := errors.AsType[*LimitError](err)
			if !ok {
				t.Fatalf("%s: %v", name, err)
			}
			if ahead < 9 && got.Size > got.Max {
				got.Size = c.want.Size // of which it has seen a part
			}
			if *got != *c.want {
				t.Errorf("%s: %#v, want %#v", name, got, c.want)
			}
			if at := b.Buffered(); at > max(ahead, c.max+1) || b.TotalRead() != int64(at) {
				t.Errorf("%s: %d of %d bytes are unread", name, at, b.TotalRead())
			}
		}
	}
}

// TestLimitIsKnownInTime: as many bytes as the limit allows, without an ending, are too
// many; the source is not asked for the next.
func TestLimitIsKnownInTime(t *testing.T) {
	b := newTestReader(t, io.MultiReader(strings.NewReader("12345"), unasked{t}), 0)
	b.MaxLineBytes = 5
	_, err := b.ReadLine()
	expectError(t, err, ErrTooLong)
	_, err = b.ReadUntil([]byte("\n"), 5)
	expectError(t, err, ErrTooLong)
}

// unasked must not be read.
type unasked struct{ t *testing.T }

func (e unasked) Read([]byte) (int, error) {
	e.t.Error("the source is asked for more")
	return 0, io.EOF
}

// TestStreamedRange: beyond MaxFrameBytes too, ReadRange takes what it was asked for
// and no more, in whatever pieces it comes.
func TestStreamedRange(t *testing.T) {
	want := string(noise(300))
	for n := 5; n <= len(want); n++ {
		for _, size := range []byte{1, 7, 100, 255} {
			b := newTestReader(t, &chunked{data: []byte(want), sizes: []byte{size}, err: io.EOF}, 64)
			b.MaxFrameBytes = 4
			var got strings.Builder
			err := b.ReadRange(n, func(p []byte) { got.Write(p) })
			if err != nil || got.String() != want[:n] || int(b.TotalRead())-b.Buffered() != n {
				t.Fatalf("ReadRange(%d) in pieces of %d gives %d bytes, %v", n, size, got.Len(), err)
			}
			expectError(t, b.UnreadByte(), nil)
			c, err := b.ReadByte()
			expectRead(t, "the last byte again", c, err, want[n-1], nil)
		}
	}
}

// TestRangeWithoutLimit: a MaxFrameBytes that is no limit is the default, beyond which
// ReadRange holds one block, and up to which it takes all or nothing.
func TestRangeWithoutLimit(t *testing.T) {
	for _, limit := range []int{-1, 0} {
		b := newTestReader(t, &endless{1 << 30}, 1<<16)
		b.MaxFrameBytes = limit
		got, most := 0, 0
		err := b.ReadRange(DefaultMaxFrameBytes+1, func(p []byte) {
			most = max(most, int(b.TotalRead())-got)
			got += len(p)
		})
		if err != nil || got != DefaultMaxFrameBytes+1 || most > 1<<16 {
			t.Errorf("limit %d: %d bytes, of which %d were held, %v", limit, got, most, err)
		}
		b = newTestReader(t, &endless{100}, 64)
		b.MaxFrameBytes = limit
		err = b.ReadRange(101, func([]byte) { t.Error("a part of what is not all there") })
		expectRead(t, "unread", b.Buffered(), err, 100, io.ErrUnexpectedEOF)
	}
}

// TestLargestNumbers: the largest that the result can hold is no overflow, and one more
// is.
func TestLargestNumbers(t *testing.T) {
	const bits = 32 << (^uint(0) >> 63)
	leb := func(v uint64) (p []byte) {
		for ; v >= 0x80; v >>= 7 {
			p = append(p, byte(v)|0x80)
		}
		return append(p, byte(v))
	}
	bytesOf := func(v uint64) (be, le []byte) {
		for i := range 8 {
			be, le = append(be, byte(v>>(56-8*i))), append(le, byte(v>>(8*i)))
		}
		return be, le
	}
	for _, v := range []uint64{math.MaxInt, math.MaxInt + 1} {
		be, le := bytesOf(v)
		wantErr, left := error(nil), 0
		if v > math.MaxInt {
			wantErr, left = ErrOverflow, 8
		}
		for name, read := range map[string]func(b *BufReader) (int, error){
			string(be): func(b *BufReader) (int, error) { return b.ReadBE(8) },
			string(le): func(b *BufReader) (int, error) { return b.ReadLE(8) },
		} {
			b := newTestReader(t, strings.NewReader(name), 0)
			got, err := read(b)
			if !errors.Is(err, wantErr) || err == nil && got != math.MaxInt || b.Buffered() != left {
				t.Errorf("%#x: %#x, %v, %d bytes left", v, got, err, b.Buffered())
			}
		}
	}
	b := newTestReader(t, strings.NewReader(string(leb(math.MaxUint))+"x"), 0)
	v, n, err := b.LEB128Unmarshal()
	if v != math.MaxUint || n != (bits+6)/7 || err != nil || b.Buffered() != 1 {
		t.Errorf("LEB128Unmarshal = %#x, %d, %v, %d bytes left", v, n, err, b.Buffered())
	}
	r := NewReadableBuffersFromBytes(leb(math.MaxUint))
	if v, _, err := r.LEB128Unmarshal(); v != math.MaxUint || err != nil {
		t.Errorf("MemoryReader.LEB128Unmarshal = %#x, %v", v, err)
	}
}
