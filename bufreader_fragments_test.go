package gomem

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
)

// TestFragmentRows has the rows of the chain reader for a stream in fragments.
func TestFragmentRows(t *testing.T) {
	fragments := func(list ...[]byte) *BufReader {
		feed := make(chan net.Buffers, 1)
		feed <- list
		close(feed)
		return NewBufReaderBuffersChan(feed)
	}
	t.Run("G-03", func(t *testing.T) {
		all := noise(12)
		for cut := range 11 {
			for next := cut; next < 12; next++ {
				for n := range 13 {
					b := fragments(all[:cut], all[cut:next], all[next:])
					expectRead(t, "Skip", nil, b.Skip(n), nil, nil)
					rest, err := io.ReadAll(b)
					expectRead(t, "the rest", string(rest), err, string(all[n:]), nil)
				}
			}
		}
	})
	t.Run("G-04", func(t *testing.T) {
		b := fragments([]byte("head"), []byte("er:bo"), []byte("dy"))
		_, err := b.ReadString(7)
		expectRead(t, "ReadString", nil, err, nil, nil)
		var dst strings.Builder
		n, err := io.Copy(&dst, b)
		expectRead(t, "Copy", dst.String(), err, "body", nil)
		expectRead(t, "Copy", n, nil, int64(4), nil)
		n, err = io.Copy(&dst, b)
		expectRead(t, "Copy at the end", n, err, int64(0), nil)
	})
	t.Run("G-27", func(t *testing.T) {
		open := func() *BufReader { return fragments(nil, []byte{1}, []byte{}, []byte{2}, nil) }
		c, err := open().ReadByte()
		expectRead(t, "ReadByte", c, err, byte(1), nil)
		v, err := open().ReadBE(2)
		expectRead(t, "ReadBE", v, err, 0x102, nil)
		u, _, err := open().LEB128Unmarshal()
		expectRead(t, "LEB128Unmarshal", u, err, uint(1), nil)
	})
	t.Run("G-28", func(t *testing.T) {
		b := fragments([]byte{1, 2})
		expectRead(t, "UnreadByte", nil, b.UnreadByte(), nil, ErrInvalidUnread)
		_, _ = b.ReadByte()
		expectRead(t, "UnreadByte", nil, b.UnreadByte(), nil, nil)
		expectRead(t, "UnreadByte", b.Buffered(), b.UnreadByte(), 2, ErrInvalidUnread)
	})
	t.Run("G-29", func(t *testing.T) {
		b := fragments(bytes.Repeat([]byte{0xff}, 9), []byte{1})
		v, n, err := b.ReadLEB128()
		expectRead(t, "ReadLEB128", v, err, ^uint64(0), nil)
		expectRead(t, "ReadLEB128", n, nil, 10, nil)
		b = fragments(bytes.Repeat([]byte{0x80}, 20))
		_, _, err = b.ReadLEB128()
		expectRead(t, "ReadLEB128", b.Buffered(), err, 20, ErrOverflow)
		b = fragments([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
		u, _, err := b.LEB128Unmarshal()
		if ^uint(0)>>32 == 0 {
			expectRead(t, "LEB128Unmarshal", b.Buffered(), err, 8, ErrOverflow)
		} else {
			expectRead(t, "LEB128Unmarshal", uint64(u), err, uint64(1<<56-1), nil)
		}
	})
	t.Run("G-30", func(t *testing.T) {
		word := []byte{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0}
		b := fragments(word[:3], word[3:])
		v, err := b.ReadBE64(8)
		expectRead(t, "ReadBE64", v, err, uint64(0x123456789abcdef0), nil)
		b = fragments(word[:1], word[1:2])
		_, err = b.ReadBE(4)
		expectRead(t, "ReadBE of 2 bytes", b.Buffered(), err, 2, io.ErrUnexpectedEOF)
		b = fragments(bytes.Repeat([]byte{0xff}, 8))
		_, err = b.ReadBE(8)
		expectRead(t, "ReadBE", b.Buffered(), err, 8, ErrOverflow)
		_, err = b.ReadLE(8)
		expectRead(t, "ReadLE", b.Buffered(), err, 8, ErrOverflow)
	})
}
