package parquetmem

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/gomemtest"
	"github.com/parquet-go/parquet-go"
)

var _ parquet.BufferPool = (*Pool)(nil)

// TestLikeTheirs: random operations on a buffer and on one of parquet-go do the same.
func TestLikeTheirs(t *testing.T) {
	for _, size := range []int{0, 512, 1000, 4096} {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		a := gomemtest.New(t)
		ours, theirs := New(a, size), parquet.NewChunkBufferPool(4096)
		for range 10 {
			b, c := ours.GetBuffer(), theirs.GetBuffer()
			for step := range 200 {
				p, q := make([]byte, r.IntN(9000)), make([]byte, 9000)
				var n, m int64
				var err, want error
				op := r.IntN(6)
				switch op {
				case 0, 1:
					for i := range p {
						p[i] = byte(r.Uint32())
					}
					n, err = count(b.Write(p))
					m, want = count(c.Write(p))
				case 2:
					q = q[:len(p)]
					n, err = count(io.ReadFull(b, p))
					m, want = count(io.ReadFull(c, q))
					if !bytes.Equal(p, q) {
						t.Fatalf("seed %d, step %d: reads differ", seed, step)
					}
				case 3:
					var v, w bytes.Buffer
					n, err = io.Copy(&v, b)
					m, want = io.Copy(&w, c)
					if !bytes.Equal(v.Bytes(), w.Bytes()) {
						t.Fatalf("seed %d, step %d: copies differ", seed, step)
					}
				default:
					off, whence := r.Int64N(40000)-10000, r.IntN(4)
					n, err = b.Seek(off, whence)
					m, want = c.Seek(off, whence)
				}
				if n != m || (err == nil) != (want == nil) || (err == io.EOF) != (want == io.EOF) {
					t.Fatalf("seed %d, step %d, operation %d: %d %v, theirs %d %v", seed, step, op, n, err, m, want)
				}
			}
			ours.PutBuffer(b)
			theirs.PutBuffer(c)
		}
		if live := a.Stats().Live; live != 0 {
			t.Errorf("%d bytes live", live)
		}
	}
}

func count(n int, err error) (int64, error) { return int64(n), err }

func TestReader(t *testing.T) {
	p := New(gomemtest.New(t), 512)
	for _, n := range []int{0, 1, 511, 512, 513, 1024, 5000} {
		content := make([]byte, n)
		for i := range content {
			content[i] = byte(i / 3)
		}
		b := p.GetBuffer()
		if m, err := b.Write(content); m != n || err != nil {
			t.Fatal(m, err)
		}
		if _, err := b.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(b, content); err != nil {
			t.Error(err)
		}
		p.PutBuffer(b)
	}
}

// TestBlocks: how many are taken, and when.
func TestBlocks(t *testing.T) {
	for size, want := range map[int]int{0: 64 << 10, -5: 64 << 10, 1: 512, 511: 512, 4096: 4096} {
		a := gomemtest.New(t)
		p := New(a, size)
		b := p.GetBuffer()
		for n := range 3 {
			if live := a.Stats().Live; live != n*want {
				t.Errorf("size %d: %d bytes live for %d blocks", size, live, n)
			}
			if _, err := b.Write(make([]byte, want)); err != nil {
				t.Fatal(err)
			}
		}
		p.PutBuffer(b)
		if live := a.Stats().Live; live != 0 {
			t.Errorf("size %d: %d bytes live at last", size, live)
		}
	}
	var zero Pool
	b := zero.GetBuffer()
	if n, err := b.Write(make([]byte, 100_000)); n != 100_000 || err != nil {
		t.Error(n, err)
	}
	zero.PutBuffer(b)
}

// TestNoRoom: what fits is written, and the buffer can be used on.
func TestNoRoom(t *testing.T) {
	a := gomemtest.New(t)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := New(a, 0).GetBuffer().Write([]byte("x")); !errors.Is(err, gomem.ErrClosed) {
		t.Error(err)
	}

	a = gomem.NewScalableMemoryAllocator(1<<16, gomem.WithMaxBytes(1<<20))
	defer a.Close()
	p := New(a, 0)
	b := p.GetBuffer()
	n, err := b.Write(make([]byte, 2<<20))
	if !errors.Is(err, gomem.ErrLimit) || n == 0 || n > 1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if size, err := b.Seek(0, io.SeekEnd); size != int64(n) || err != nil {
		t.Errorf("%d bytes instead of %d, %v", size, n, err)
	}
	if _, err := b.Seek(-5, io.SeekEnd); err != nil {
		t.Error(err)
	}
	if m, err := b.Write([]byte("12345")); m != 5 || err != nil {
		t.Errorf("%d %v", m, err)
	}
	p.PutBuffer(b)
	if live := a.Stats().Live; live != 0 {
		t.Errorf("%d bytes live", live)
	}
}

// TestMisuse: what is given back twice, is not ours, or is used afterwards.
func TestMisuse(t *testing.T) {
	a, other := gomemtest.New(t), gomemtest.New(t)
	p, q := New(a, 0), New(other, 0)
	b := p.GetBuffer()
	if _, err := b.Write([]byte("content")); err != nil {
		t.Fatal(err)
	}
	theirs := parquet.NewBufferPool().GetBuffer()
	if _, err := theirs.Write([]byte("content")); err != nil {
		t.Fatal(err)
	}
	p.PutBuffer(nil)
	p.PutBuffer((*buffer)(nil))
	p.PutBuffer(theirs)
	if n, err := theirs.Seek(0, io.SeekEnd); n != 7 || err != nil {
		t.Error("a foreign buffer was changed")
	}
	if a.Stats().Live == 0 {
		t.Error("another buffer was freed")
	}

	q.PutBuffer(b)
	p.PutBuffer(b)
	next := p.GetBuffer()
	if _, err := next.Write([]byte("next")); err != nil {
		t.Fatal(err)
	}
	p.PutBuffer(b) // must not free what next has
	if a.Stats().Live != 64<<10 || a.Stats().Refused != 0 || other.Stats().Refused != 0 {
		t.Errorf("%+v", a.Stats())
	}
	p.PutBuffer(next)

	read := make([]byte, 1)
	for what, f := range map[string]func() error{
		"Read":    func() error { _, err := b.Read(read); return err },
		"ReadAt":  func() error { _, err := b.(io.ReaderAt).ReadAt(read, 0); return err },
		"Write":   func() error { _, err := b.Write(read); return err },
		"WriteTo": func() error { _, err := b.(io.WriterTo).WriteTo(io.Discard); return err },
		"Seek":    func() error { _, err := b.Seek(0, io.SeekStart); return err },
	} {
		if err := f(); !errors.Is(err, errReturned) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// writer returns what is set.
type writer struct {
	n   int
	err error
}

func (w writer) Write([]byte) (int, error) { return w.n, w.err }

// TestBadCalls: bad arguments and writers that break the contract, and where the position is
// afterwards.
func TestBadCalls(t *testing.T) {
	p := New(gomemtest.New(t), 512)
	b := p.GetBuffer()
	defer p.PutBuffer(b)
	if _, err := b.Write(make([]byte, 700)); err != nil {
		t.Fatal(err)
	}
	for _, to := range []struct {
		off    int64
		whence int
	}{{-1, io.SeekStart}, {-701, io.SeekEnd}, {-701, io.SeekCurrent}, {0, 3}, {math.MaxInt64, io.SeekCurrent}} {
		if n, err := b.Seek(to.off, to.whence); n != 0 || err == nil {
			t.Errorf("%v: %d %v", to, n, err)
		}
	}
	if n, err := b.Seek(0, io.SeekCurrent); n != 700 || err != nil {
		t.Errorf("an error moved the position to %d, %v", n, err)
	}
	if _, err := b.(io.ReaderAt).ReadAt(nil, -1); err == nil {
		t.Error("no error")
	}
	if _, err := b.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Read(make([]byte, 1000)); n != 700 || err != nil { // as theirs, the end comes alone
		t.Error(n, err)
	}
	failed := errors.New("failed")
	for _, c := range []struct {
		w    writer
		n    int64
		want error
	}{{writer{3, failed}, 3, failed}, {writer{3, nil}, 3, io.ErrShortWrite}, {writer{-1, nil}, 0, gomem.ErrInvalidWrite}, {writer{513, nil}, 0, gomem.ErrInvalidWrite}} {
		if _, err := b.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		n, err := b.(io.WriterTo).WriteTo(c.w)
		at, _ := b.Seek(0, io.SeekCurrent)
		if n != c.n || at != c.n || !errors.Is(err, c.want) {
			t.Errorf("%+v: %d at %d, %v", c, n, at, err)
		}
	}
}

// TestReadAtTogether: ReadAt neither moves nor needs the position.
func TestReadAtTogether(t *testing.T) {
	p := New(gomemtest.New(t), 512)
	b := p.GetBuffer()
	content := make([]byte, 5000)
	for i := range content {
		content[i] = byte(i / 7)
	}
	if _, err := b.Write(content); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			for off := i; off < 5000; off += 97 {
				got := make([]byte, 300)
				n, err := b.(io.ReaderAt).ReadAt(got, int64(off))
				if !bytes.Equal(got[:n], content[off:min(off+300, 5000)]) || (err == io.EOF) != (n < 300) {
					t.Errorf("at %d: %d bytes, %v", off, n, err)
				}
			}
		})
	}
	readers.Wait()
	if n, err := b.Seek(0, io.SeekCurrent); n != 5000 || err != nil {
		t.Error(n, err)
	}
	p.PutBuffer(b)
}

// collect waits until nothing of a is live, which takes some garbage collections.
func collect(t *testing.T, a *gomem.ScalableMemoryAllocator) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); a.Stats().Live != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are live", a.Stats().Live)
		}
		runtime.GC()
	}
}

// TestDropped: a buffer that is never given back is not lost, and one that is in use stays.
func TestDropped(t *testing.T) {
	a := gomemtest.New(t)
	b := New(a, 0).GetBuffer()
	if _, err := b.Write([]byte("content")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		runtime.GC()
	}
	time.Sleep(time.Millisecond)
	got := make([]byte, 7)
	if _, err := b.(io.ReaderAt).ReadAt(got, 0); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	collect(t, a)
}
