package parquetmem

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/gomemtest"
	"github.com/parquet-go/parquet-go"
)

type row struct {
	ID    int64    `parquet:"id"`
	Name  string   `parquet:"name,dict"`
	Data  []byte   `parquet:"data,snappy"`
	Score *float64 `parquet:"score,optional"`
	Tags  []string `parquet:"tags,list"`
}

func rows(n int) []row {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]row, n)
	for i := range all {
		data := make([]byte, 200)
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		all[i] = row{ID: r.Int64N(1 << 40), Name: fmt.Sprint("name ", r.IntN(50)), Data: data, Tags: []string{"a", fmt.Sprint(i)}}
		if i%3 == 0 {
			f := r.Float64()
			all[i].Score = &f
		}
	}
	return all
}

// write writes all with a writer, of two row groups and many pages.
func write(w io.Writer, all []row, options ...parquet.WriterOption) error {
	p := parquet.NewGenericWriter[row](w, append(options, parquet.PageBufferSize(10_000))...)
	for _, half := range [][]row{all[:len(all)/2], all[len(all)/2:]} {
		if _, err := p.Write(half); err != nil {
			return errors.Join(err, discard(p))
		}
		if err := p.Flush(); err != nil {
			return errors.Join(err, discard(p))
		}
	}
	if err := p.Close(); err != nil {
		return errors.Join(err, discard(p))
	}
	return nil
}

func discard(p *parquet.GenericWriter[row]) error { p.Reset(io.Discard); return nil }

// sorted writes all with a sorting writer, which sorts them in parts.
func sorted(w io.Writer, all []row, pages, sorting parquet.BufferPool) error {
	s := parquet.NewSortingWriter[row](w, 500,
		parquet.ColumnPageBuffers(pages),
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("id")), parquet.SortingBuffers(sorting)))
	if _, err := s.Write(all); err != nil {
		s.Reset(io.Discard)
		return err
	}
	if err := s.Close(); err != nil {
		s.Reset(io.Discard)
		return err
	}
	return nil
}

// TestWriter: the file is the same, byte by byte, as with buffers of parquet-go, can be
// read, and all blocks come back; for blocks smaller and larger than a page.
func TestWriter(t *testing.T) {
	all := rows(2000)
	bloom := parquet.BloomFilters(parquet.SplitBlockFilter(10, "id"))
	for _, size := range []int{0, 700, 4096} {
		a := gomemtest.New(t)
		p := New(a, size)
		var got, want bytes.Buffer
		theirs := parquet.NewBufferPool()
		err := errors.Join(
			write(&got, all, parquet.ColumnPageBuffers(p), bloom, parquet.DeferBloomFiltersWithBuffers(p)),
			write(&want, all, parquet.ColumnPageBuffers(theirs), bloom, parquet.DeferBloomFiltersWithBuffers(theirs)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Error("the files differ")
		}
		back, err := parquet.Read[row](bytes.NewReader(got.Bytes()), int64(got.Len()))
		if err != nil || len(back) != len(all) || back[1500].ID != all[1500].ID || !bytes.Equal(back[1500].Data, all[1500].Data) {
			t.Errorf("read %d rows, %v", len(back), err)
		}
		if s := a.Stats(); s.Live != 0 || s.Malloced < uint64(got.Len())/2 {
			t.Errorf("%d bytes live of %d, for %d in the file", s.Live, s.Malloced, got.Len())
		}
	}
}

func TestSortingWriter(t *testing.T) {
	all := rows(2000)
	for _, size := range []int{0, 700} {
		a := gomemtest.New(t)
		p := New(a, size)
		var got, want bytes.Buffer
		if err := errors.Join(sorted(&got, all, p, p), sorted(&want, all, parquet.NewBufferPool(), parquet.NewBufferPool())); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Error("the files differ")
		}
		back, err := parquet.Read[row](bytes.NewReader(got.Bytes()), int64(got.Len()))
		if err != nil || len(back) != len(all) || !slices.IsSortedFunc(back, func(a, b row) int { return cmp.Compare(a.ID, b.ID) }) {
			t.Errorf("read %d rows, %v", len(back), err)
		}
		if s := a.Stats(); s.Live != 0 || s.Malloced < uint64(got.Len()) {
			t.Errorf("%d bytes live of %d, for %d in the file", s.Live, s.Malloced, got.Len())
		}
	}
}

// TestWriterAtLimit: the writer says why, nothing stays, and a smaller file still fits.
func TestWriterAtLimit(t *testing.T) {
	all := rows(3000)
	a := gomem.NewScalableMemoryAllocator(1<<16, gomem.WithMaxBytes(256<<10))
	p := New(a, 4096)
	if err := write(io.Discard, all, parquet.ColumnPageBuffers(p)); !errors.Is(err, gomem.ErrLimit) {
		t.Errorf("got %v", err)
	}
	if err := sorted(io.Discard, all, parquet.NewBufferPool(), p); !errors.Is(err, gomem.ErrLimit) {
		t.Errorf("got %v", err)
	}
	if live := a.Stats().Live; live != 0 {
		t.Errorf("%d bytes live", live)
	}
	if err := errors.Join(write(io.Discard, all[:300], parquet.ColumnPageBuffers(p)), sorted(io.Discard, all[:300], p, p)); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// broken refuses everything after its first bytes.
type broken struct{ left int }

func (w *broken) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	if n < len(p) {
		return n, errors.New("broken")
	}
	return n, nil
}

// TestFailedClose holds on to what parquet-go v0.32.0 does, for the package comment: a
// writer whose output fails at once keeps its buffers when it is closed, until a Reset. If
// it is dropped the collector brings them back.
func TestFailedClose(t *testing.T) {
	a := gomemtest.New(t)
	pool := parquet.ColumnPageBuffers(New(a, 0))
	for _, reset := range []bool{true, false} {
		p := parquet.NewGenericWriter[row](new(broken), pool, parquet.PageBufferSize(1000), parquet.WriteBufferSize(0))
		if _, err := p.Write(rows(100)); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err == nil {
			t.Error("no error")
		}
		if a.Stats().Live == 0 {
			t.Error("nothing is live: the package comment is out of date")
		}
		if reset {
			p.Reset(io.Discard)
			if live := a.Stats().Live; live != 0 {
				t.Errorf("%d bytes live", live)
			}
		}
	}
	collect(t, a)
}

// TestBrokenOutput: wherever the output fails, nothing stays after a Reset, and no buffer is
// used after it was given back in a way that debug mode sees.
func TestBrokenOutput(t *testing.T) {
	all := rows(600)
	a := gomemtest.New(t)
	p := New(a, 4096)
	var one, other bytes.Buffer
	if err := errors.Join(write(&one, all), sorted(&other, all, p, p)); err != nil {
		t.Fatal(err)
	}
	whole := min(one.Len(), other.Len())
	for left := 0; left < whole; left += whole / 12 {
		if err := write(&broken{left}, all, parquet.ColumnPageBuffers(p), parquet.WriteBufferSize(0)); err == nil {
			t.Errorf("no error after %d bytes", left)
		}
		if err := sorted(&broken{left}, all, p, p); err == nil {
			t.Errorf("no error after %d bytes", left)
		}
		if live := a.Stats().Live; live != 0 {
			t.Fatalf("%d bytes live after %d", live, left)
		}
	}
}

// TestWritersTogether: one pool for the writers of several goroutines.
func TestWritersTogether(t *testing.T) {
	a := gomemtest.New(t)
	p := New(a, 4096)
	all := rows(500)
	var want bytes.Buffer
	if err := sorted(&want, all, parquet.NewBufferPool(), parquet.NewBufferPool()); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 3 {
				var got bytes.Buffer
				if err := sorted(&got, all, p, p); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Error("the files differ", err)
				}
			}
		})
	}
	writers.Wait()
	if live := a.Stats().Live; live != 0 {
		t.Errorf("%d bytes live", live)
	}
}

func BenchmarkWriter(b *testing.B) {
	all := rows(3000)
	a := gomem.NewScalableMemoryAllocator(1 << 20)
	for _, pool := range []struct {
		name string
		p    parquet.BufferPool
	}{{"theirs-64KiB", parquet.NewChunkBufferPool(64 << 10)}, {"gomem-64KiB", New(a, 0)}, {"theirs-4KiB", parquet.NewChunkBufferPool(4 << 10)}, {"gomem-4KiB", New(a, 4<<10)}} {
		for name, f := range map[string]func() error{
			"writer":  func() error { return write(io.Discard, all, parquet.ColumnPageBuffers(pool.p)) },
			"sorting": func() error { return sorted(io.Discard, all, pool.p, pool.p) },
			"buffer": func() error {
				w := pool.p.GetBuffer()
				_, err := w.Write(make([]byte, 100<<10))
				pool.p.PutBuffer(w)
				return err
			},
		} {
			b.Run("op="+name+"/impl="+pool.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
