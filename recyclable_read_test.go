package gomem

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

// kindsOfRecyclable are memories whose buffers come from their allocator, by chain and by
// list, or from the Go heap.
func kindsOfRecyclable() map[string]func() (*RecyclableMemory, *ScalableMemoryAllocator) {
	kind := func(setUp func(*RecyclableMemory)) func() (*RecyclableMemory, *ScalableMemoryAllocator) {
		return func() (*RecyclableMemory, *ScalableMemoryAllocator) {
			a := NewScalableMemoryAllocator(1 << 20)
			r := NewRecyclableMemory(a)
			r.SetRecycling(true)
			setUp(&r)
			return &r, a
		}
	}
	return map[string]func() (*RecyclableMemory, *ScalableMemoryAllocator){
		"by chain":     kind(func(*RecyclableMemory) {}),
		"by list":      kind(func(r *RecyclableMemory) { r.InitRecycleIndexes(2) }),
		"off":          kind(func(r *RecyclableMemory) { r.SetRecycling(false) }),
		"no allocator": kind(func(r *RecyclableMemory) { r.SetAllocator(nil) }),
	}
}

func TestRecyclableReadFrom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, kind := range kindsOfRecyclable() {
		for _, size := range []int{0, 1, 1000, DefaultBufLen - 1, DefaultBufLen, DefaultBufLen + 1, 5*DefaultBufLen + 77} {
			want := make([]byte, size)
			for i := range want {
				want[i] = byte(r.Uint32())
			}
			for way, wrap := range map[string]func(io.Reader) io.Reader{
				"whole":    func(r io.Reader) io.Reader { return r },
				"halves":   iotest.HalfReader,
				"data+EOF": iotest.DataErrReader,
			} {
				m, a := kind()
				copy(m.NextN(5), "first")
				n, err := m.ReadFrom(wrap(bytes.NewReader(want)))
				if n != int64(size) || err != nil {
					t.Errorf("%s, %s: %d of %d bytes, %v", name, way, n, size, err)
				}
				checkMemory(t, &m.Memory, "first"+string(want))
				if count := 1 + (size+DefaultBufLen-1)/DefaultBufLen; m.Count() != count {
					t.Errorf("%s, %s: %d buffers for %d bytes, want %d", name, way, m.Count(), size, count)
				}
				if got := live(a); got != 0 && got != size+5 {
					t.Errorf("%s, %s: %d bytes live for %d", name, way, got, size+5)
				}
				m.Recycle()
				wantLive(t, a, 0, name+", recycled")
				if s := a.Stats(); s.Refused > 0 {
					t.Errorf("%s: %d frees refused", name, s.Refused)
				}
			}
		}
	}
}

// odd is a source that returns the same count and error again and again.
type odd struct {
	n   int
	err error
}

func (o odd) Read([]byte) (int, error) { return o.n, o.err }

// TestRecyclableReadFromFails: what came before an error or a panic stays, and no more.
func TestRecyclableReadFromFails(t *testing.T) {
	broken := errors.New("broken")
	for name, kind := range kindsOfRecyclable() {
		for _, c := range []struct {
			src  io.Reader
			want error
		}{
			{iotest.ErrReader(broken), broken},
			{odd{}, io.ErrNoProgress},
			{odd{n: -1}, ErrInvalidRead},
			{odd{n: DefaultBufLen + 1, err: io.EOF}, ErrInvalidRead},
		} {
			m, a := kind()
			n, err := m.ReadFrom(io.MultiReader(bytes.NewReader([]byte("before")), c.src))
			if n != 6 || !errors.Is(err, c.want) {
				t.Errorf("%s: %d bytes, %v, want 6, %v", name, n, err, c.want)
			}
			checkMemory(t, &m.Memory, "before")
			m.Recycle()
			wantLive(t, a, 0, name)
		}
		m, a := kind()
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			_, _ = m.ReadFrom(io.MultiReader(bytes.NewReader([]byte("before")), nil))
		}()
		checkMemory(t, &m.Memory, "before")
		m.Recycle()
		wantLive(t, a, 0, name)
	}
}

func TestRecyclableReadFromAtTheLimit(t *testing.T) {
	const limit = 4 * DefaultBufLen
	a := NewScalableMemoryAllocator(limit, WithMaxBytes(limit))
	m := NewRecyclableMemory(a)
	m.SetRecycling(true)
	n, err := m.ReadFrom(rand.NewChaCha8([32]byte{}))
	if n < limit/2 || !errors.Is(err, ErrLimit) || m.Size != int(n) {
		t.Errorf("%d bytes, %d in the chain, %v", n, m.Size, err)
	}
	m.Recycle()
	wantLive(t, a, 0, "recycled")
}

// hesitant returns nothing in every second read.
type hesitant struct {
	io.Reader
	pause bool
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.pause = !h.pause; h.pause {
		return 0, nil
	}
	return h.Reader.Read(p)
}

// TestRecyclableReadFromSlowly: a source that returns nothing now and then is no error.
func TestRecyclableReadFromSlowly(t *testing.T) {
	m, a := newRecyclable(t)
	want := bytes.Repeat([]byte("."), 3*maxEmptyReads)
	n, err := m.ReadFrom(&hesitant{Reader: iotest.OneByteReader(bytes.NewReader(want))})
	if n != int64(len(want)) || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	m.Recycle()
	wantLive(t, a, 0, "recycled")
}

// TestRecyclableReadFromClipped: ClipFront passes on what came from the allocator, to be
// freed, and nothing of the Go heap.
func TestRecyclableReadFromClipped(t *testing.T) {
	for name, kind := range kindsOfRecyclable() {
		m, a := kind()
		if _, err := m.ReadFrom(bytes.NewReader(make([]byte, 3*DefaultBufLen))); err != nil {
			t.Fatal(err)
		}
		r, freed, want := m.NewReader(), 0, live(a)
		r.MoveToEnd()
		r.ClipFront(func(b []byte) bool {
			freed += len(b)
			return a.Free(b)
		})
		if name != "no allocator" && freed != want {
			t.Errorf("%s: %d bytes clipped, %d live", name, freed, want)
		}
		m.Recycle()
		wantLive(t, a, 0, name)
		if s := a.Stats(); s.Refused > 0 && name != "no allocator" {
			t.Errorf("%s: %d frees refused", name, s.Refused)
		}
	}
}
