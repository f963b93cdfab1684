package replay

import (
	"cmp"
	"context"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/trace"
)

// recorder is a source that knows what it has mapped.
type recorder struct {
	backing.Source
	mu       sync.Mutex
	mapped   int
	peak     int
	mappings [][]byte
}

// newRecorder returns a recorder over the source of c, nil for the Go heap.
func newRecorder(c config) *recorder {
	if c.source == nil {
		return nil
	}
	return &recorder{Source: c.source()}
}

// Map maps and remembers.
func (r *recorder) Map(size int) ([]byte, error) {
	mem, err := r.Source.Map(size)
	if err == nil {
		r.remember(mem)
	}
	return mem, err
}

// Unmap forgets and unmaps, in that order: the address of what is no longer mapped
// may be that of another goroutine's next mapping.
func (r *recorder) Unmap(mem []byte) error {
	r.forget(mem)
	err := r.Source.Unmap(mem)
	if err != nil {
		r.remember(mem)
	}
	return err
}

func (r *recorder) remember(mem []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mappings = append(r.mappings, mem)
	r.mapped += len(mem)
	r.peak = max(r.peak, r.mapped)
}

func (r *recorder) forget(mem []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mappings = slices.DeleteFunc(r.mappings, func(m []byte) bool { return &m[0] == &mem[0] })
	r.mapped -= len(mem)
}

// now is how much is mapped, and most how much ever was.
func (r *recorder) now() (mapped, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mapped, r.peak
}

// all is what is mapped: the allocator's clock may unmap at any time.
func (r *recorder) all() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.mappings)
}

// sample is the memory in use after some operation.
type sample struct {
	Op            int
	Live, Backing int64
}

// memory is how much a configuration held, and where.
type memory struct {
	Samples     []sample
	PeakBacking int64

	// Fragmentation is the share of the free bytes that does not lie in the
	// largest gap between blocks, when most is live; -1 where it is not known.
	Fragmentation float64

	// Fullest is the chunk with the largest share of live bytes at that time.
	Fullest chunkMap
}

// chunkMap is how full the parts of a chunk are: shares from 0 to 1.
type chunkMap struct {
	Size  int64
	Live  int64
	Cells []float64
}

const (
	maxSamples = 400
	mapCells   = 64 * 24
)

// watch runs t once and records memory on the way.
func (al *allocator) watch(ctx context.Context, src *recorder, t *trace.Trace) (memory, error) {
	m := memory{Fragmentation: -1}
	every := max(len(t.Ops)/maxSamples, 1)
	peakOp := peakAt(t)
	runtime.GC()
	base := heapBytes()
	held := func() int64 {
		if src == nil {
			return max(heapBytes()-base, 0)
		}
		mapped, _ := src.now()
		return int64(mapped)
	}
	live, sizes := int64(0), t.Sizes
	al.next = 0
	for i, op := range t.Ops {
		if i%stretch == 0 && ctx.Err() != nil {
			return m, context.Cause(ctx)
		}
		if err := al.one(op); err != nil {
			return m, &trace.OpError{Op: i, Err: err}
		}
		if op&trace.FreeBit != 0 {
			id := op &^ trace.FreeBit
			live -= int64(sizes[id])
			al.blocks[id] = nil
		} else {
			live += int64(op)
		}
		if i%every == 0 || i == peakOp || i == len(t.Ops)-1 {
			m.Samples = append(m.Samples, sample{i, live, held()})
			m.PeakBacking = max(m.PeakBacking, m.Samples[len(m.Samples)-1].Backing)
		}
		if i == peakOp && src != nil {
			m.Fullest, m.Fragmentation = al.drawChunks(src.all())
		}
	}
	if src != nil {
		_, most := src.now()
		m.PeakBacking = int64(most)
	}
	return m, nil
}

// peakAt returns the operation after which most is live.
func peakAt(t *trace.Trace) int {
	live := int64(0)
	for i, op := range t.Ops {
		if op&trace.FreeBit != 0 {
			live -= int64(t.Sizes[op&^trace.FreeBit])
		} else if live += int64(op); live == t.PeakBytes {
			return i
		}
	}
	return 0
}

// address is where b starts, as a number.
//
// Safety: only compared with other addresses of memory that stays live for the
// comparison; never turned back into a pointer.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// drawChunks places the live blocks in the mappings and returns the fullest of
// them, with the fragmentation over all.
func (al *allocator) drawChunks(mappings [][]byte) (fullest chunkMap, fragmentation float64) {
	blocks := slices.DeleteFunc(slices.Clone(al.blocks), func(b []byte) bool { return b == nil })
	byAddress := func(a, b []byte) int { return cmp.Compare(address(a), address(b)) }
	slices.SortFunc(blocks, byAddress)
	mappings = slices.SortedFunc(slices.Values(mappings), byAddress)
	free, largest, best := 0, 0, -1.0
	for _, mem := range mappings {
		start, end := address(mem), address(mem)+uintptr(len(mem))
		first, _ := slices.BinarySearchFunc(blocks, start, func(b []byte, at uintptr) int { return cmp.Compare(address(b), at) })
		last := first
		live, at := 0, start
		gap := func(until uintptr) {
			free += int(until - at)
			largest = max(largest, int(until-at))
		}
		for ; last < len(blocks) && address(blocks[last]) < end; last++ {
			b := blocks[last]
			gap(address(b))
			live += len(b)
			at = address(b) + uintptr(len(b))
		}
		gap(end)
		if share := float64(live) / float64(len(mem)); share > best {
			best = share
			fullest = chunkMap{Size: int64(len(mem)), Live: int64(live), Cells: shade(mem, blocks[first:last])}
		}
	}
	if free == 0 {
		return fullest, 0
	}
	return fullest, 1 - float64(largest)/float64(free)
}

// shade divides mem into cells and says how full of blocks each is.
func shade(mem []byte, blocks [][]byte) []float64 {
	cells := make([]float64, min(mapCells, len(mem)))
	width := float64(len(mem)) / float64(len(cells))
	for _, b := range blocks {
		from := float64(address(b) - address(mem))
		to := from + float64(len(b))
		for i := int(from / width); i < len(cells) && float64(i)*width < to; i++ {
			cells[i] += (min(to, float64(i+1)*width) - max(from, float64(i)*width)) / width
		}
	}
	return cells
}

// heapBytes is what the Go heap has mapped for objects: in objects, live or not
// yet collected, and in the slots between them.
func heapBytes() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() + s[1].Value.Uint64())
}
