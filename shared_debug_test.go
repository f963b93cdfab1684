package gomem

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

// TestZeroFrame: a handle that no reader made is a released one.
func TestZeroFrame(t *testing.T) {
	var s SharedMemory
	n, err := s.WriteTo(io.Discard)
	if n != 0 || s.Len() != 0 || s.Memory().Size != 0 || s.Release() != ErrReleased || s.Retain() != ErrReleased || err != ErrReleased {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestReleaseTooOftenIsReported: debug mode tells of a frame that is released too often,
// also if nobody looks at the error of Release, and whatever came after the frame.
func TestReleaseTooOftenIsReported(t *testing.T) {
	var reports []error
	a := NewScalableMemoryAllocator(0, WithDebug(DebugOptions{}), WithMisuse(func(err error) { reports = append(reports, err) }))
	r := NewBufReaderWithBufLen(strings.NewReader(strings.Repeat("x", 100_000)), 4096)
	r.Allocator = a
	var frames []*SharedMemory
	for _, n := range []int{1, 20, 3000, 4000, 9000} { // in one block, and across two and three
		for range 15 / (1 + n/1000) { // more than a header has handles
			f, err := r.ReadShared(n)
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, f)
		}
	}
	for _, f := range frames {
		if err := errors.Join(f.Retain(), f.Release(), f.Release()); err != nil || len(reports) > 0 {
			t.Fatal(err, reports)
		}
	}
	r.Recycle()
	for range 2 {
		for i, f := range frames {
			reports = nil
			err := f.Release()
			var misuse *MisuseError
			if err != ErrReleased || len(reports) != 1 || !errors.As(reports[0], &misuse) || !errors.Is(misuse, ErrReleased) {
				t.Fatalf("frame %d: %v, reported %v", i, err, reports)
			}
			if text := misuse.Error(); misuse.Size == 0 || !strings.Contains(text, "TestReleaseTooOften") {
				t.Errorf("frame %d: %s", i, text)
			}
		}
		for range 100 { // frames that come later have handles of their own
			r = NewBufReaderWithBufLen(strings.NewReader(strings.Repeat("y", 5000)), 4096)
			r.Allocator = a
			for range 50 {
				f, err := r.ReadShared(100)
				if err != nil || f.Release() != nil {
					t.Fatal(err)
				}
			}
			r.Recycle()
		}
		runtime.GC()
	}
	if s := a.Stats(); s.Live != 0 || s.Refused != uint64(2*len(frames)) {
		t.Errorf("%+v", s)
	}
}
