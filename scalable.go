package gomem

import (
	"fmt"
	"io"
	"math"
	"unsafe"

	"github.com/gomem-go/gomem/internal/heap"
)

// ScalableMemoryAllocator hands out byte slices from memory that it maps in
// chunks, more when they are full, and gives back when they are empty.
//
// Any goroutine may call any method at any time, and may free what another has
// allocated; only Recycle and Close must come after all other use. Blocks
// of up to 64 KiB come from caches per processor without a lock or an atomic
// instruction, and go back there, see the package comment of internal/heap.
//
// Memory is owned from Malloc to Free. Free takes a block or any part of one,
// in any order, to the byte. A free of what is not live is refused: Free
// returns false, nothing changes, the event is counted and reported to
// [WithMisuse]. The end of a block of 4 to 32 KiB that is cut off before the next
// one is allocated is reusable at once, as is any part of a larger block, except
// for less than 64 bytes at each end of the range. Other parts of a block, and the
// end of one up to 4 KiB, are reusable when its last byte is freed; of one above
// 4 KiB also before the allocator grows, if little is left of it and of those beside
// it. With the other placements every part is reusable at once, by TLSF in granules
// of 16 bytes.
//
// A block above 256 KiB for which there is no room gets a chunk of its own. What is cut
// off there serves smaller blocks, but no second one of that size, so where more than
// twice the bytes live are mapped such a chunk has room for two: a program that reads
// into large blocks and keeps a part of each maps about twice what it keeps, and a few
// of those blocks.
//
// A nil *ScalableMemoryAllocator is valid: it allocates from the Go heap and
// frees nothing. The zero value is not: [NewScalableMemoryAllocator] makes one, and
// a method of any other panics with a nil pointer dereference, as the test for it
// would be one in each Malloc and Free.
type ScalableMemoryAllocator heap.Heap

// engine is a as what it is; nil stays nil.
func (a *ScalableMemoryAllocator) engine() *heap.Heap { return (*heap.Heap)(a) }

// MisuseError is a refused Free: Addr and Size name the range, and errors.Is
// tells which of ErrDoubleFree, ErrNotOwned and ErrInvalidSize it was.
type MisuseError = heap.MisuseError

// NewScalableMemoryAllocator returns an allocator whose first chunk will have
// size bytes, or the default if size is not positive. It maps nothing before the
// first Malloc; an allocator that is never used costs a few hundred bytes.
func NewScalableMemoryAllocator(size int, opts ...Option) *ScalableMemoryAllocator {
	s := asBuilt()
	if s.Size = size; size <= 0 {
		s.Size = defaultChunk
	}
	for _, o := range opts {
		if o != nil {
			o(s)
		}
	}
	a := new(ScalableMemoryAllocator)
	a.engine().Init(s.config())
	return a
}

const defaultChunk = 64 << 10

// Malloc returns n bytes, owned until freed, with cap == len. They are not
// zeroed: they hold what their last user left. Aligned to 16 bytes, or as the
// placement says; those of a nil allocator as the Go heap has them.
//
// nil if n is negative, memory is exhausted, the limit is reached or the
// allocator is closed; TryMalloc tells which. An empty slice that needs no Free
// if n is 0. O(1) with the default placement; maps a chunk when all are full.
func (a *ScalableMemoryAllocator) Malloc(n int) []byte { return a.engine().Malloc(n) }

// TryMalloc is Malloc with the reason when there is nothing to return:
// ErrInvalidSize for a negative n, ErrLimit, ErrClosed, or an error that wraps
// ErrOutOfMemory and the system's errno. Then nothing has changed.
func (a *ScalableMemoryAllocator) TryMalloc(n int) ([]byte, error) { return a.engine().TryMalloc(n) }

// MallocAligned is TryMalloc with the address a multiple of align, a power of
// two up to 4096; any other is ErrInvalidSize.
func (a *ScalableMemoryAllocator) MallocAligned(n, align int) ([]byte, error) {
	switch {
	case align <= 0 || align&(align-1) != 0 || align > maxAlign:
		return nil, fmt.Errorf("gomem: MallocAligned(%d, %d): %w: alignment", n, align, ErrInvalidSize)
	case n <= 0:
		return a.TryMalloc(n)
	case a != nil:
		return a.engine().MallocAligned(n, align)
	}
	b, err := a.TryMalloc(n + min(align, math.MaxInt-n))
	if err != nil {
		return nil, err
	}
	// Safety: the address is only measured; the Go heap does not move (runtime
	// assumption 5).
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(align-1))
	return b[skip : skip+n : skip+n], nil
}

const maxAlign = 4096

// Free gives back b, a block or any part of one that is still live, and
// returns true. It returns true and does nothing for an empty b, which needs no
// Free. It returns false and changes nothing if any byte of b is not live
// memory of this allocator, and for every b if a is nil. O(1) with the default
// placement; never allocates for a whole block. The first part of a block of 4 to
// 64 KiB, after a run of such blocks that were freed whole, may keep the
// allocator's other users waiting for some ten microseconds.
func (a *ScalableMemoryAllocator) Free(b []byte) bool { return a.engine().Free(b) }

// FreeRest frees all of *b behind its first keep bytes and shortens *b, and
// its capacity, to them. If the free is refused, or keep is not within *b, it
// changes nothing.
func (a *ScalableMemoryAllocator) FreeRest(b *[]byte, keep int) {
	if b == nil || keep < 0 || keep > len(*b) {
		if a != nil && b != nil {
			a.engine().Refuse(*b, fmt.Errorf("%w: FreeRest keeps %d of %d bytes", ErrInvalidSize, keep, len(*b)))
		}
		return
	}
	if a == nil || keep == len(*b) || a.Free((*b)[keep:]) {
		*b = (*b)[:keep:keep]
	}
}

// Borrow returns n bytes that nobody owns: a borrow until the next allocation
// from this allocator, by any goroutine. Do not free it. It counts in no
// statistic. nil as Malloc.
func (a *ScalableMemoryAllocator) Borrow(n int) []byte { return a.engine().Borrow(n) }

// Read reads once from r into n bytes of new memory and returns what arrived,
// owned; the rest is free again. Bytes that arrive together with an error are
// returned with it. With nothing to return the slice is nil and nothing is
// left to free, also when r panics.
//
// The error is that of r or of [ScalableMemoryAllocator.TryMalloc]; for a reader
// that returns a count outside [0, n] it wraps both [ErrInvalidRead], as from a
// [BufReader], and [ErrInvalidSize].
func (a *ScalableMemoryAllocator) Read(r io.Reader, n int) (b []byte, err error) {
	b, err = a.TryMalloc(n)
	if err != nil {
		return nil, err
	}
	whole := b
	defer func() {
		if b == nil {
			a.Free(whole)
		}
	}()
	b = nil
	got, err := r.Read(whole)
	switch {
	case got < 0 || got > n:
		return nil, fmt.Errorf("gomem: Read: %w: %w: %d for %d bytes", ErrInvalidRead, ErrInvalidSize, got, n)
	case got == 0:
		return nil, err
	}
	b = whole
	a.FreeRest(&b, got)
	return b, err
}

// Recycle gives back all memory, live or not, and leaves the allocator ready
// for use. No slice from before may be used or freed afterwards.
func (a *ScalableMemoryAllocator) Recycle() {
	if a != nil {
		// What the system will not take back stays mapped; Close tells.
		_ = a.engine().Reset()
	}
}

// Close gives back all memory, live or not. From then on no byte is handed out, which
// TryMalloc answers with ErrClosed, and none is taken back: Free returns false. It
// returns what the backing says, and if that did not take everything back another Close
// tries again. Otherwise that is ErrClosed, too.
func (a *ScalableMemoryAllocator) Close() error {
	if a == nil {
		return nil
	}
	return a.engine().Close()
}

// Trim gives back every chunk that holds no block, but for one that a Borrow may still
// be looking at. Without it that happens by itself, but for one chunk, within a second
// after a peak.
func (a *ScalableMemoryAllocator) Trim() {
	if a != nil {
		_ = a.engine().Trim()
	}
}

// Verify checks every invariant of the allocator's structures and returns the
// first that does not hold. It stops the allocator meanwhile; O(all blocks).
func (a *ScalableMemoryAllocator) Verify() error {
	if a == nil {
		return nil
	}
	return a.engine().Verify()
}

// Stats are the figures of an allocator, of one moment if nobody uses it meanwhile.
type Stats = heap.Stats

// Stats returns the allocator's figures, none if a is nil. While others allocate,
// their last few operations may be missing. O(processors).
func (a *ScalableMemoryAllocator) Stats() Stats { return a.engine().Stats() }

// GetTotalMalloc is how many bytes have been requested so far.
func (a *ScalableMemoryAllocator) GetTotalMalloc() int64 {
	if a == nil {
		return 0
	}
	malloced, _ := a.engine().Totals()
	return int64(malloced)
}

// GetTotalFree is how many bytes have been given back so far.
func (a *ScalableMemoryAllocator) GetTotalFree() int64 {
	if a == nil {
		return 0
	}
	_, freed := a.engine().Totals()
	return int64(freed)
}

// GetChildren returns a snapshot of each chunk: its size and its free blocks.
// The snapshots are the caller's: they neither hand out nor take back memory, and do
// not change with the allocator. Slots for small blocks count as taken. nil if
// there are no chunks. O(free blocks).
func (a *ScalableMemoryAllocator) GetChildren() []*MemoryAllocator {
	if a == nil {
		return nil
	}
	var children []*MemoryAllocator
	for c := range a.engine().Chunks() {
		children = append(children, newChildView(len(c.Mem), c.Free))
	}
	return children
}

// GetAllocator returns a. It lets a type that embeds the allocator pass for
// one.
func (a *ScalableMemoryAllocator) GetAllocator() *ScalableMemoryAllocator { return a }
