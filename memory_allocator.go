package gomem

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

// MemoryAllocator hands out parts of one chunk of fixed size, exact to the
// byte. It does not grow; [ScalableMemoryAllocator] does, and its GetChildren
// returns MemoryAllocators too: snapshots, which show the layout of a chunk at
// that moment and neither hand out nor take back memory.
//
// Slices come with cap == len, so that an append never runs into a neighbour.
// Their bytes are not cleared and not aligned.
//
// Any goroutine may call any method.
type MemoryAllocator struct {
	// Size is the number of bytes in the chunk. Do not change it.
	Size int

	mu    sync.Mutex
	chunk *fixedChunk // nil without room, for a snapshot, and after Recycle
	shown []Block     // of a snapshot
}

// fixedChunk is the memory of a MemoryAllocator. It outlives its allocator if nothing
// in it is live then, so an allocator for a short time costs no new memory.
type fixedChunk struct {
	place Allocator
	mem   []byte
	used  int // the bytes from here on were never handed out, and are zero
}

// idleChunks are chunks in which nothing is live, by the length of their size in bits.
var idleChunks [bits.UintSize]Pool[*fixedChunk]

// newFixedChunk returns a chunk of size bytes, zeroed; nil if there can be none.
func newFixedChunk(size int) *fixedChunk {
	if c := idleChunks[bits.Len(uint(size))].Get(); c != nil && len(c.mem) == size {
		return c
	}
	mem, err := backing.Heap().Map(size)
	if err != nil {
		return nil
	}
	c := &fixedChunk{mem: mem}
	c.place.Init(size)
	return c
}

// idle gives the chunk to the next allocator of its size, or leaves it to the garbage
// collector if it is large or a part of it is live.
func (c *fixedChunk) idle() {
	if len(c.mem) > MaxBlockSize || c.place.GetFreeSize() < len(c.mem) {
		return
	}
	clear(c.mem[:c.used])
	c.used = 0
	c.place.Init(len(c.mem))
	idleChunks[bits.Len(uint(len(c.mem)))].Put(c)
}

// GetMemoryAllocator returns an allocator with a chunk of its own: size bytes
// on the Go heap, zeroed. If size is not positive, or beyond any address space, it has
// no room; otherwise, like make, it ends the program when memory runs out. O(size), or
// O(1) if a chunk of that size is in the pool where Recycle leaves chunks.
func GetMemoryAllocator(size int) *MemoryAllocator {
	m := new(MemoryAllocator)
	if size <= 0 {
		return m
	}
	if m.chunk = newFixedChunk(size); m.chunk != nil {
		m.Size = size
	}
	return m
}

// newChildView returns a snapshot of a chunk: its size and its free blocks,
// which it keeps.
func newChildView(size int, free []Block) *MemoryAllocator {
	return &MemoryAllocator{Size: size, shown: free}
}

// Malloc returns n bytes, owned until freed, with cap n. It returns nil if
// there is no room, n is negative, or m is a snapshot or recycled. Malloc(0)
// returns an empty slice and takes nothing. O(log n) for n free blocks.
func (m *MemoryAllocator) Malloc(n int) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.chunk; c != nil {
		return c.slice(n, c.place.Allocate(n))
	}
	return nil
}

// Find returns the bytes that Malloc(n) would return and takes nothing: a
// borrow, valid until the next Malloc or Recycle. O(log n), never allocates.
func (m *MemoryAllocator) Find(n int) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.chunk; c != nil {
		return c.slice(n, c.place.Find(n))
	}
	return nil
}

func (c *fixedChunk) slice(n, at int) []byte {
	if n == 0 {
		return []byte{}
	}
	if at < 0 {
		return nil
	}
	c.used = max(c.used, at+n)
	return c.mem[at : at+n : at+n]
}

// Free gives back b, a slice from Malloc or any part of one, and returns true.
// It returns false and changes nothing if b is not memory of m or some of it
// is free already. For an empty b it does nothing and returns true. O(log n)
// for n free blocks.
func (m *MemoryAllocator) Free(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.chunk
	if c == nil {
		return false
	}
	// Safety: both addresses are only compared. The Go heap does not move what
	// is on it (runtime assumption 5), and mem is kept alive by the chunk.
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(c.mem)))
	if at >= uintptr(len(c.mem)) {
		return false
	}
	return c.place.TryFree(int(at), len(b)) == nil
}

// GetFreeSize is the number of free bytes. O(1); O(n) for a snapshot.
func (m *MemoryAllocator) GetFreeSize() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	free := 0
	if m.chunk != nil {
		free = m.chunk.place.GetFreeSize()
	}
	for _, b := range m.shown {
		free += b.Size()
	}
	return free
}

// GetBlocks returns the free blocks by offset in the chunk: a copy that the
// caller owns. O(n), two allocations.
func (m *MemoryAllocator) GetBlocks() []*Block {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.chunk != nil {
		return m.chunk.place.GetBlocks()
	}
	return blockPointers(append([]Block(nil), m.shown...))
}

// Recycle gives up the chunk. From then on the allocator has no room, Free
// returns false, and another Recycle changes nothing. If all that was allocated is freed,
// a chunk of up to MaxBlockSize may serve a later allocator. Otherwise the garbage
// collector gets it, so a chunk is never used again while a slice of it that is not freed
// is in use. O(bytes handed out), which are cleared for the next allocator.
func (m *MemoryAllocator) Recycle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.chunk != nil {
		m.chunk.idle()
	}
	m.chunk, m.shown = nil, nil
}
