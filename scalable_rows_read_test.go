package gomem

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"
	"unsafe"
)

// together returns some bytes and an error in one call, and then only the error.
type together struct {
	data string
	err  error
}

func (r *together) Read(p []byte) (int, error) {
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, r.err
}

func TestG10ReadDeliversBytesWithTheError(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		a := k.make(t)
		for _, n := range []int{64, 5000} {
			for _, want := range []error{io.EOF, iotest.ErrTimeout} {
				b, err := a.Read(&together{"hello", want}, n)
				if string(b) != "hello" || cap(b) != 5 || !errors.Is(err, want) {
					t.Errorf("Read = %q cap %d, %v", b, cap(b), err)
				}
				if !a.Free(b) {
					t.Error("what was read cannot be freed")
				}
				if b, err = a.Read(&together{"", want}, n); b != nil || !errors.Is(err, want) {
					t.Errorf("failing Read = %q, %v", b, err)
				}
			}
			if live := a.Stats().Live; live != 0 {
				t.Fatalf("%d bytes live", live)
			}
		}
	})
}

// lying is a reader of whatever n it was given.
type lying int

func (r lying) Read([]byte) (int, error) { return int(r), nil }

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("reader") }

func TestReadFaults(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		a := k.make(t)
		for _, n := range []int{-1, math.MinInt, 65, math.MaxInt} {
			if b, err := a.Read(lying(n), 64); b != nil || !errors.Is(err, ErrInvalidRead) || !errors.Is(err, ErrInvalidSize) {
				t.Errorf("reader of %d: %q, %v", n, b, err)
			}
		}
		if b, err := a.Read(lying(0), 64); b != nil || err != nil {
			t.Errorf("reader of nothing: %q, %v", b, err)
		}
		if b, err := a.Read(lying(0), -1); b != nil || !errors.Is(err, ErrInvalidSize) {
			t.Errorf("Read(-1): %q, %v", b, err)
		}
		func() {
			defer func() {
				if recover() != "reader" {
					t.Error("the panic is lost")
				}
			}()
			_, _ = a.Read(panicking{}, 64)
		}()
		if s := a.Stats(); s.Live != 0 || s.Refused != 0 || a.Verify() != nil {
			t.Errorf("%+v, %v", s, a.Verify())
		}
	})
}

func TestG34BorrowOfAnySize(t *testing.T) {
	var nobody *ScalableMemoryAllocator
	if b := nobody.Borrow(100); len(b) != 100 || cap(b) != 100 {
		t.Errorf("a nil allocator lends %d bytes", len(b))
	}
	eachKind(t, func(t *testing.T, k kind) {
		a := k.make(t)
		for _, n := range []int{0, 1, 2048, 2049, MaxBlockSize, MaxBlockSize + 1, 3 * MaxBlockSize} {
			if b := a.Borrow(n); len(b) != n || cap(b) != n {
				t.Errorf("Borrow(%d): len %d cap %d", n, len(b), cap(b))
			}
		}
	})
}

func TestG35BorrowIsNotCounted(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		a := k.make(t)
		before := a.Stats()
		for i := range 1000 {
			if b := a.Borrow(1 + i*7); len(b) != 1+i*7 {
				t.Fatal("nothing lent")
			}
		}
		if s := a.Stats(); s.Malloced != before.Malloced || s.Freed != before.Freed || s.Live != 0 {
			t.Errorf("after 1,000 borrows: %+v", s)
		}
		a.Malloc(100)
		a.Recycle()
		if m, f := a.GetTotalMalloc(), a.GetTotalFree(); m != f || m != int64(before.Malloced)+100 {
			t.Errorf("recycled: %d malloced, %d freed", m, f)
		}
		if err := a.Verify(); err != nil {
			t.Error(err)
		}
	})
}

func TestG36AllocatorEdges(t *testing.T) {
	for _, size := range []int{0, -1, 1, 7, 63, 1023} {
		a := NewScalableMemoryAllocator(size)
		for _, n := range []int{0, 1, 100, 3000} {
			b := a.Malloc(n)
			if len(b) != n || b == nil || !a.Free(b) {
				t.Errorf("allocator of %d: Malloc(%d) has %d bytes", size, n, len(b))
			}
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	var a *ScalableMemoryAllocator
	b := a.Malloc(10)
	if len(b) != 10 || a.Free(b) || a.Free(nil) || a.GetAllocator() != nil {
		t.Error("the nil allocator")
	}
	if a.FreeRest(&b, 4); len(b) != 4 || cap(b) != 4 {
		t.Errorf("the nil allocator's FreeRest: %d of %d", len(b), cap(b))
	}
	if b, err := a.MallocAligned(100, 4096); err != nil || len(b) != 100 || uintptr(unsafe.Pointer(&b[0]))%4096 != 0 {
		t.Errorf("the nil allocator's MallocAligned: %p, %v", b, err)
	}
	if b, err := a.Read(bytes.NewReader([]byte("abc")), 10); string(b) != "abc" || err != nil {
		t.Errorf("the nil allocator's Read: %q, %v", b, err)
	}
	for _, n := range []int{math.MaxInt, math.MaxInt/2 + 1} {
		_, err := a.TryMalloc(n)
		_, aligned := a.MallocAligned(n, 64)
		if !errors.Is(err, ErrOutOfMemory) || !errors.Is(aligned, ErrOutOfMemory) || a.Malloc(n) != nil || a.Borrow(n) != nil {
			t.Errorf("the nil allocator of %d bytes: %v, %v", n, err, aligned)
		}
		r := NewRecyclableMemory(NewScalableMemoryAllocator(0))
		r.SetRecycling(false)
		if b := r.NextN(n); b != nil || r.Count() != 0 {
			t.Errorf("NextN(%d) without recycling has %d bytes", n, len(b))
		}
	}
	a.Recycle()
	a.Trim()
	if a.Close() != nil || a.Verify() != nil || a.Stats() != (Stats{}) || a.GetTotalMalloc()+a.GetTotalFree() != 0 {
		t.Error("the nil allocator")
	}
}

// TestFreeRestOfAnything: the slice is as long as it was told to be, also where the rest is
// not the allocator's to free: a program that is built with disable_rm, or was handed a
// foreign buffer, sends no garbage.
func TestFreeRestOfAnything(t *testing.T) {
	a := NewScalableMemoryAllocator(0)
	freed := a.Malloc(100)
	a.Free(freed)
	for name, b := range map[string][]byte{"foreign": make([]byte, 100), "freed": freed} {
		before := a.Stats()
		a.FreeRest(&b, 7)
		if s := a.Stats(); len(b) != 7 || cap(b) != 7 || s.Live != before.Live || s.Refused != before.Refused+1 {
			t.Errorf("%s: %d of %d bytes, %+v, was %+v", name, len(b), cap(b), s, before)
		}
	}
}
