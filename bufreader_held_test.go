package gomem

import (
	"bytes"
	"io"
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
