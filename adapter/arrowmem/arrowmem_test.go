package arrowmem_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/adapter/arrowmem"
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/gomemtest"
)

// check fails t unless b has n bytes, no room behind them, and the alignment.
func check(t *testing.T, b []byte, n int) {
	t.Helper()
	if len(b) != n || cap(b) != n {
		t.Errorf("%d bytes with room for %d, want %d", len(b), cap(b), n)
	}
	if at := uintptr(unsafe.Pointer(unsafe.SliceData(b))); n > 0 && at%64 != 0 {
		t.Errorf("%d bytes at %#x", n, at)
	}
}

// panics returns the error that f panics with.
func panics(t *testing.T, f func()) (err error) {
	t.Helper()
	defer func() {
		t.Helper()
		var ok bool
		if err, ok = recover().(error); !ok {
			t.Error("no panic with an error")
		}
	}()
	f()
	return nil
}

// allocators are one of each kind.
func allocators(t *testing.T, f func(t *testing.T, m *arrowmem.Allocator, a *gomem.ScalableMemoryAllocator)) {
	for name, opts := range map[string][]gomem.Option{
		"debug":       {gomem.WithDebug(gomem.DebugOptions{})},
		"plain":       nil,
		"mmap":        {gomem.WithBacking(backing.Mmap())},
		"TLSF":        {gomem.WithPlacement(gomem.TLSF)},
		"single tree": {gomem.WithPlacement(gomem.SingleTree)},
		"two trees":   {gomem.WithPlacement(gomem.TwoTree)},
	} {
		t.Run(name, func(t *testing.T) {
			a := gomem.NewScalableMemoryAllocator(0, append(opts, gomem.WithMisuse(func(err error) { t.Error(err) }))...)
			defer a.Close()
			f(t, arrowmem.New(a), a)
			if err := a.Verify(); err != nil {
				t.Error(err)
			}
			if live := a.Stats().Live; live != 0 {
				t.Errorf("%d bytes are live", live)
			}
		})
	}
	t.Run("none", func(t *testing.T) { f(t, arrowmem.New(nil), nil) })
}

func TestAllocate(t *testing.T) {
	allocators(t, func(t *testing.T, m *arrowmem.Allocator, a *gomem.ScalableMemoryAllocator) {
		for _, n := range []int{0, 1, 63, 64, 65, 4096, 1 << 20} {
			for range 3 { // the later ones in memory that was used
				b := m.Allocate(n)
				check(t, b, n)
				if !bytes.Equal(b, make([]byte, n)) {
					t.Errorf("%d bytes are not zeroed", n)
				}
				for i := range b {
					b[i] = 0xaa
				}
				m.Free(b)
				a.Trim() // out of quarantine
			}
		}
	})
}

// Random blocks grow and shrink beside their models.
func TestReallocate(t *testing.T) {
	allocators(t, func(t *testing.T, m *arrowmem.Allocator, a *gomem.ScalableMemoryAllocator) {
		seed := uint64(1)
		rnd := rand.New(rand.NewPCG(seed, 0))
		blocks, models := make([][]byte, 16), make([][]byte, 16)
		for range 2000 {
			i, n := rnd.IntN(len(blocks)), rnd.IntN(2000)
			b, model := blocks[i], models[i]
			if len(b) > 0 && rnd.IntN(4) == 0 { // the caller has shortened it
				b, model = b[:len(b)/2], model[:len(b)/2]
			}
			b = m.Reallocate(n, b)
			check(t, b, n)
			model = append(bytes.Clone(model[:min(n, len(model))]), make([]byte, max(0, n-len(model)))...)
			if !bytes.Equal(b, model) {
				t.Fatalf("seed %d: %d bytes are wrong", seed, n)
			}
			for j := range b {
				b[j] = byte(rnd.Uint32()) | 1
			}
			copy(model, b)
			blocks[i], models[i] = b, model
		}
		want := 0
		for i, b := range blocks {
			if !bytes.Equal(b, models[i]) {
				t.Errorf("block %d has changed", i)
			}
			want += len(b)
		}
		if live := a.Stats().Live; a != nil && live != want {
			t.Errorf("%d bytes are live, want %d", live, want)
		}
		for _, b := range blocks {
			if n := len(m.Reallocate(0, b)); n != 0 {
				t.Error(n)
			}
		}
	})
}

func TestReallocateStays(t *testing.T) {
	a := gomemtest.New(t)
	m := arrowmem.New(a)
	b := m.Allocate(4096)
	c := m.Reallocate(1024, b)
	if &b[0] != &c[0] || a.Stats().Live != 1024 {
		t.Errorf("moved, or %d bytes are live", a.Stats().Live)
	}
	c[99], c[100] = 1, 2
	d := m.Reallocate(200, c[:100]) // within the capacity
	if &d[0] != &c[0] || d[99] != 1 || d[100] != 0 || a.Stats().Live != 200 {
		t.Errorf("%v, %d bytes are live", d[99:101], a.Stats().Live)
	}
	m.Free(d)
}

func TestFree(t *testing.T) {
	a := gomemtest.New(t)
	m := arrowmem.New(a)
	m.Free(nil)
	m.Free([]byte{})
	m.Free(m.Allocate(0))
	m.Free(m.Reallocate(0, nil))
	m.Free(m.Allocate(1000)[:10])
	m.Free(m.Allocate(1000)[:0])
	m.Free(m.Reallocate(1000, nil))
	if live := a.Stats().Live; live != 0 {
		t.Errorf("%d bytes are live", live)
	}
}

// What is not a live block is left alone and reported.
func TestMisuse(t *testing.T) {
	var reports []error
	a := gomemtest.New(t, gomem.WithMisuse(func(err error) { reports = append(reports, err) }))
	m := arrowmem.New(a)
	other := memory.NewGoAllocator().Allocate(100)
	other[99] = 1
	m.Free(other)
	if len(reports) != 1 || !errors.Is(reports[0], gomem.ErrNotOwned) {
		t.Error(reports)
	}
	if b := m.Reallocate(10, other); &b[0] != &other[0] || len(b) != 10 || len(reports) != 2 {
		t.Error(len(b), reports)
	}
	b := m.Reallocate(200, other)
	if b[99] != 1 || b[100] != 0 || len(reports) != 3 {
		t.Error(b[99:101], reports)
	}
	m.Free(b)
	m.Free(b)
	if len(reports) != 4 || !errors.Is(reports[3], gomem.ErrDoubleFree) {
		t.Error(reports)
	}
}

func TestNoMemory(t *testing.T) {
	a := gomemtest.New(t, gomem.WithMaxBytes(1<<20))
	m := arrowmem.New(a)
	b := m.Allocate(1000)
	b[999] = 7
	for _, c := range []struct {
		size int
		want error
	}{{-1, gomem.ErrInvalidSize}, {2 << 20, gomem.ErrLimit}} {
		for name, f := range map[string]func(){
			"Allocate":   func() { m.Allocate(c.size) },
			"Reallocate": func() { m.Reallocate(c.size, b) },
		} {
			if err := panics(t, f); !errors.Is(err, c.want) {
				t.Errorf("%s(%d): %v", name, c.size, err)
			}
		}
	}
	if b[999] != 7 || a.Stats().Live != 1000 {
		t.Error("Reallocate has changed its argument")
	}
	m.Free(b)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	err := panics(t, func() { m.Allocate(1) })
	if !errors.Is(err, gomem.ErrClosed) || !strings.HasPrefix(err.Error(), "arrowmem: Allocate of 1 bytes: ") {
		t.Error(err)
	}
}

func TestGoroutines(t *testing.T) {
	a := gomemtest.New(t)
	m := arrowmem.New(a)
	ch := make(chan []byte, 8)
	var senders, receivers sync.WaitGroup
	for i := range 4 {
		senders.Go(func() {
			for j := range 100 {
				b := m.Reallocate(64+17*j, m.Allocate(300))
				for k := range b {
					b[k] = byte(i)
				}
				ch <- b
			}
		})
		receivers.Go(func() {
			for b := range ch {
				if n := bytes.Count(b, b[:1]); n != len(b) {
					t.Errorf("%d of %d bytes", n, len(b))
				}
				m.Free(b)
			}
		})
	}
	senders.Wait()
	close(ch)
	receivers.Wait()
}
