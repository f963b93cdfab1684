// Package grpcmem lets gRPC take its buffers from a gomem allocator: [Pool] is a
// mem.BufferPool, the interface of google.golang.org/grpc/mem.
//
//	a := gomem.NewScalableMemoryAllocator(4<<20, gomem.WithMaxBytes(256<<20))
//	pool := grpcmem.New(a)
//	server := grpc.NewServer(experimental.BufferPool(pool))
//	client, err := grpc.NewClient(target, experimental.WithBufferPool(pool))
//
// Received frames, and the results of compression and decompression, then come from the
// allocator, which bounds, counts and watches them. The codec for protobuf does not use
// that pool but mem.DefaultBufferPool for what it marshals; only
// experimental.SetDefaultBufferPool changes that, for the whole program. The package was
// written for gRPC 1.85.
//
// # What gRPC does not give back
//
// gRPC drops buffers without a Put, because its own pools leave them to the garbage
// collector: received frames of a call that ends before they are read, as when a handler
// fails early, a method is unknown, a message is too large or a client cancels; and
// messages that are still queued when their connection ends. A peer can cause that at
// will. So a Pool notices when the collector finds the pointer that Get returned
// unreachable, and frees the buffer then. Until the next collection such buffers are in
// use. The collector does not see memory from mmap and so does not hurry: give the
// allocator a limit. At the limit buffers come from the Go heap, which brings about the
// next collection.
//
// # What it requires
//
// Who uses bytes of a Pool must keep the mem.Buffer they belong to, or the pointer that
// Get returned, until the last use. gRPC and its codecs do. These do not, and with
// gRPC's own pools they may get away with it:
//
//   - A codec whose Unmarshal keeps ReadOnlyData, or a part of it, after it has returned
//     and does not call Ref, or calls Ref and then does not keep the Buffer.
//   - Code that keeps a copy, *pool.Get(n), and not the pointer.
//
// Their bytes are overwritten by the next owner. An allocator in debug mode, such as that
// of package gomemtest, overwrites them at once, so that tests notice. After
// experimental.SetDefaultBufferPool this concerns every codec of the program.
//
// Close the allocator only after [Pool.Drain]. Connections still use buffers for a moment
// after Stop and Close have returned, and memory from mmap is unmapped then: touching it is
// fatal. Never Recycle an allocator while a pool uses it.
//
//	server.Stop()
//	client.Close()
//	if err := pool.Drain(ctx); err == nil {
//		err = a.Close()
//	}
package grpcmem

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gomem-go/gomem"
	"google.golang.org/grpc/mem"
)

// Pool is a mem.BufferPool over a gomem allocator. Any goroutine may call any method, at
// any time. Make it with [New]; the zero value is invalid, and so is a copy.
type Pool struct {
	a       *gomem.ScalableMemoryAllocator
	handles sync.Pool // of *[]byte that are out of use: nil slices
	out     [1 << shardBits]shard
	drained atomic.Bool // no more blocks of a
	lost    atomic.Uint64
}

var _ mem.BufferPool = (*Pool)(nil)

// shard holds the blocks that are in use, by the address of the handle, the pointer that
// Get returned. A handle says itself which block it is for, but its user may change that;
// and it is an address because a pointer would keep the handle from being collected.
type shard struct {
	mu     sync.Mutex
	blocks map[uintptr][]byte
	inUse  atomic.Int64 // blocks, from before their Malloc to after their Free
	_      [40]byte     // so that two shards share no cache line
}

const shardBits = 5

// New returns a pool whose buffers of more than 1,024 bytes are memory of a. A nil a stands
// for the Go heap. Several pools may use one allocator, and so may others.
func New(a *gomem.ScalableMemoryAllocator) *Pool {
	p := &Pool{a: a}
	for i := range p.out {
		p.out[i].blocks = make(map[uintptr][]byte)
	}
	// A finalizer, where a cleanup would need an object of its own for each handle. It is
	// set once for each handle and stays while the handle is used again and again. No
	// handle refers to anything that has a finalizer.
	reclaim := p.reclaim
	p.handles.New = func() any {
		h := new([]byte)
		runtime.SetFinalizer(h, reclaim)
		return h
	}
	return p
}

// Get returns a pointer to n zeroed bytes, owned until it is passed to Put. Their capacity
// is n. They are zeroed because gRPC's own pools do that, and the memory may hold what
// others left in it.
//
// Buffers of up to 1,024 bytes are from the Go heap and need no Put, because gRPC does not
// call it for them. So are larger ones if the allocator has none: it is at its limit, the
// system has no more memory, it is closed, or the pool is drained. Get panics if n is
// negative, as make does. O(n); for more than 1,024 bytes it allocates nothing on the Go
// heap in steady state.
func (p *Pool) Get(n int) *[]byte {
	if mem.IsBelowBufferPoolingThreshold(n) {
		return fromHeap(n)
	}
	h := p.handles.Get().(*[]byte)
	s := p.shardOf(h)
	block := p.malloc(s, n)
	if block == nil {
		p.handles.Put(h)
		return fromHeap(n)
	}
	clear(block)
	*h = block
	s.mu.Lock()
	s.blocks[addr(h)] = block
	s.mu.Unlock()
	return h
}

// malloc returns nil if there is none. It counts before it looks at drained: so either
// Drain waits for the block, or there is none.
func (p *Pool) malloc(s *shard, n int) []byte {
	s.inUse.Add(1)
	if !p.drained.Load() {
		if block := p.a.Malloc(n); block != nil {
			return block
		}
	}
	s.inUse.Add(-1)
	return nil
}

// fromHeap returns a buffer that no shard knows, so that Put leaves it to the collector.
func fromHeap(n int) *[]byte {
	b := make([]byte, n)
	return &b
}

// Put gives the buffer back that Get returned as b, as a whole, whatever *b is by now. No
// one may use the buffer or b afterwards. A b that is nil, not from Get, from the Go heap or
// already put back changes nothing, unless Get has handed out b again since: then Put takes
// that buffer from its owner. O(1), never allocates.
func (p *Pool) Put(b *[]byte) {
	if p.free(b) {
		*b = nil
		p.handles.Put(b)
	}
}

// Lost is how many buffers gRPC has dropped without a Put so far, as far as the collector
// has found and freed them. A number that grows fast says that peers, or handlers, leave
// much unread. O(1).
func (p *Pool) Lost() uint64 { return p.lost.Load() }

// Drain takes no more memory of the allocator from now on, but of the Go heap, and waits
// until all that was taken has come back, for which it runs collections. If the error is nil,
// nobody uses the allocator through this pool any more. Otherwise it wraps that of ctx and
// says how many buffers are in use: stop servers and close clients before. O(heap) for each
// collection.
func (p *Pool) Drain(ctx context.Context) error {
	p.drained.Store(true)
	for i := range p.out {
		for p.out[i].inUse.Load() > 0 {
			runtime.GC()
			select {
			case <-ctx.Done():
				return fmt.Errorf("grpcmem: buffers in use: %d: %w", p.inUse(), ctx.Err())
			case <-time.After(time.Millisecond):
			}
		}
	}
	return nil
}

// inUse is how many blocks are in use.
func (p *Pool) inUse() (n int64) {
	for i := range p.out {
		n += p.out[i].inUse.Load()
	}
	return n
}

// reclaim frees the block of a handle that the collector found unreachable. Handles that
// the sync.Pool has dropped come here, too, without one.
func (p *Pool) reclaim(h *[]byte) {
	if p.free(h) {
		p.lost.Add(1)
	}
}

// free frees the block that h is in use for, and returns false if there is none.
func (p *Pool) free(h *[]byte) bool {
	s := p.shardOf(h)
	s.mu.Lock()
	block, ok := s.blocks[addr(h)]
	delete(s.blocks, addr(h))
	s.mu.Unlock()
	if ok {
		p.a.Free(block)
		s.inUse.Add(-1)
	}
	return ok
}

// addr is the identity of h for as long as h exists: the Go heap does not move (runtime
// assumption 5). reclaim runs before the memory of h serves another object.
func addr(h *[]byte) uintptr { return uintptr(unsafe.Pointer(h)) }

func (p *Pool) shardOf(h *[]byte) *shard {
	const golden = 0x9e3779b97f4a7c15 & (1<<bits.UintSize - 1) // spreads addresses that differ in few bits
	return &p.out[uint(addr(h))*golden>>(bits.UintSize-shardBits)]
}
