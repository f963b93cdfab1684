package gomem

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// script is a source that plays a list: so many zero bytes of a stream, a message of which
// what finds no room is cut off, or an error. seen, if set, is called before each Read.
type script struct {
	list []any
	seen func(p []byte)
}

func (s *script) Read(p []byte) (int, error) {
	if s.seen != nil {
		s.seen(p)
	}
	if len(s.list) == 0 {
		return 0, io.EOF
	}
	switch x := s.list[0].(type) {
	case int:
		n := min(x, len(p))
		if s.list[0] = x - n; n == x {
			s.list = s.list[1:]
		}
		clear(p[:n])
		return n, nil
	case []byte:
		s.list = s.list[1:]
		return copy(p, x), nil
	default:
		s.list = s.list[1:]
		return 0, x.(error)
	}
}

// TestWaitHoldsNoFrame: a call that waits without unread bytes holds a block at most, and
// not what was read out before, which may be a frame of any size.
func TestWaitHoldsNoFrame(t *testing.T) {
	const frame, more = 1 << 20, 1<<20 + 20<<10
	for name, call := range map[string]func(b *BufReader) error{
		"Skip":      func(b *BufReader) error { return b.Skip(more) },
		"Discard":   func(b *BufReader) error { _, err := b.Discard(more); return err },
		"WriteTo":   func(b *BufReader) error { _, err := b.WriteTo(io.Discard); return err },
		"ReadRange": func(b *BufReader) error { b.MaxFrameBytes = 10; return b.ReadRange(more, func([]byte) {}) },
		"ReadNto":   func(b *BufReader) error { return b.ReadNto(2*frame, make([]byte, 2*frame)) },
	} {
		a := NewScalableMemoryAllocator(0)
		src := &script{list: []any{frame + 10, os.ErrDeadlineExceeded}}
		b := NewBufReader(src)
		b.Allocator = a
		if _, err := b.Peek(frame - 100); err != nil {
			t.Fatal(err)
		}
		src.list = []any{os.ErrDeadlineExceeded}
		src.seen = func([]byte) {
			if n := a.Stats().Live; b.Buffered() == 0 && n > DefaultBufLen {
				t.Errorf("%s waits with nothing unread, and holds %d bytes", name, n)
			}
		}
		if err := call(b); err != os.ErrDeadlineExceeded && err != io.ErrUnexpectedEOF {
			t.Errorf("%s: %v", name, err)
		}
		b.Recycle()
		if n := a.Stats().Live; n != 0 {
			t.Errorf("%s: %d bytes are live after Recycle", name, n)
		}
	}
}

// TestIdleConnectionKeepsNothing: what a reader on a socket remembers of its last call
// keeps no block of the Go heap while it waits, and no long list after a large frame.
func TestIdleConnectionKeepsNothing(t *testing.T) {
	const blockLen = 16 << 20
	for name, read := range map[string]func(b *BufReader) error{
		"Next":       func(b *BufReader) error { _, err := b.Next(10); return err },
		"ReadBytes":  func(b *BufReader) error { _, err := b.ReadBytes(10); return err },
		"ReadString": func(b *BufReader) error { _, err := b.ReadString(10); return err },
		"ReadBinary": func(b *BufReader) error { _, err := b.ReadBinary(make([]byte, 10)); return err },
	} {
		client, server := socketPair(t, "tcp")
		b := new(BufReader) // its blocks come from the Go heap
		b.BufLen = blockLen
		b.Reset(server)
		if _, err := client.Write([]byte("0123456789")); err != nil {
			t.Fatal(err)
		}
		before := heapInUse()
		if err := read(b); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := b.ReadByte()
			done <- err
		}()
		kept := int64(0)
		for range 50 { // it has to come to wait first
			time.Sleep(10 * time.Millisecond)
			if kept = heapInUse() - before; kept < blockLen/2 {
				break
			}
		}
		if kept >= blockLen/2 && b.raw != nil {
			t.Errorf("%s: an idle connection keeps %d bytes", name, kept)
		}
		client.Close()
		<-done
		b.Recycle()
	}
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestRecycleForgetsLists: nor does a recycled reader.
func TestRecycleForgetsLists(t *testing.T) {
	b := NewBufReader(&script{list: []any{16 << 20}})
	if err := b.ReadRange(16<<20, func([]byte) {}); err != nil {
		t.Fatal(err)
	}
	b.Recycle()
	if n := cap(b.held) + cap(b.views) + cap(b.queue.all); n > 3*keptLists {
		t.Errorf("its lists have room for %d blocks", n)
	}
}

// TestReleaseForgetsViews: with HoldViews what Release lets go of is not kept, either.
func TestReleaseForgetsViews(t *testing.T) {
	b := NewBufReader(&script{list: []any{100}})
	defer b.Recycle()
	b.HoldViews = true
	if _, err := b.ReadBytes(100); err != nil {
		t.Fatal(err)
	}
	_ = b.Release(nil)
	if len(b.views) > 0 {
		t.Error("views are kept")
	}
}

// TestReadNtoHoldsNothing: with HoldViews a block that came before a large ReadNto, which read
// all of it, is not held for that.
func TestReadNtoHoldsNothing(t *testing.T) {
	src := &script{}
	b := NewBufReader(src)
	defer b.Recycle()
	b.HoldViews = true
	for range 10 {
		src.list = []any{20 << 10, os.ErrDeadlineExceeded}
		if _, err := b.ReadString(60 << 10); err != os.ErrDeadlineExceeded {
			t.Fatal(err)
		}
		src.list = []any{100 << 10}
		if err := b.ReadNto(120<<10, make([]byte, 120<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.held); n > 10 { // the fronts of which a view may have been out
		t.Errorf("%d blocks are held", n)
	}
}

// TestRoomForMessages: bytes that were joined in a block of their own leave a source room
// for an eighth of a block all the same.
func TestRoomForMessages(t *testing.T) {
	for _, hold := range []bool{true, false} {
		src := &script{list: []any{DefaultBufLen}}
		b := NewBufReader(src)
		b.HoldViews = hold
		if hold {
			if _, err := b.Next(DefaultBufLen - 4); err != nil {
				t.Fatal(err)
			}
		} else {
			s, err := b.ReadShared(DefaultBufLen - 4)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Release()
		}
		for _, arrives := range []int{6, 5} {
			src.list = []any{make([]byte, arrives), os.ErrDeadlineExceeded}
			_, err := b.ReadSlice('\n')
			if all, _ := b.Peek(b.Buffered()); err != os.ErrDeadlineExceeded || len(all) != b.Buffered() {
				t.Fatal(err, len(all))
			}
		}
		src.seen = func(p []byte) {
			if len(p) < DefaultBufLen/tailPart {
				t.Errorf("hold %v: the source gets room for %d bytes", hold, len(p))
			}
		}
		before := b.Buffered()
		src.list = []any{bytes.Repeat([]byte("m"), 1000)}
		if _, err := b.Peek(before + 1); err != nil || b.Buffered() != before+1000 {
			t.Errorf("hold %v: %d of a message of 1,000 bytes arrived, %v", hold, b.Buffered()-before, err)
		}
		b.Recycle()
	}
}

// TestEndWithoutRoom: the end of the stream that a call found, and could not tell as it had
// no memory to join what is in front of it, is told by the next one.
func TestEndWithoutRoom(t *testing.T) {
	for name, row := range map[string]struct {
		data []any
		read func(b *BufReader) error
		want error
	}{
		"ReadSlice": {[]any{40 << 10, io.EOF}, func(b *BufReader) error { _, err := b.ReadSlice('\n'); return err }, io.EOF},
		"ReadMIMEHeader": {[]any{[]byte("A: "), bytes.Repeat([]byte("x"), DefaultBufLen-3), bytes.Repeat([]byte("y"), DefaultBufLen), io.EOF},
			func(b *BufReader) error { _, err := b.ReadMIMEHeader(); return err }, io.ErrUnexpectedEOF},
	} {
		a := NewScalableMemoryAllocator(64<<10, WithMaxBytes(512<<10))
		src := &script{list: row.data}
		b := NewBufReader(src)
		b.Allocator = a
		var all [][]byte
		src.seen = func([]byte) {
			if len(src.list) == 1 { // from the end on there is no room
				for n := 64 << 10; n > 1000; n -= 1000 {
					for m := a.Malloc(n); m != nil; m = a.Malloc(n) {
						all = append(all, m)
					}
				}
			}
		}
		expectError(t, row.read(b), ErrLimit)
		src.list, src.seen = []any{os.ErrDeadlineExceeded}, nil
		for _, m := range all {
			a.Free(m)
		}
		if err := row.read(b); err != row.want {
			t.Errorf("%s: the end is %v, want %v", name, err, row.want)
		}
		b.Recycle()
	}
}

// TestManyBlocksAllocateNothing: the lists of a frame in many blocks serve the next one, of
// the program and of a reader that was recycled.
func TestManyBlocksAllocateNothing(t *testing.T) {
	if byteStep > 1 {
		t.Skip("not in a build that reuses no handles, or drops what is pooled")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it empties pools
	for _, blocks := range []int{3, 35, 50, 64, keptParts} {
		b := newTestReader(t, endlessLines, 64)
		n := 64 * blocks
		for name, read := range map[string]func() error{
			"ReadShared": func() error {
				s, err := b.ReadShared(n)
				if err != nil {
					return err
				}
				return s.Release()
			},
			"ReadRange": func() error {
				err := b.ReadRange(min(n, 64*64), func([]byte) {})
				b.Recycle()
				b.Reset(endlessLines)
				return err
			},
		} {
			for range 2 * handleRest {
				expectError(t, read(), nil)
			}
			if n := leastAllocs(50, func() { _ = read() }); n > 0 {
				t.Errorf("%s of %d blocks: %v allocations", name, blocks, n)
			}
		}
	}
}
