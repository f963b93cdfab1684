package gomem

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"testing"
)

// TestHoldsWhatIsSeen: with HoldViews a call that gives no view of a block does not
// keep it until Release, and what was seen before stays as it was.
func TestHoldsWhatIsSeen(t *testing.T) {
	const blockLen, n = 1000, 100_000
	sent := noise(3 * n)
	for name, row := range map[string]struct {
		read func(b *BufReader) error
		most int64 // bytes held behind what was there before
	}{
		"Skip":       {func(b *BufReader) error { return b.Skip(n) }, 0},
		"ReadNto":    {func(b *BufReader) error { return b.ReadNto(n, make([]byte, n)) }, 0},
		"ReadBinary": {func(b *BufReader) error { _, err := b.ReadBinary(make([]byte, blockLen-1)); return err }, 0},
		"ReadString": {func(b *BufReader) error { _, err := b.ReadString(n); return err }, 0},
		"ReadLine":   {func(b *BufReader) error { _, err := b.ReadLine(); return err }, 0},
		"WriteTo":    {func(b *BufReader) error { _, err := io.Copy(io.Discard, b); return err }, 0},
		"Next":       {func(b *BufReader) error { _, err := b.Next(n); return err }, n},
		"ReadRange": {func(b *BufReader) error {
			b.MaxFrameBytes = 10
			return b.ReadRange(n, func([]byte) {})
		}, 0},
	} {
		data := bytes.Clone(sent)
		for i := range data { // one line, but for its end
			if data[i] == '\n' {
				data[i] = 'x'
			}
		}
		data[n] = '\n'
		b := newTestReader(t, &chunked{data: data, sizes: []byte{200, 7, 90}, err: io.EOF}, blockLen)
		b.HoldViews, b.MaxLineBytes = true, -1
		var views [][]byte
		for range 5 { // a part of a block each, and two that span blocks
			for _, size := range []int{300, 1500} {
				p, err := b.Next(size)
				if err != nil {
					t.Fatal(err)
				}
				views = append(views, p)
			}
		}
		seen, before := b.ReadLen(), taken(b)
		if err := row.read(b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, most := taken(b)-before, row.most+2*blockLen; got > most {
			t.Errorf("%s holds %d bytes, want at most %d", name, got, most)
		}
		if !bytes.Equal(bytes.Join(views, nil), data[:seen]) {
			t.Errorf("%s: a view changed", name)
		}
	}
}

// TestHoldsLists: with HoldViews the list of a chain lives as long as what it lists,
// whatever is read after it.
func TestHoldsLists(t *testing.T) {
	const blockLen = 100
	sent := noise(10_000)
	for name, read := range readers {
		for _, n := range []int{0, 1, blockLen, blockLen + 1, 5 * blockLen} {
			b := newTestReader(t, bytes.NewReader(sent), blockLen)
			b.HoldViews = true
			first, err := b.ReadBytes(n)
			expectError(t, err, nil)
			second, err := b.ReadBytes(3 * blockLen)
			expectError(t, err, nil)
			_ = read(b)
			got := append(first.ToBytes(), second.ToBytes()...)
			if first.Size != n || !bytes.Equal(got, sent[:n+3*blockLen]) {
				t.Errorf("%s changed a list of %d bytes, or the next one", name, n)
			}
			expectError(t, b.Release(nil), nil)
			b.Recycle()
		}
	}
}

// TestReleaseKeepsNoLargeBlock: a block that was made for one request, or for what was
// put back of one that failed, is not kept for the reads behind Release.
func TestReleaseKeepsNoLargeBlock(t *testing.T) {
	const blockLen, n = 1000, 100_000
	for name, first := range map[string]func(b *BufReader) error{
		"put back": func(b *BufReader) error { return b.ReadNto(n+1, make([]byte, n+1)) },
		"merged":   func(b *BufReader) error { _, err := b.Peek(n + 1); return err },
	} {
		left := n
		b := newTestReader(t, oddReader(func(p []byte) (int, error) {
			if left == 0 {
				left = n
				return 0, errReset
			}
			p = p[:min(len(p), left)]
			left -= len(p)
			return len(p), nil
		}), blockLen)
		b.HoldViews = true
		expectError(t, first(b), errReset)
		_, err := b.Next(b.Buffered())
		expectError(t, err, nil)
		for range 3 {
			expectError(t, b.Release(nil), nil)
			if got := taken(b); got > 2*blockLen {
				t.Errorf("%s: %d bytes are taken behind Release", name, got)
			}
			_, err := b.Next(1)
			expectError(t, err, nil)
			expectError(t, b.Skip(b.Buffered()), nil)
		}
	}
}

// endlessLines is a line of a block each, for ever.
var endlessLines = oddReader(func(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	p[len(p)-1] = '\n'
	return len(p), nil
})

// plainCalls read whole blocks, each within itself, without a view that outlives it.
func plainCalls(blockLen int) map[string]func(b *BufReader) error {
	p := make([]byte, 3*blockLen)
	return map[string]func(b *BufReader) error{
		"Skip":       func(b *BufReader) error { return b.Skip(blockLen) },
		"Discard":    func(b *BufReader) error { _, err := b.Discard(2 * blockLen); return err },
		"ReadNto":    func(b *BufReader) error { return b.ReadNto(3*blockLen, p) },
		"ReadBinary": func(b *BufReader) error { _, err := b.ReadBinary(p[:blockLen]); return err },
		"ReadString": func(b *BufReader) error { _, err := b.ReadString(3 * blockLen); return err },
		"ReadLine":   func(b *BufReader) error { _, err := b.ReadLine(); return err },
		"CopyN":      func(b *BufReader) error { _, err := b.CopyN(io.Discard, int64(2*blockLen)); return err },
		"WriteTo": func(b *BufReader) error {
			if _, err := b.WriteTo(writerFunc(func(p []byte) (int, error) { return len(p), errReset })); err != errReset {
				return err
			}
			return nil
		},
		"ReadRange": func(b *BufReader) error {
			b.MaxFrameBytes = 10
			defer func() { b.MaxFrameBytes = 0 }()
			return b.ReadRange(2*blockLen, func([]byte) {})
		},
	}
}

// TestHoldsNothingOfManyCalls: nor do any number of such calls keep more than one block
// between them, from a stream or from packets, whatever else is read in between.
func TestHoldsNothingOfManyCalls(t *testing.T) {
	const blockLen, calls = 1024, 300
	line := bytes.Repeat([]byte("x"), blockLen)
	line[blockLen-1] = '\n'
	list := make(net.Buffers, 4*calls)
	for i := range list {
		list[i] = line
	}
	for name, read := range plainCalls(blockLen) {
		for kind, open := range map[string]func() *BufReader{
			"stream": func() *BufReader { return NewBufReaderWithBufLen(endlessLines, blockLen) },
			"packets": func() *BufReader {
				ch := make(chan []byte, len(list))
				for _, p := range list {
					ch <- p
				}
				return NewBufReaderChan(ch)
			},
			"lists": func() *BufReader {
				ch := make(chan net.Buffers, 1)
				ch <- list
				return NewBufReaderBuffersChan(ch)
			},
		} {
			for between, views := range map[string]int{"": 0, ", each behind a view": 1} {
				b := onItsOwn(t, open())
				b.HoldViews = true
				for range calls {
					if err := read(b); err != nil {
						t.Fatal(err)
					}
					if _, err := b.Next(views * blockLen); err != nil {
						t.Fatal(err)
					}
				}
				if n := len(b.held); n > views*calls+1 {
					t.Errorf("%s of %s%s: %d blocks are held", name, kind, between, n)
				}
				b.Recycle()
			}
		}
	}
}

// TestHoldsByteReadAgain: a byte that was put back behind such a call may be in a view.
func TestHoldsByteReadAgain(t *testing.T) {
	const blockLen = 16
	sent := noise(100 * blockLen)
	b := newTestReader(t, bytes.NewReader(sent), blockLen)
	b.HoldViews = true
	expectError(t, b.Skip(blockLen), nil)
	expectError(t, b.UnreadByte(), nil)
	view, err := b.Next(1)
	expectError(t, err, nil)
	for range 90 {
		expectError(t, b.Skip(blockLen), nil)
	}
	if view[0] != sent[blockLen-1] {
		t.Error("the view of a byte that was put back changed")
	}
}

// TestHoldsWhatWasPutBack: so may what a call without views put back when it failed.
func TestHoldsWhatWasPutBack(t *testing.T) {
	const blockLen = 64
	sent := noise(5 * blockLen)
	for came := 1; came <= len(sent); came++ {
		src := &script{}
		for at := 0; at < came; at += blockLen {
			src.list = append(src.list, sent[at:min(at+blockLen, came)])
		}
		src.list = append(src.list, errReset, errReset, 90*blockLen)
		b := newTestReader(t, src, blockLen)
		b.HoldViews = true
		_, err := b.ReadString(10 * blockLen) // leaves what came where it is
		expectError(t, err, errReset)
		expectError(t, b.ReadNto(10*blockLen, make([]byte, 10*blockLen)), errReset)
		view, err := b.Next(came)
		expectError(t, err, nil)
		for b.Skip(blockLen) == nil {
		}
		if !bytes.Equal(view, sent[:came]) {
			t.Fatalf("a view of %d bytes changed", came)
		}
	}
}

// TestHoldsBehindReset: what was read of another source says nothing about views.
func TestHoldsBehindReset(t *testing.T) {
	const blockLen = 16
	sent := noise(100 * blockLen)
	b := newTestReader(t, bytes.NewReader(sent), blockLen)
	b.HoldViews = true
	expectError(t, b.Skip(blockLen), nil)
	b.Reset(bytes.NewReader(sent))
	view, err := b.Next(blockLen)
	expectError(t, err, nil)
	for range 90 {
		expectError(t, b.Skip(blockLen), nil)
	}
	if !bytes.Equal(view, sent[:blockLen]) {
		t.Error("a view changed")
	}
}

// TestHoldsViewsAmongOthers: views last until Release whatever is read between them, and
// wherever in a block that ends.
func TestHoldsViewsAmongOthers(t *testing.T) {
	const blockLen = 64
	sent := noise(1 << 17)
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		b := newTestReader(t, &chunked{data: sent, sizes: []byte{64, 7, 200, 64, 64, 30}, err: io.EOF}, blockLen)
		b.HoldViews, b.MaxLineBytes = true, -1
		var views [][]byte
		var at []int64
		for b.TotalRead() < int64(len(sent)-1000) {
			n := rnd.IntN(200)
			if rnd.IntN(2) == 0 {
				n = b.Buffered() // to the end of what there is
			}
			from := b.TotalRead() - int64(b.Buffered())
			var p []byte
			var err error
			switch rnd.IntN(12) {
			case 0:
				p, err = b.Next(n)
			case 1:
				p, err = b.Peek(n)
			case 2:
				err = b.ReadRange(n, func(v []byte) {
					views, at = append(views, v), append(at, from)
					from += int64(len(v))
				})
			case 3:
				err = b.Skip(n)
			case 4:
				_, err = b.ReadString(n)
			case 5:
				_, err = b.ReadBinary(make([]byte, n))
			case 6:
				_, err = b.ReadLine()
			case 7:
				_ = b.UnreadByte()
			case 8:
				b.MaxFrameBytes = 1
				err = b.ReadRange(n, nil)
				b.MaxFrameBytes = 0
			case 9:
				_, err = b.ReadBE64(min(n, 8))
			case 10:
				p, err = b.Next(min(n, 1))
			case 11:
				if rnd.IntN(20) == 0 {
					views, at = nil, nil
					_ = b.Release(nil)
				}
			}
			expectError(t, err, nil)
			views, at = append(views, p), append(at, from)
		}
		for i, p := range views {
			if !bytes.Equal(p, sent[at[i]:][:len(p)]) {
				t.Fatalf("seed %d: the view of %d bytes at %d changed", seed, len(p), at[i])
			}
		}
	}
}
