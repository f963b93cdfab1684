package wazeromem

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/gomemtest"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

const page = 1 << 16

// dirty fills and frees blocks, so that memory from a is not zero by chance.
func dirty(t *testing.T, a *gomem.ScalableMemoryAllocator) {
	t.Helper()
	for _, n := range []int{page, 3 * page, 20 * page} {
		b := a.Malloc(n)
		pattern(b)
		if !a.Free(b) {
			t.Fatal("not freed")
		}
	}
	a.Trim()
}

// TestGrow: contents stay, what is new is zero, on recycled memory, for every placement.
func TestGrow(t *testing.T) {
	engines(t, func(t *testing.T, config wazero.RuntimeConfig) {
		for _, p := range []gomem.Placement{gomem.SizeClasses, gomem.TLSF, gomem.SingleTree, gomem.TwoTree} {
			for _, fromMax := range []bool{false, true} {
				a := gomemtest.New(t, gomem.WithPlacement(p))
				dirty(t, a)
				h := newHost(t, config.WithMemoryCapacityFromMax(fromMax), New(a))
				mod := h.start("", guest{min: 1, max: 24})
				if len(bytesOf(t, mod)) != page || !zero(bytesOf(t, mod)) {
					t.Fatal("the first page is not zero")
				}
				for pages := 1; pages < 24; pages++ {
					pattern(bytesOf(t, mod))
					if was := h.call(mod, "grow", 1); was != int32(pages) {
						t.Fatalf("grow of %d pages returned %d", pages, was)
					}
					b := bytesOf(t, mod)
					if len(b) != (pages+1)*page || cap(b) != len(b) || !same(b[:pages*page]) || !zero(b[pages*page:]) {
						t.Fatalf("wrong contents with %d pages", pages+1)
					}
				}
				if got := h.call(mod, "grow", 1); got != -1 {
					t.Errorf("grow past the maximum returned %d", got)
				}
				at := uint64(24*page - 4)
				h.call(mod, "store", at, 12345)
				if got := h.call(mod, "load", at); got != 12345 {
					t.Error(got)
				}
				if err := mod.Close(h.ctx); err != nil || a.Stats().Live != 0 {
					t.Errorf("%v, %d bytes live after the close", err, a.Stats().Live)
				}
			}
		}
	})
}

// TestEmpty: a memory of no pages, which grows, and one that never does.
func TestEmpty(t *testing.T) {
	engines(t, func(t *testing.T, config wazero.RuntimeConfig) {
		a := gomemtest.New(t, gomem.WithMaxBytes(1<<20))
		h := newHost(t, config, New(a))
		h.start("none", guest{})
		mod := h.start("one", guest{max: 64})
		if got := h.call(mod, "grow", 64); got != -1 {
			t.Errorf("grow past the limit returned %d", got)
		}
		if got := h.call(mod, "grow", 1); got != 0 || !zero(bytesOf(t, mod)) {
			t.Errorf("grow of an empty memory returned %d", got)
		}
	})
}

// TestLimit: guests share it. A guest that cannot grow goes on, one that finds no room at
// first is an error, and room that comes back serves both.
func TestLimit(t *testing.T) {
	engines(t, func(t *testing.T, config wazero.RuntimeConfig) {
		a := gomem.NewScalableMemoryAllocator(page, gomem.WithMaxBytes(40*page))
		h := newHost(t, config, New(a))
		first := h.start("first", guest{min: 20})
		pattern(bytesOf(t, first))
		if got := h.call(first, "grow", 5); got != -1 { // 20 and 25 are more than 40
			t.Errorf("grow returned %d", got)
		}
		if b := bytesOf(t, first); len(b) != 20*page || !same(b) {
			t.Error("a grow that failed changed the memory")
		}
		if _, err := h.try("second", guest{min: 30}); !errors.Is(err, gomem.ErrLimit) || !strings.Contains(err.Error(), "1966080") {
			t.Errorf("got %v", err)
		}
		second := h.start("second", guest{min: 10})
		if err := first.Close(h.ctx); err != nil {
			t.Fatal(err)
		}
		if got := h.call(second, "grow", 15); got != 10 { // with a quarter more there is no room, without there is
			t.Errorf("grow returned %d", got)
		}
		h.close()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if _, err := newHost(t, config, New(a)).try("", guest{min: 1}); !errors.Is(err, gomem.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

// TestPanics: without Instantiate, the panic is an error that says why; Instantiate passes
// every other one on.
func TestPanics(t *testing.T) {
	a := gomemtest.New(t, gomem.WithMaxBytes(page))
	h := newHost(t, wazero.NewRuntimeConfigInterpreter(), New(a))
	func() {
		defer func() {
			err, ok := recover().(error)
			if !ok || !errors.Is(err, gomem.ErrLimit) {
				t.Errorf("got %v", err)
			}
		}()
		_, _ = h.r.InstantiateModule(h.ctx, h.compile(guest{min: 64}), wazero.NewModuleConfig())
		t.Error("no panic")
	}()
	defer func() {
		if p := recover(); p != "other" {
			t.Errorf("got %v", p)
		}
	}()
	h.ctx = experimental.WithMemoryAllocator(h.ctx, experimental.MemoryAllocatorFunc(func(uint64, uint64) experimental.LinearMemory { panic("other") }))
	_, _ = h.try("", guest{min: 1})
}

// TestThreads: a shared memory grows in place while others use it.
func TestThreads(t *testing.T) {
	engines(t, func(t *testing.T, config wazero.RuntimeConfig) {
		a := gomemtest.New(t, gomem.WithPlacement(gomem.TwoTree))
		dirty(t, a)
		if b := a.Malloc(5); len(b) == 5 { // what follows is not aligned by itself
			defer a.Free(b)
		}
		h := newHost(t, config.WithMemoryCapacityFromMax(true), New(a))
		mod := h.start("", guest{min: 1, max: 20, shared: true})
		var threads sync.WaitGroup
		for range 4 {
			add := mod.ExportedFunction("add")
			threads.Go(func() {
				for range 500 {
					if _, err := add.Call(h.ctx, 8, 1); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		grow := mod.ExportedFunction("grow")
		for pages := uint64(1); pages < 20; pages++ {
			if got, err := grow.Call(h.ctx, 1); err != nil || got[0] != pages {
				t.Errorf("%v %v", got, err)
			}
		}
		threads.Wait()
		if got := h.call(mod, "load", 8); got != 2000 {
			t.Errorf("counted %d", got)
		}
		if b := bytesOf(t, mod); len(b) != 20*page || !zero(b[page:]) {
			t.Error("the new pages are not zero")
		}
		h.close() // before what is deferred
	})
}

// TestThreadsMoved: without WithMemoryCapacityFromMax the growth of a shared memory ends the
// call with an error, and the module can be closed.
func TestThreadsMoved(t *testing.T) {
	engines(t, func(t *testing.T, config wazero.RuntimeConfig) {
		a := gomemtest.New(t)
		h := newHost(t, config, New(a))
		mod := h.start("", guest{min: 1, max: 20, shared: true})
		_, err := mod.ExportedFunction("grow").Call(h.ctx, 1)
		if err == nil || !strings.Contains(err.Error(), "shared memory cannot move") {
			t.Errorf("got %v", err)
		}
		if err := mod.Close(h.ctx); err != nil || a.Stats().Live != 0 {
			t.Errorf("%v, %d bytes live", err, a.Stats().Live)
		}
	})
}

// TestManyGuests: they come and go on several goroutines, over one allocator off the heap.
func TestManyGuests(t *testing.T) {
	engines(t, func(t *testing.T, config wazero.RuntimeConfig) {
		a := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithBacking(backing.Mmap()), gomem.WithMaxBytes(64<<20))
		h := newHost(t, config, New(a))
		compiled := h.compile(guest{min: 1, max: 10})
		var hosts sync.WaitGroup
		for range 4 {
			hosts.Go(func() {
				for range 50 {
					mod, err := Instantiate(h.ctx, h.r, compiled, wazero.NewModuleConfig().WithName(""))
					if err != nil {
						t.Error(err)
						return
					}
					if !zero(bytesOf(t, mod)) {
						t.Error("a new guest sees another's bytes")
					}
					pattern(bytesOf(t, mod))
					if _, err := mod.ExportedFunction("grow").Call(h.ctx, 3); err != nil {
						t.Error(err)
					}
					if b := bytesOf(t, mod); len(b) != 4*page || !same(b[:page]) || !zero(b[page:]) {
						t.Error("wrong contents after growth")
					}
					if err := mod.Close(h.ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
		hosts.Wait()
		if live := a.Stats().Live; live != 0 {
			t.Errorf("%d bytes live", live)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestLinearMemory: what wazero does not do.
func TestLinearMemory(t *testing.T) {
	a := gomemtest.New(t)
	dirty(t, a)
	m := New(a).Allocate(page, 4*page)
	b := m.Reallocate(2 * page)
	pattern(b)
	if b = m.Reallocate(page); len(b) != page || cap(b) != page || !same(b) {
		t.Error("shrinking lost bytes, or left room to grow into")
	}
	if b = m.Reallocate(4 * page); len(b) != 4*page || !same(b[:page]) || !zero(b[page:]) {
		t.Error("what was cut off came back")
	}
	for _, n := range []uint64{4*page + 1, math.MaxUint64} {
		if m.Reallocate(n) != nil {
			t.Errorf("%d bytes are past the maximum", n)
		}
	}
	var frees sync.WaitGroup
	for range 4 {
		frees.Go(m.Free)
	}
	frees.Wait()
	if m.Reallocate(1) != nil || m.Reallocate(0) != nil {
		t.Error("memory after Free")
	}
	if s := a.Stats(); s.Live != 0 || s.Refused != 0 {
		t.Errorf("%d bytes live, %d frees refused", s.Live, s.Refused)
	}

	m = New(a).Allocate(page, 60*page)
	moves, last := 0, uintptr(0)
	for n := uint64(1); n <= 60; n++ {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(m.Reallocate(n * page))))
		if at != last {
			moves, last = moves+1, at
		}
		if live := a.Stats().Live; uint64(live) > n*page*5/4 {
			t.Errorf("%d bytes live for %d pages", live, n)
		}
	}
	if moves > 25 {
		t.Errorf("growth to 60 pages took %d moves", moves)
	}
	m.Free()

	trees := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithPlacement(gomem.TwoTree))
	defer trees.Close()
	trees.Malloc(5)
	m = New(trees).Allocate(page, page)
	if at := uintptr(unsafe.Pointer(unsafe.SliceData(m.Reallocate(page)))); at%16 != 0 {
		t.Errorf("%#x is not aligned", at)
	}
	m.Free()

	m = New(nil).Allocate(page, math.MaxUint64)
	if b := m.Reallocate(page); len(b) != page || !zero(b) {
		t.Error("nil is not the Go heap")
	}
	if m.Reallocate(math.MaxUint64) != nil {
		t.Error("more than there is")
	}
	m.Free()
	for _, n := range []uint64{math.MaxInt + 1, math.MaxUint64} {
		func() {
			defer func() {
				if err, ok := recover().(error); !ok || !errors.Is(err, gomem.ErrOutOfMemory) {
					t.Errorf("got %v", err)
				}
			}()
			New(nil).Allocate(n, n).Reallocate(0)
		}()
	}
}
