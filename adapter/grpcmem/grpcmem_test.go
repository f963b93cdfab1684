package grpcmem_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/adapter/grpcmem"
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/gomemtest"
)

func TestGet(t *testing.T) {
	a := gomemtest.New(t)
	p := grpcmem.New(a)
	for _, n := range []int{0, 1, 1024, 1025, 16 << 10, 1 << 20} {
		for range 3 { // the later ones in memory that was used
			live := a.Stats().Live
			b := p.Get(n)
			if len(*b) != n || cap(*b) != n {
				t.Errorf("Get(%d): %d bytes, %d room", n, len(*b), cap(*b))
			}
			if !bytes.Equal(*b, make([]byte, n)) {
				t.Errorf("Get(%d) is not zeroed", n)
			}
			// gRPC never calls Put for 1,024 bytes or less: see TestSmallBuffersAreNotPut.
			if got := a.Stats().Live - live; (n <= 1024 && got != 0) || (n > 1024 && got != n) {
				t.Errorf("Get(%d) took %d bytes of the allocator", n, got)
			}
			for i := range *b {
				(*b)[i] = 0xaa
			}
			p.Put(b)
		}
		a.Trim() // out of quarantine
	}
}

func TestGetOfLessThanNothing(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Get(-1) returned")
		}
	}()
	grpcmem.New(gomemtest.New(t)).Get(-1)
}

// Put gives back the whole buffer, whatever has become of the slice.
func TestPutOfAChangedSlice(t *testing.T) {
	a := gomemtest.New(t)
	p := grpcmem.New(a)
	for name, change := range map[string]func(b []byte) []byte{
		"as it was":             func(b []byte) []byte { return b },
		"a prefix":              func(b []byte) []byte { return b[:10] },
		"a prefix without room": func(b []byte) []byte { return b[:10:10] },
		"empty":                 func(b []byte) []byte { return b[:0] },
		"the end":               func(b []byte) []byte { return b[4000:] },
		"nil":                   func(b []byte) []byte { return nil },
		"grown":                 func(b []byte) []byte { return append(b, 1) },
		"another one":           func(b []byte) []byte { return make([]byte, 5000) },
	} {
		b := p.Get(5000)
		*b = change(*b)
		p.Put(b)
		if live := a.Stats().Live; live != 0 || *b != nil {
			t.Errorf("%s: %d bytes are live, %d in reach", name, live, len(*b))
		}
	}
	if p.Lost() != 0 {
		t.Error("lost:", p.Lost())
	}
}

func TestPutOfSomethingElse(t *testing.T) {
	a := gomemtest.New(t)
	p := grpcmem.New(a)
	b := p.Get(2000)
	other := make([]byte, 2000)
	p.Put(nil)
	p.Put(&other)
	p.Put(new([]byte))
	p.Put(grpcmem.New(a).Get(100))
	alias := *b
	p.Put(&alias)
	if live := a.Stats().Live; live != 2000 {
		t.Errorf("%d bytes are live, want those of b", live)
	}
	if len(other) != 2000 || len(alias) != 2000 {
		t.Error("Put changed what it does not own")
	}
	p.Put(b)
	p.Put(b)
	if s := a.Stats(); s.Live != 0 || s.Refused != 0 {
		t.Errorf("%+v", s)
	}
}

// Where the pointer is dropped, the buffer comes back once, even if a copy of it was put.
func TestLost(t *testing.T) {
	a := gomemtest.New(t)
	p := grpcmem.New(a)
	for range 100 {
		p.Get(3000)
		alias := *p.Get(3000)
		p.Put(&alias)
	}
	settle(t, a)
	if p.Lost() != 200 {
		t.Errorf("lost %d, want 200", p.Lost())
	}
	if s := a.Stats(); s.Refused != 0 {
		t.Errorf("%d frees were refused", s.Refused)
	}
}

// A buffer is not lost while its pointer is held, also by a handle that was used before.
func TestHeldIsNotLost(t *testing.T) {
	p := grpcmem.New(gomemtest.New(t))
	var held []*[]byte
	for i := range 50 {
		p.Put(p.Get(2000))
		b := p.Get(2000)
		copy(*b, message(2000, uint64(i)))
		held = append(held, b)
		if i%10 == 0 {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	}
	for i, b := range held {
		if !bytes.Equal(*b, message(2000, uint64(i))) {
			t.Errorf("buffer %d has changed", i)
		}
		p.Put(b)
	}
	if p.Lost() != 0 {
		t.Error("lost:", p.Lost())
	}
}

func TestLimit(t *testing.T) {
	a := gomemtest.New(t, gomem.WithMaxBytes(1<<20), gomem.WithBacking(backing.Mmap()))
	p := grpcmem.New(a)
	var all []*[]byte
	for range 100 {
		b := p.Get(64 << 10)
		if len(*b) != 64<<10 {
			t.Fatal(len(*b))
		}
		all = append(all, b)
	}
	if s := a.Stats(); s.Live == 0 || s.Live > 1<<20 {
		t.Errorf("%+v", s)
	}
	for _, b := range all {
		p.Put(b)
	}
	if s := a.Stats(); s.Live != 0 || s.Refused != 0 {
		t.Errorf("%+v", s)
	}
}

// After the allocator's Close the Go heap serves on, and what comes back is refused.
func TestClosedAllocator(t *testing.T) {
	a := gomem.NewScalableMemoryAllocator(0, gomem.WithMisuse(func(err error) {
		if !errors.Is(err, gomem.ErrNotOwned) {
			t.Error(err)
		}
	}))
	p := grpcmem.New(a)
	early := p.Get(2000)
	if err := a.Close(); err != nil {
		var leak *gomem.LeakError
		if !errors.As(err, &leak) {
			t.Fatal(err)
		}
	}
	late := p.Get(2000)
	if !bytes.Equal(*late, make([]byte, 2000)) {
		t.Error("not zeroed")
	}
	p.Put(late)
	if refused := a.Stats().Refused; refused != 0 {
		t.Errorf("%d refused", refused)
	}
	p.Put(early)
	if refused := a.Stats().Refused; refused != 1 {
		t.Errorf("%d refused, want 1", refused)
	}
}

// After Drain the allocator may be closed, whatever others do with the pool. A Drain that
// overlooks a buffer ends in a fault or in bytes that are live.
func TestDrain(t *testing.T) {
	for round := range 100 {
		a := gomem.NewScalableMemoryAllocator(0, gomem.WithBacking(backing.Mmap()),
			gomem.WithMisuse(func(err error) { t.Error(err) }))
		p := grpcmem.New(a)
		var stop atomic.Bool
		var wg sync.WaitGroup
		for range 1 + round%3 {
			wg.Go(func() {
				for i := 1; !stop.Load(); i++ {
					b := p.Get(5000)
					copy(*b, "use it")
					if i%10 != 0 || round%2 == 0 { // the others are lost
						p.Put(b)
					}
				}
			})
		}
		time.Sleep(50 * time.Microsecond)
		if err := p.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if live := a.Stats().Live; live != 0 {
			t.Errorf("%d bytes are live", live)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		stop.Store(true)
		wg.Wait()
	}
}

func TestDrainWaits(t *testing.T) {
	p := grpcmem.New(gomemtest.New(t))
	b, c := p.Get(2000), p.Get(2000)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(nil)
	err := p.Drain(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "in use: 2") {
		t.Error(err)
	}
	p.Put(b)
	time.AfterFunc(5*time.Millisecond, func() { p.Put(c) })
	if err := p.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if p.Lost() != 0 {
		t.Error("lost:", p.Lost())
	}
}

func TestNoAllocator(t *testing.T) {
	p := grpcmem.New(nil)
	b := p.Get(2000)
	if !bytes.Equal(*b, make([]byte, 2000)) {
		t.Error("not zeroed")
	}
	p.Put(b)
	p.Put(b)
}

func TestGoroutines(t *testing.T) {
	a := gomemtest.New(t)
	p := grpcmem.New(a)
	ch := make(chan *[]byte, 8)
	var senders, receivers sync.WaitGroup
	for i := range 4 {
		senders.Go(func() {
			for j := range 200 {
				n := 1025 + 37*j + i
				b := p.Get(n)
				copy(*b, message(n, uint64(n)))
				switch j % 8 {
				case 0:
					p.Put(b)
				case 1: // is lost
				default:
					ch <- b
				}
			}
		})
		receivers.Go(func() {
			for b := range ch {
				if n := len(*b); !bytes.Equal(*b, message(n, uint64(n))) {
					t.Errorf("%d bytes have changed", n)
				}
				p.Put(b)
			}
		})
	}
	senders.Wait()
	close(ch)
	receivers.Wait()
	settle(t, a)
	if p.Lost() != 100 {
		t.Error("lost:", p.Lost())
	}
}

// The handles do not keep their pool.
func TestPoolIsCollected(t *testing.T) {
	a := gomemtest.New(t)
	p := weak.Make(grpcmem.New(a))
	for range 100 {
		b := p.Value().Get(2000)
		p.Value().Put(b)
		p.Value().Get(2000)
	}
	settle(t, a)
	for range 100 {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if p.Value() == nil {
			return
		}
	}
	t.Error("it is still there")
}
