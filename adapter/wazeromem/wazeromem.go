// Package wazeromem gives the guests of wazero, the WebAssembly runtime, memory from an
// allocator of package gomem: all guests together stay below one limit, their memory is not
// on the Go heap if the allocator's is not, and a closed guest's memory serves the next one
// without a garbage collection.
//
//	guests := gomem.NewScalableMemoryAllocator(16<<20,
//		gomem.WithBacking(backing.Mmap()),
//		gomem.WithMaxBytes(256<<20)) // of all guests together
//	ctx := experimental.WithMemoryAllocator(context.Background(), wazeromem.New(guests))
//	r := wazero.NewRuntime(ctx)
//	compiled, err := r.CompileModule(ctx, wasm)
//	…
//	mod, err := wazeromem.Instantiate(ctx, r, compiled, wazero.NewModuleConfig())
//	if errors.Is(err, gomem.ErrLimit) {
//		// the guest is too large now
//	}
//	…
//	mod.Close(ctx)
//
// The context must be the one of the instantiation, not only that of the runtime.
//
// # When a memory is given back
//
// When its module is closed, also by the end of the runtime, or of a context if the runtime
// is configured WithCloseOnContextDone. wazero forgets the memory of a module whose
// instantiation fails after it was made, because a data segment does not fit or the start
// function traps: that memory comes back with one of the next garbage collections, like that
// of a runtime that is dropped unclosed. [runtime.GC] brings it sooner.
//
// Close the allocator after the runtime, and never Recycle it: a memory that is freed later
// would take the bytes from a new owner.
//
// # What a guest's memory does not survive
//
// wazero v1.12.0 frees a memory without asking who uses it. With its own memory, which the
// garbage collector keeps, that is harmless. Here the bytes may belong to the next guest by
// then, so a mistake opens one guest to the other. These are for the host program to avoid:
//
//   - A call that runs while its module is closed from another goroutine goes on to its end,
//     and so does one of a function that was looked up before the module was closed. Close a
//     module when no call is under way, and call nothing of it then.
//   - An [api.Memory] and the slices it returns still read and write after the close. Slices
//     also end when the memory grows, and keep nothing alive.
//   - If a module imports the memory of another, closing either frees it. Close both
//     together, for example with the runtime, and use neither after one has been closed.
//     A guest that ends itself, with proc_exit of WASI, is closed, too. So wasi-threads,
//     where each thread is such a module, cannot use a memory from here.
//
// In tests an allocator in debug mode finds such writes, see package gomemtest.
//
// # Threads
//
// A shared memory must not move. It does not if the runtime is configured with
// WithMemoryCapacityFromMax(true), or if its minimum is its maximum: then all of its maximum
// is allocated at once, and counts towards the limit. Without that, memory.grow ends the call
// with wazero's error "shared memory cannot move", and the block that the threads go on using
// is free: close the module at once.
//
// # What it costs
//
// Guests count with their whole blocks towards WithMaxBytes. While a memory is moved its old
// and its new block count, so a guest cannot grow to more than about half of the limit,
// except with WithMemoryCapacityFromMax(true), where it is all allocated at first; then give
// the guests a maximum with WithMemoryLimitPages. Bytes are cleared when the guest gets them,
// which touches their pages: a guest whose minimum is 16 MiB has these in memory at once,
// where a fresh memory of wazero's own would have only the pages that the guest uses.
package wazeromem

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/gomem-go/gomem"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// New returns a source of guests' memories that takes them from a: use it with
// [experimental.WithMemoryAllocator]. The package comment says what it requires and when a
// memory is given back.
//
// A memory takes one block of a. It is zero at first and where it grows, and keeps its
// contents. Its first block is as large as wazero suggests, which is the guest's minimum, or
// its maximum if the runtime was configured WithMemoryCapacityFromMax; in the latter case the
// memory never moves. Otherwise growth copies it to a block that is a quarter larger than
// needed, or just large enough if there is no room for that. If there is none for either,
// memory.grow of the guest returns -1, and all is as before.
//
// If there is no room for the first block, instantiation panics with an error that wraps that
// of a, such as [gomem.ErrLimit]; [Instantiate] returns it instead.
//
// A nil a is the Go heap. Any goroutine may use the result, for any number of runtimes and
// guests.
func New(a *gomem.ScalableMemoryAllocator) experimental.MemoryAllocator {
	return experimental.MemoryAllocatorFunc(func(first, most uint64) experimental.LinearMemory {
		m := &memory{block: &block{a: a}, first: first, most: most}
		runtime.AddCleanup(m, (*block).free, m.block)
		return m
	})
}

// Instantiate is r.InstantiateModule that returns an error if there is no room for the
// guest's memory, where InstantiateModule panics. The error wraps that of the allocator:
// [gomem.ErrLimit], [gomem.ErrClosed] or [gomem.ErrOutOfMemory].
//
// ctx is to have the allocator, see [New]; without one this is InstantiateModule, as it is in
// every other respect: other errors and panics pass through. Any goroutine may call it.
func Instantiate(ctx context.Context, r wazero.Runtime, compiled wazero.CompiledModule, config wazero.ModuleConfig) (mod api.Module, err error) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(*noRoomError)
			if !ok {
				panic(p)
			}
			mod, err = nil, e
		}
	}()
	return r.InstantiateModule(ctx, compiled, config)
}

// noRoomError tells the panic of a first allocation from every other one.
type noRoomError struct{ err error }

func (e *noRoomError) Error() string { return e.err.Error() }
func (e *noRoomError) Unwrap() error { return e.err }

// memory is the linear memory of one guest. wazero holds it for as long as the memory can be
// used, so that a block which it forgets to free is freed once nobody has the memory.
type memory struct {
	first, most uint64
	block       *block // does not refer to the memory: its cleanup holds it
}

// block is what a memory has of the allocator.
type block struct {
	a *gomem.ScalableMemoryAllocator

	mu    sync.Mutex // Free may come from another goroutine
	b     []byte
	size  uint64 // of the guest's memory
	began bool   // the first Reallocate was made
	freed bool
}

// Reallocate implements [experimental.LinearMemory].
func (m *memory) Reallocate(size uint64) []byte {
	d := m.block
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.freed || size > m.most {
		return nil
	}
	if first := !d.began; first {
		d.began = true
		if err := d.move(max(size, m.first)); err != nil {
			panic(&noRoomError{fmt.Errorf("wazeromem: no room for a memory of %d bytes: %w", max(size, m.first), err)})
		}
	} else if size > uint64(len(d.b)) && d.move(min(size+size/4, m.most)) != nil && d.move(size) != nil {
		return nil
	}
	if size > d.size {
		clear(d.b[d.size:size])
	}
	d.size = size
	// No capacity: wazero would grow into it by itself, and it is not zero.
	return d.b[:size:size]
}

// Free implements [experimental.LinearMemory]. wazero may call it more than once.
func (m *memory) Free() { m.block.free() }

// move takes n bytes, not zeroed, and moves the contents there. On error nothing changes.
func (d *block) move(n uint64) error {
	if n > math.MaxInt {
		return gomem.ErrOutOfMemory
	}
	// A placement by trees would not align it by itself, as atomic instructions need it.
	b, err := d.a.MallocAligned(int(n), 16)
	if err != nil {
		return err
	}
	copy(b, d.b[:d.size])
	d.a.Free(d.b)
	d.b = b
	return nil
}

func (d *block) free() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.a.Free(d.b) // nothing the second time
	d.b, d.size, d.freed = nil, 0, true
}
