package load

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/bytedance/gopkg/lang/mcache"
	"github.com/gomem-go/gomem"
	"modernc.org/memory"
)

// Floor is the name of what allocates nothing: what a load takes by itself.
const Floor = "floor"

// Names returns what a load can run on: the floor, GoMem, then the rivals.
func Names() []string {
	return []string{Floor, "gomem", "mcache", "syncpool", "modernc-mutex", "make"}
}

// New returns a fresh allocator and what gives its memory back; nil for a name
// that [Names] does not have.
func New(name string) (Allocator, func()) {
	switch name {
	case Floor:
		return floor{make([]byte, floorBytes)}, func() {}
	case "gomem":
		g := Gomem{gomem.NewScalableMemoryAllocator(1 << 20)}
		return g, g.A.Recycle
	case "mcache":
		return cached{}, func() {}
	case "syncpool":
		return new(pools), func() {}
	case "modernc-mutex":
		l := new(locked)
		return l, func() {
			if err := l.a.Close(); err != nil {
				panic(err)
			}
		}
	case "make":
		return collected{}, func() {}
	}
	return nil, nil
}

// Gomem is the allocator under test.
type Gomem struct {
	A *gomem.ScalableMemoryAllocator
}

// Malloc allocates.
func (g Gomem) Malloc(n int) []byte { return g.A.Malloc(n) }

// Free panics when the free is refused: a load frees only what is live.
func (g Gomem) Free(b []byte) {
	if !g.A.Free(b) {
		panic("gomem: a free of a live block was refused")
	}
}

// Trim frees all but the first keep bytes of b.
func (g Gomem) Trim(b []byte, keep int) []byte {
	g.A.FreeRest(&b, keep)
	return b
}

// FreePart frees a part of a block.
func (g Gomem) FreePart(b []byte) { g.Free(b) }

type cached struct{}

func (cached) Malloc(n int) []byte { return mcache.Malloc(n) }
func (cached) Free(b []byte)       { mcache.Free(b) }

// pools is one sync.Pool for each power of two, which keep pointers to the
// first byte so that putting one back allocates nothing.
type pools [32]sync.Pool

func (p *pools) Malloc(n int) []byte {
	class := bits.Len(uint(n - 1))
	if first, ok := p[class].Get().(*byte); ok {
		// Safety: Free put the first byte of a block of 1<<class bytes into the
		// pool of that class, and the pool hands it to one owner.
		return unsafe.Slice(first, 1<<class)[:n]
	}
	return make([]byte, n, 1<<class)
}

func (p *pools) Free(b []byte) { p[bits.Len(uint(cap(b)-1))].Put(unsafe.SliceData(b)) }

// locked is modernc.org/memory, which one goroutine at a time may use.
type locked struct {
	mu sync.Mutex
	a  memory.Allocator
}

func (l *locked) Malloc(n int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, err := l.a.Malloc(n)
	if err != nil {
		panic(err)
	}
	return b
}

func (l *locked) Free(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.a.Free(b); err != nil {
		panic(err)
	}
}

// collected leaves the freeing to the garbage collector.
type collected struct{}

func (collected) Malloc(n int) []byte { return make([]byte, n) }
func (collected) Free([]byte)         {}

// floor hands each goroutine the same bytes every time, so a load on it is what that
// does besides allocating. No two goroutines are to write to one cache line, so the first
// bytes that they get are different ones, as far as their stacks tell them apart; of long
// blocks the rest is the same.
type floor struct{ bytes []byte }

const (
	floorStep   = 256  // bytes from one goroutine's block to another's
	floorPlaces = 1024 // different blocks
	floorStacks = 11   // log2 of the least that two stacks are apart
	floorBytes  = largest + floorStep*floorPlaces
)

func (f floor) Malloc(n int) []byte {
	if raceEnabled {
		return make([]byte, n)
	}
	var here byte
	at := int(uintptr(unsafe.Pointer(&here))>>floorStacks) % floorPlaces * floorStep
	return f.bytes[at : at+n : at+n]
}

func (floor) Free([]byte)                    {}
func (floor) Trim(b []byte, keep int) []byte { return b[:keep] }
func (floor) FreePart([]byte)                {}
