package gomem

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"testing"
)

// TestCopyN: the bytes that were asked for are written, in order, and those behind them
// stay, wherever in their blocks they begin and end.
func TestCopyN(t *testing.T) {
	const blockLen = 64
	sent := noise(1000)
	for _, hold := range []bool{false, true} {
		for _, peek := range []int{0, 1, 64, 200} {
			for _, begin := range []int{0, 1, 63, 64} {
				for _, n := range []int64{0, 1, 63, 64, 65, 128, 500, 1000, math.MaxInt64} {
					b := newTestReader(t, &chunked{data: sent, sizes: []byte{64, 33}, err: io.EOF}, blockLen)
					b.HoldViews = hold
					view, err := b.Next(begin)
					expectError(t, err, nil)
					_, err = b.Peek(peek)
					expectError(t, err, nil)
					end, wantErr := int64(begin)+n, error(nil)
					if n > int64(len(sent)-begin) {
						end, wantErr = int64(len(sent)), io.EOF
					}
					var got bytes.Buffer
					k, err := b.CopyN(&got, n)
					expectRead(t, "CopyN", k, err, end-int64(begin), wantErr)
					if !bytes.Equal(got.Bytes(), sent[begin:end]) {
						t.Fatalf("CopyN of %d bytes at %d wrote others", n, begin)
					}
					if hold && !bytes.Equal(view, sent[:begin]) {
						t.Fatalf("CopyN of %d bytes changed a view of %d", n, begin)
					}
					if wantErr == nil && n > 0 {
						expectError(t, b.UnreadByte(), nil)
						c, err := b.ReadByte()
						expectRead(t, "ReadByte", c, err, sent[end-1], nil)
					}
					rest, err := io.ReadAll(b)
					expectRead(t, "the rest", string(rest), err, string(sent[end:]), nil)
				}
			}
		}
	}
}

// TestCopyNErrors: a negative size is refused, and what w did not take stays unread. Only
// all the bytes come without an error.
func TestCopyNErrors(t *testing.T) {
	const blockLen, all = 64, 300
	sent := noise(all)
	open := func() *BufReader { return newTestReader(t, bytes.NewReader(sent), blockLen) }
	b := open()
	for _, n := range []int64{-1, math.MinInt64} {
		k, err := b.CopyN(io.Discard, n)
		expectRead(t, "CopyN", k, err, int64(0), ErrInvalidSize)
	}
	for _, took := range []int{0, 1, 64, 100, 199} {
		b := open()
		k, err := b.CopyN(&sated{left: took}, 200)
		expectRead(t, "CopyN", k, err, int64(took), io.ErrShortWrite)
		rest, err := b.ReadString(all - took)
		expectRead(t, "ReadString", rest, err, string(sent[took:]), nil)
	}
	for name, c := range map[string]struct {
		count  func(p []byte) int
		err    error
		n      int64
		want   int64
		result error
	}{
		"some, and an error":       {func(p []byte) int { return len(p) - 10 }, errReset, 200, 54, errReset},
		"all of a block, an error": {func(p []byte) int { return len(p) }, errReset, 200, 64, errReset},
		"all, and an error":        {func(p []byte) int { return len(p) }, errReset, 64, 64, nil},
		"the end of the writer":    {func(p []byte) int { return 0 }, io.EOF, 64, 0, io.EOF},
		"too many":                 {func(p []byte) int { return len(p) + 1 }, nil, 10, 0, ErrInvalidWrite},
		"fewer than none":          {func(p []byte) int { return -1 }, nil, 10, 0, ErrInvalidWrite},
	} {
		t.Run(name, func(t *testing.T) {
			b := open()
			k, err := b.CopyN(writerFunc(func(p []byte) (int, error) { return c.count(p), c.err }), c.n)
			expectRead(t, "CopyN", k, err, c.want, c.result)
			rest, err := b.ReadString(all - int(c.want))
			expectRead(t, "ReadString", rest, err, string(sent[c.want:]), nil)
		})
	}
	b = newTestReader(t, &script{list: []any{10, errReset, 10}}, blockLen)
	k, err := b.CopyN(io.Discard, 20)
	expectRead(t, "CopyN", k, err, int64(10), errReset)
	k, err = b.CopyN(io.Discard, 20)
	expectRead(t, "CopyN", k, err, int64(10), io.EOF)
	b.Recycle()
	k, err = b.CopyN(io.Discard, 20)
	expectRead(t, "CopyN", k, err, int64(0), ErrRecycled)
	_, err = newTestReader(t, bytes.NewReader(sent), blockLen).WriteTo(writerFunc(func([]byte) (int, error) { return 0, io.EOF }))
	if !errors.Is(err, io.EOF) {
		t.Errorf("WriteTo to a writer at its end: %v", err)
	}
}

// TestCopyNHoldsABlock: a body is passed on as it arrives, through one block, between
// connections.
func TestCopyNHoldsABlock(t *testing.T) {
	const blockLen, n = 4 << 10, 1 << 20
	from, in := socketPair(t, "tcp")
	out, to := socketPair(t, "tcp")
	sent := noise(n)
	go func() { _, _ = from.Write(append([]byte("head"), sent...)) }()
	got := make(chan []byte)
	go func() {
		p, _ := io.ReadAll(to)
		got <- p
	}()
	b := newTestReader(t, in, blockLen)
	b.HoldViews = true
	head, err := b.Next(4)
	expectError(t, err, nil)
	most := int64(0)
	k, err := b.CopyN(writerFunc(func(p []byte) (int, error) {
		most = max(most, taken(b))
		return out.Write(p)
	}), n)
	expectRead(t, "CopyN", k, err, int64(n), nil)
	if string(head) != "head" || most > 3*blockLen {
		t.Errorf("%q is before the body, of which %d bytes were held", head, most)
	}
	_ = out.(*net.TCPConn).CloseWrite()
	if !bytes.Equal(<-got, sent) {
		t.Error("other bytes arrived")
	}
}
