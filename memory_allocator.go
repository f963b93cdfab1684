package gomem

import (
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
	place Allocator
	mem   []byte // nil for a snapshot, and after Recycle
	shown []Block
}

// GetMemoryAllocator returns an allocator with a chunk of its own: size bytes
// on the Go heap, zeroed. If size is not positive, or more than the Go heap can
// provide, it has no room. O(size).
func GetMemoryAllocator(size int) *MemoryAllocator {
	m := &MemoryAllocator{Size: max(size, 0)}
	if size <= 0 {
		return m
	}
	mem, err := backing.Heap().Map(size)
	if err != nil {
		m.Size = 0
		return m
	}
	m.mem = mem[:size:size]
	m.place.Init(size)
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
	return m.slice(n, m.place.Allocate(n))
}

// Find returns the bytes that Malloc(n) would return and takes nothing: a
// borrow, valid until the next Malloc. O(log n), never allocates.
func (m *MemoryAllocator) Find(n int) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.slice(n, m.place.Find(n))
}

func (m *MemoryAllocator) slice(n, at int) []byte {
	if n == 0 && m.mem != nil {
		return []byte{}
	}
	if at < 0 {
		return nil
	}
	return m.mem[at : at+n : at+n]
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
	if m.mem == nil {
		return false
	}
	// Safety: both addresses are only compared. The Go heap does not move what
	// is on it (runtime assumption 5), and mem is kept alive by m.
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(m.mem)))
	if at >= uintptr(len(m.mem)) {
		return false
	}
	return m.place.TryFree(int(at), len(b)) == nil
}

// GetFreeSize is the number of free bytes. O(1); O(n) for a snapshot.
func (m *MemoryAllocator) GetFreeSize() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	free := m.place.GetFreeSize()
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
	if m.shown != nil {
		return blockPointers(append([]Block(nil), m.shown...))
	}
	return m.place.GetBlocks()
}

// Recycle gives up the chunk. From then on the allocator has no room, Free
// returns false, and another Recycle changes nothing. The chunk is left to the
// garbage collector, so it is never reused while a slice of it is in use.
func (m *MemoryAllocator) Recycle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.place.Recycle()
	m.mem, m.shown = nil, nil
}
