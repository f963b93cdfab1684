package lac

import (
	"math/bits"
	"reflect"
	"sync"
	"unsafe"
)

const (
	// word is the unit of every allocation, in bytes. It is 8 on 32-bit machines
	// too, so that 64-bit atomics in arena objects are aligned everywhere.
	word = 8
	// header is the size of a chunk's front, which holds its owner.
	header = 8
	// maxAlloc bounds one allocation, in bytes, so that sums of sizes cannot
	// overflow: 1 GiB on 32-bit machines, 64 TiB on others.
	maxAlloc = 1 << (30 + 16*(^uintptr(0)>>63))
	// smallWipe is what wipe clears at least, in bytes.
	smallWipe = 128
	// pageSize is the unit in which the Go heap allocates blocks above 32 KiB.
	pageSize = 8192
)

// chunk is one block of memory of the shape {owner *core; data [size-header]byte}.
//
// Bytes in [header, used) may be handed out; bytes in [used, size) are zero.
type chunk struct {
	base unsafe.Pointer
	size uintptr
	used uintptr
}

// chunkTypes caches the reflect.Type of a chunk by its size. Types made by
// reflect are never freed; tier bounds how many there can be.
var chunkTypes sync.Map

// tier rounds a block size up to one of eight steps per power of two, so that
// at most an eighth of a block is unused, a fifth above 32 KiB, and few sizes exist.
func tier(n uintptr) uintptr {
	step := max(uintptr(1)<<(bits.Len(uint(n-1))-1)/8, word)
	n = (n + step - 1) &^ (step - 1)
	if n > 4*pageSize {
		n = (n + pageSize - 1) &^ (pageSize - 1)
	}
	return n
}

// newChunk allocates a zeroed chunk of size bytes on the Go heap. Its type makes
// it one object, of which the owner alone is scanned (runtime assumption 4).
func newChunk(size uintptr) chunk {
	t, ok := chunkTypes.Load(size)
	if !ok {
		t, _ = chunkTypes.LoadOrStore(size, reflect.StructOf([]reflect.StructField{
			{Name: "Owner", Type: reflect.TypeFor[*core]()},
			{Name: "Data", Type: reflect.ArrayOf(int(size-unsafe.Sizeof(uintptr(0))), reflect.TypeFor[byte]())},
		}))
	}
	return chunk{base: reflect.New(t.(reflect.Type)).UnsafePointer(), size: size, used: header}
}

// own sets the owner of the chunk, which is what keeps a dropped arena alive.
func (c chunk) own(by *core) {
	// Safety: every chunk starts with an owner field of type *core (newChunk).
	*(**core)(c.base) = by
}

// wipe makes the data of the chunk at base zero again, of which the bytes before
// used may be anything. The caller owns the chunk alone.
func wipe(base unsafe.Pointer, used uintptr) {
	if used <= header+smallWipe {
		wipeSmall(base)
		return
	}
	// Safety: header <= used <= size, all inside the chunk.
	clear(unsafe.Slice((*byte)(unsafe.Add(base, header)), used-header))
}

// wipeSmall is wipe of what may be few bytes: some more stores cost less than a call.
func wipeSmall(base unsafe.Pointer) {
	// Safety: every chunk has minChunkSize bytes.
	*(*[smallWipe / word]uint64)(unsafe.Add(base, header)) = [smallWipe / word]uint64{}
}

// zero clears n bytes that the caller owns.
func zero(p unsafe.Pointer, n uintptr) {
	if n > 0 {
		// Safety: the n bytes are in one chunk.
		clear(unsafe.Slice((*byte)(p), n))
	}
}

// store keeps the idle chunks of a pool for its arenas to share.
//
// Accounting: bytes == sum of size over all idle chunks <= limit.
type store struct {
	mu      sync.Mutex
	bins    map[uintptr]*bin // by chunk size
	bytes   uintptr
	limit   uintptr
	created int64 // chunks allocated
	reused  int64 // chunks served from the bins
	dropped int64 // chunks left to the collector
}

// bin holds the idle chunks of one size, the warmest last.
type bin struct {
	chunks []chunk
	low    int // fewest idle chunks since the last trim: nobody needed those
	keep   int // chunks that trim leaves alone
}

func (s *store) bin(size uintptr) *bin {
	b := s.bins[size]
	if b == nil {
		b = &bin{}
		s.bins[size] = b
	}
	return b
}

// get returns a chunk of size bytes, for the caller to wipe.
func (s *store) get(size uintptr) chunk {
	s.mu.Lock()
	b := s.bin(size)
	if n := len(b.chunks); n > 0 {
		c := b.chunks[n-1]
		b.chunks[n-1] = chunk{}
		b.chunks = b.chunks[:n-1]
		b.low = min(b.low, n-1)
		s.bytes -= size
		s.reused++
		s.mu.Unlock()
		return c
	}
	s.created++
	s.mu.Unlock()
	return newChunk(size)
}

// put takes idle chunks back; what exceeds the limit is left to the collector.
func (s *store) put(chunks []chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range chunks {
		c.own(nil)
		if s.bytes+c.size > s.limit {
			s.dropped++
			continue
		}
		b := s.bin(c.size)
		b.chunks = append(b.chunks, c)
		s.bytes += c.size
	}
}

// trim drops the chunks that lay idle since the last trim, so that the memory
// of a peak goes back.
func (s *store) trim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for size, b := range s.bins {
		n := max(min(b.low, len(b.chunks)-b.keep), 0)
		s.bytes -= uintptr(n) * size
		s.dropped += int64(n)
		kept := copy(b.chunks, b.chunks[n:])
		clear(b.chunks[kept:])
		b.chunks = b.chunks[:kept]
		b.low = kept
		if kept == 0 && b.keep == 0 {
			delete(s.bins, size)
		}
	}
}
