package arrowmem_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/adapter/arrowmem"
	"github.com/gomem-go/gomem/gomemtest"
)

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	{Name: "flag", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "kind", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
}, nil)

// batch returns a record batch of n rows.
func batch(mem memory.Allocator, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	tags := b.Field(2).(*array.ListBuilder)
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%7 == 3 {
			for _, f := range b.Fields()[1:] {
				f.AppendNull()
			}
			continue
		}
		b.Field(1).(*array.StringBuilder).Append(strings.Repeat("x", i%50))
		tags.Append(true)
		for j := range i % 4 {
			tags.ValueBuilder().(*array.StringBuilder).Append(fmt.Sprint(i, j))
		}
		b.Field(3).(*array.BooleanBuilder).Append(i%2 == 0)
		if err := b.Field(4).(*array.BinaryDictionaryBuilder).AppendString([]string{"a", "b", "c"}[i%3]); err != nil {
			panic(err)
		}
	}
	return b.NewRecordBatch()
}

// with runs f with an allocator in debug mode, below Arrow's own check for leaks.
func with(t *testing.T, f func(mem memory.Allocator, a *gomem.ScalableMemoryAllocator), opts ...gomem.Option) {
	t.Helper()
	a := gomemtest.New(t, opts...)
	checked := memory.NewCheckedAllocator(arrowmem.New(a))
	f(checked, a)
	checked.AssertSize(t, 0)
	if live := a.Stats().Live; live != 0 {
		t.Errorf("%d bytes are live", live)
	}
}

func TestBuildersAndSlices(t *testing.T) {
	with(t, func(mem memory.Allocator, a *gomem.ScalableMemoryAllocator) {
		for _, n := range []int{0, 1, 7, 1000} {
			rec, want := batch(mem, n), batch(memory.NewGoAllocator(), n)
			if !array.RecordEqual(rec, want) {
				t.Errorf("%d rows differ", n)
			}
			part := rec.NewSlice(int64(n/3), int64(n/2))
			rec.Release()
			if !array.RecordEqual(part, want.NewSlice(int64(n/3), int64(n/2))) {
				t.Errorf("slice of %d rows differs", n)
			}
			col := part.Column(1)
			both, err := array.Concatenate([]arrow.Array{col, col}, mem)
			if err != nil {
				t.Fatal(err)
			}
			part.Release()
			if both.Len() != 2*(n/2-n/3) {
				t.Error(both.Len())
			}
			both.Release()
		}
	})
}

// stream is n rows as an IPC stream, in two batches.
func stream(t *testing.T, mem memory.Allocator, n int, opts ...ipc.Option) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, append(opts, ipc.WithSchema(schema), ipc.WithAllocator(mem))...)
	rec := batch(mem, n)
	defer rec.Release()
	if err := errors.Join(w.Write(rec), w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// read reads a stream to its end, or to the first error.
func read(data []byte, mem memory.Allocator, each func(rec arrow.RecordBatch)) error {
	r, err := ipc.NewReader(bytes.NewReader(data), ipc.WithAllocator(mem))
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
		each(r.RecordBatch())
	}
	return r.Err()
}

func TestIPC(t *testing.T) {
	for name, opts := range map[string][]ipc.Option{"plain": nil, "lz4": {ipc.WithLZ4()}} {
		t.Run(name, func(t *testing.T) {
			with(t, func(mem memory.Allocator, _ *gomem.ScalableMemoryAllocator) {
				want, n := batch(memory.NewGoAllocator(), 500), 0
				err := read(stream(t, mem, 500, opts...), mem, func(rec arrow.RecordBatch) {
					if n++; !array.RecordEqual(rec, want) {
						t.Error("differs")
					}
				})
				if err != nil || n != 2 {
					t.Error(n, err)
				}
			})
		})
	}
}

// A stream that is cut off gives everything back.
func TestIPCCutOff(t *testing.T) {
	data := stream(t, memory.NewGoAllocator(), 20)
	for n := range len(data) {
		a := gomem.NewScalableMemoryAllocator(0)
		read(data[:n], arrowmem.New(a), func(arrow.RecordBatch) {})
		if live := a.Stats().Live; live != 0 {
			t.Errorf("cut at %d: %d bytes are live", n, live)
		}
		a.Close()
	}
}

// Where a compressed batch is damaged, Arrow's reader loses what it had decompressed of it.
// Close of an allocator that only this reader uses takes that back, too.
func TestDamagedIPC(t *testing.T) {
	data := stream(t, memory.NewGoAllocator(), 60, ipc.WithLZ4())
	for n := len(data) - 1; n > len(data)-500; n-- {
		damaged := bytes.Clone(data)
		damaged[n] ^= 1
		a := gomem.NewScalableMemoryAllocator(0, gomem.WithMaxBytes(1<<20))
		err, lost := read(damaged, arrowmem.New(a), func(arrow.RecordBatch) {}), a.Stats().Live
		a.Close()
		if s := a.Stats(); s.Backing != 0 {
			t.Errorf("damaged at %d: %d bytes are mapped", n, s.Backing)
		}
		if err != nil && lost > 0 {
			return
		}
	}
	t.Error("Arrow lost nothing: the documentation says otherwise")
}

// Bitmaps, offsets and values that nobody writes are zero.
func TestArrowNeedsZeroes(t *testing.T) {
	with(t, func(mem memory.Allocator, a *gomem.ScalableMemoryAllocator) {
		for range 3 {
			batch(mem, 100).Release()
			a.Trim() // out of quarantine, where it was filled
			nulls := array.MakeArrayOfNull(mem, arrow.BinaryTypes.String, 100).(*array.String)
			if err := nulls.ValidateFull(); err != nil {
				t.Error(err)
			}
			nulls.Release()
		}
	})
}

// Strings of an array are views of its memory.
func TestStringAfterRelease(t *testing.T) {
	with(t, func(mem memory.Allocator, _ *gomem.ScalableMemoryAllocator) {
		rec := batch(mem, 50)
		view := rec.Column(1).(*array.String).Value(49)
		clone := strings.Clone(view)
		rec.Release()
		if view == clone || clone != strings.Repeat("x", 49) {
			t.Errorf("%q, %q", view, clone)
		}
	})
}

func TestReleaseByManyGoroutines(t *testing.T) {
	with(t, func(mem memory.Allocator, _ *gomem.ScalableMemoryAllocator) {
		var wg sync.WaitGroup
		for i := range 8 {
			rec := batch(mem, 100*i)
			for range 4 {
				rec.Retain()
				wg.Go(func() {
					part := rec.NewSlice(int64(i), int64(50*i+i))
					rec.Release()
					part.Release()
				})
			}
			rec.Release()
		}
		wg.Wait()
	})
}

// A builder at the limit panics, keeps what it has, and gives all of it back.
func TestLimitWhileBuilding(t *testing.T) {
	a := gomemtest.New(t, gomem.WithMaxBytes(1<<20))
	b := array.NewInt64Builder(arrowmem.New(a))
	err := panics(t, func() {
		for i := range int64(1 << 20) {
			b.Append(i)
		}
	})
	if !errors.Is(err, gomem.ErrLimit) {
		t.Fatal(err)
	}
	n := b.Len()
	col := b.NewInt64Array()
	b.Release()
	for i, v := range col.Int64Values()[:n] {
		if v != int64(i) {
			t.Fatalf("value %d is %d", i, v)
		}
	}
	col.Release()
}

// What Arrow makes of the panic depends on the function.
func TestLimitElsewhere(t *testing.T) {
	heap := memory.NewGoAllocator()
	rec := batch(heap, 10_000)
	for name, c := range map[string]struct {
		f    func(mem memory.Allocator) error
		text bool // the error has only the text
	}{
		"Concatenate": {f: func(mem memory.Allocator) error {
			_, err := array.Concatenate([]arrow.Array{rec.Column(1), rec.Column(1)}, mem)
			return err
		}},
		"Writer": {f: func(mem memory.Allocator) error {
			w := ipc.NewWriter(io.Discard, ipc.WithSchema(schema), ipc.WithAllocator(mem), ipc.WithLZ4())
			defer w.Close()
			return w.Write(rec)
		}},
		"Reader": {text: true, f: func(mem memory.Allocator) error {
			return read(stream(t, heap, 10_000), mem, func(arrow.RecordBatch) {})
		}},
		"FileReader": {f: func(mem memory.Allocator) error {
			var file bytes.Buffer
			w, err := ipc.NewFileWriter(&file, ipc.WithSchema(schema))
			if err := errors.Join(err, w.Write(rec), w.Close()); err != nil {
				return err
			}
			r, err := ipc.NewFileReader(bytes.NewReader(file.Bytes()), ipc.WithAllocator(mem))
			if err != nil {
				return err
			}
			defer r.Close()
			return panics(t, func() { r.RecordBatchAt(0) })
		}},
	} {
		a := gomemtest.New(t, gomem.WithMaxBytes(128<<10))
		err := c.f(arrowmem.New(a))
		if err == nil || !strings.Contains(err.Error(), gomem.ErrLimit.Error()) || (!c.text && !errors.Is(err, gomem.ErrLimit)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
