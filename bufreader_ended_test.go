package gomem

import (
	"bytes"
	"io"
	"os"
	"testing"
	"testing/iotest"
)

// TestEndedHoldsNothing: a reader that has returned an error, and has nothing unread, holds
// no block: one that is dropped without Recycle at the end of its stream loses none.
func TestEndedHoldsNothing(t *testing.T) {
	const size = 40 << 10 // more than two blocks
	calls := map[string]func(b *BufReader) error{
		"ReadByte":         func(b *BufReader) error { _, err := b.ReadByte(); return err },
		"ReadBE32":         func(b *BufReader) error { _, err := b.ReadBE32(4); return err },
		"Next":             func(b *BufReader) error { _, err := b.Next(size); return err },
		"Peek and Skip":    func(b *BufReader) error { _, err := b.Peek(10); _ = b.Skip(10); return err },
		"Skip":             func(b *BufReader) error { return b.Skip(1000) },
		"Discard":          func(b *BufReader) error { _, err := b.Discard(size + 1); return err },
		"Read":             func(b *BufReader) error { _, err := b.Read(make([]byte, 100)); return err },
		"Read past blocks": func(b *BufReader) error { _, err := b.Read(make([]byte, DefaultBufLen)); return err },
		"Read of nothing": func(b *BufReader) error {
			if err := b.Skip(size - b.ReadLen()); err != nil {
				return err
			}
			_, err := b.Read(nil)
			if err == nil {
				_, err = b.ReadByte()
			}
			return err
		},
		"ReadRange":  func(b *BufReader) error { return b.ReadRange(20<<10, func([]byte) {}) },
		"ReadString": func(b *BufReader) error { _, err := b.ReadString(10); return err },
		"ReadShared": func(b *BufReader) error {
			s, err := b.ReadShared(20 << 10)
			if err == nil {
				err = s.Release()
			}
			return err
		},
		"WriteTo": func(b *BufReader) error {
			_, err := b.WriteTo(io.Discard)
			if err == nil {
				err = io.EOF
			}
			return err
		},
	}
	sources := map[string]func() io.Reader{
		"an end":             func() io.Reader { return bytes.NewReader(make([]byte, size)) },
		"an end with bytes":  func() io.Reader { return iotest.DataErrReader(bytes.NewReader(make([]byte, size))) },
		"a timeout":          func() io.Reader { return &script{list: []any{size, os.ErrDeadlineExceeded}} },
		"no progress at all": func() io.Reader { return &script{list: []any{size, []byte{}, io.ErrNoProgress}} },
		"a connection": func() io.Reader {
			client, server := socketPair(t, "tcp")
			go func() {
				_, _ = client.Write(make([]byte, size))
				_ = client.Close()
			}()
			return server
		},
	}
	for of, source := range sources {
		for name, call := range calls {
			a := NewScalableMemoryAllocator(0)
			b := NewBufReader(source())
			b.Allocator = a
			var err error
			for err == nil {
				err = call(b)
			}
			if n := b.Buffered(); n != 0 {
				err = b.Skip(n) // what a request found too little
				for err == nil {
					err = call(b)
				}
			}
			if n := a.Stats().Live; n != 0 {
				t.Errorf("%s, %s: %d bytes are live after %v", of, name, n, err)
			}
			b.Recycle()
		}
	}
}

// TestEndedKeepsHeldViews: with HoldViews the views of the last block are valid behind the end.
func TestEndedKeepsHeldViews(t *testing.T) {
	a := NewScalableMemoryAllocator(0)
	b := NewBufReader(bytes.NewReader([]byte("0123456789")))
	b.Allocator, b.HoldViews = a, true
	v, err := b.Next(10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.ReadByte(); err != io.EOF {
		t.Fatal(err)
	}
	a.Malloc(DefaultBufLen) // would be the block of the view, if that were free
	if string(v) != "0123456789" || a.Stats().Live != 2*DefaultBufLen {
		t.Errorf("the view is %q, and %d bytes are live", v, a.Stats().Live)
	}
	_ = b.Release(nil)
	if _, err := b.ReadByte(); err != io.EOF {
		t.Fatal(err)
	}
	if n := a.Stats().Live; n != DefaultBufLen {
		t.Errorf("%d bytes are live after Release and another call", n-DefaultBufLen)
	}
}

// TestReadsOnAfterError: what was given back with an error is taken again.
func TestReadsOnAfterError(t *testing.T) {
	b := NewBufReader(&script{list: []any{
		[]byte("abc"), os.ErrDeadlineExceeded, []byte("def"), os.ErrDeadlineExceeded, []byte("ghi"),
	}})
	defer b.Recycle()
	if s, err := b.ReadString(2); s != "ab" || err != nil {
		t.Fatal(s, err)
	}
	if _, err := b.ReadString(2); err != os.ErrDeadlineExceeded || b.Buffered() != 1 {
		t.Fatal(err, b.Buffered())
	}
	if s, err := b.ReadString(4); s != "cdef" || err != nil {
		t.Fatal(s, err)
	}
	if _, err := b.ReadByte(); err != os.ErrDeadlineExceeded {
		t.Fatal(err)
	}
	if s, err := b.ReadString(3); s != "ghi" || err != nil {
		t.Fatal(s, err)
	}
}
