package gomem

import (
	"fmt"
	"io"
	"math"
	"unsafe"

	"github.com/gomem-go/gomem/internal/heap"
)

// ScalableMemoryAllocator hands out byte slices from memory that it maps in
// chunks. It maps more chunks when they are full, and gives them back when
// they are empty.
//
// Any goroutine may call any method at any time, and may free what another has
// allocated; only Recycle and Close must come after all other use. With the default
// placement, blocks of up to 64 KiB are taken from caches per processor and returned
// to them, nearly always without a lock, and without an atomic instruction if a block
// is freed as a whole where it was allocated. The first 1,024 of these blocks, the
// first of each size and those of a size whose blocks are freed in parts may take the
// allocator's lock, as larger blocks and the other placements do. The package comment
// of internal/heap describes how.
//
// Memory is owned from Malloc to Free. Free takes a block or any part of one, in any
// order and exact to the byte. A free of memory that is not live is refused: Free
// returns false, nothing changes, and the event is counted and reported to
// [WithMisuse]. Any part of a block above 32 KiB is reusable at once, and so is the
// end of a block of 4 to 32 KiB if it is cut off before the next one is allocated,
// except for less than 64 bytes at each end of the range. Other parts of such a block,
// and any part of one up to 4 KiB, are reusable once the last byte of the block is freed;
// parts of a block above 4 KiB also before the allocator grows, if little is left of it
// and of the blocks beside it. With the other placements every part is reusable at once,
// with TLSF in granules of 16 bytes.
//
// A block above 256 KiB for which there is no room gets a chunk of its own. If the
// block's end is cut off, the room serves smaller blocks, but not a second one of that
// size. So when more than twice the live bytes are mapped, such a chunk has room for two:
// a program that reads into large blocks and keeps a part of each maps about twice what
// it keeps, plus a few of those blocks, if the parts are freed in about that order. If
// they are freed at random, the gaps between them seldom have room for the next block:
// with blocks of 1 MiB, 35 KiB kept of each, the program maps nine times what it keeps,
// with every placement.
//
// A nil *ScalableMemoryAllocator is valid: it allocates from the Go heap and frees
// nothing. The zero value is invalid: Malloc, Borrow and Free of it panic. Do not recover
// and go on; a lock may be held. Use [NewScalableMemoryAllocator].
type ScalableMemoryAllocator heap.Heap

// engine is a as the heap that it is; nil stays nil.
func (a *ScalableMemoryAllocator) engine() *heap.Heap { return (*heap.Heap)(a) }

// MisuseError is a refused Free or, in debug mode, a frame that was released too often.
// Addr and Size name the range. errors.Is tells which it was: ErrDoubleFree, ErrNotOwned
// or ErrInvalidSize, or for a frame ErrReleased. A Free after Close is both ErrNotOwned and
// ErrClosed.
//
//	Addr uintptr // of the first byte; 0 for a frame that was released too often
//	Size int     // bytes
//	Err  error   // ErrDoubleFree, ErrNotOwned, ErrInvalidSize or ErrReleased, or an error that wraps one
type MisuseError = heap.MisuseError

// NewScalableMemoryAllocator returns an allocator whose first chunk will have
// size bytes, rounded up, or a default size if size is not positive. A first block above
// 256 KiB that is larger than this chunk gets a chunk of its own size. The allocator maps
// nothing before the first Malloc; if it is never used it costs less than 1 KB.
func NewScalableMemoryAllocator(size int, opts ...Option) *ScalableMemoryAllocator {
	s := unused.Get()
	s.asBuilt()
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
	*s = settings{}
	unused.Put(s)
	return a
}

const defaultChunk = 64 << 10

// Malloc returns n bytes, owned until freed, with cap == len. They are not
// zeroed: they hold what their last user left. They are aligned to 16 bytes,
// or as the placement says; those of a nil allocator are aligned as the Go
// heap does it.
//
// Malloc returns nil if n is negative, memory is exhausted, the limit is
// reached or the allocator is closed; TryMalloc tells which. With memory from the Go
// heap, the default, exhaustion ends the program instead, as with make, unless
// WithMaxBytes stops the request before. If n is 0 it returns an empty slice that needs
// no Free, closed or not. O(1) with the default placement;
// maps a chunk when all are full.
func (a *ScalableMemoryAllocator) Malloc(n int) []byte { return a.engine().Malloc(n) }

// TryMalloc is Malloc with the reason when there is nothing to return:
// ErrInvalidSize for a negative n, ErrLimit, ErrClosed, or an error that wraps
// ErrOutOfMemory and the system's errno. On error nothing has changed.
func (a *ScalableMemoryAllocator) TryMalloc(n int) ([]byte, error) { return a.engine().TryMalloc(n) }

// MallocAligned is TryMalloc with the address a multiple of align, a power of
// two up to 4096. Any other align is ErrInvalidSize. With the default placement most
// blocks of up to 64 KiB at multiples of 32 or 64 take slots, as rarely under a lock as
// those of TryMalloc; for larger multiples slots of few sizes serve, and other blocks are
// placed one by one, as larger ones are.
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

// Free gives back b, a block or any part of one that is still live, and returns
// true. It returns true and does nothing for an empty b, which needs no Free. It returns
// false and changes nothing if any byte of b is not live memory of this allocator. If a
// is nil it returns false for every b. O(1) with the default placement, but O(blocks of
// the chunk) where parts of a large block need a larger table; never allocates for a
// whole block. The first partial free after a run of whole frees may pause all goroutines
// for about 10 µs, if the block has 4 to 64 KiB and was allocated on another processor.
// Partial frees of older blocks of its size may do so again, once for each 256 KiB of
// them or less; blocks allocated from then on are placed otherwise.
//
// Free(b[:n]) frees n bytes, and Free(b[:0]) none: to free a resliced block, call
// Free(b[:cap(b)]).
func (a *ScalableMemoryAllocator) Free(b []byte) bool { return a.engine().Free(b) }

// FreeRest frees all of *b after its first keep bytes and shortens *b, and its capacity,
// to those. If the free is refused, for example because *b is not this allocator's, *b is
// shortened all the same, and nothing is freed. If keep is not within *b, nothing
// changes. Either is counted and reported as for Free.
func (a *ScalableMemoryAllocator) FreeRest(b *[]byte, keep int) {
	if b == nil || keep < 0 || keep > len(*b) {
		if a != nil && b != nil {
			a.engine().Refuse(*b, fmt.Errorf("%w: FreeRest keeps %d of %d bytes", ErrInvalidSize, keep, len(*b)))
		}
		return
	}
	if a != nil && keep < len(*b) {
		a.Free((*b)[keep:])
	}
	*b = (*b)[:keep:keep]
}

// Borrow returns n bytes that nobody owns: a borrow. It is valid until the next
// Malloc (even a failed one) or Borrow by any goroutine, and only while the allocator is
// reachable: once it is garbage, its mmap chunks are unmapped. Do not free a borrow. It
// does not count as allocated, freed or live. Borrow returns nil in the same cases as
// Malloc.
func (a *ScalableMemoryAllocator) Borrow(n int) []byte { return a.engine().Borrow(n) }

// Read reads once from r into n bytes of new memory and returns what arrived,
// owned; the rest is free again. Bytes that arrive together with an error are
// returned with it. If nothing arrived, the slice is nil and there is nothing
// left to free, also when r panics.
//
// The error is that of r or of [ScalableMemoryAllocator.TryMalloc]. If r returns
// a count outside [0, n], the error wraps both [ErrInvalidRead], as from a
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
		return nil, fmt.Errorf("gomem: Read: %w: %w", ErrInvalidSize, invalidRead(got, n))
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

// Close gives back all memory, live or not. From then on no memory is handed out
// (TryMalloc returns ErrClosed) and none is taken back (Free returns false, and what
// [WithMisuse] gets is both ErrNotOwned and ErrClosed). Close returns the error of the
// backing; if the backing did not take everything back, another Close tries again.
// Otherwise another Close returns ErrClosed.
func (a *ScalableMemoryAllocator) Close() error {
	if a == nil {
		return nil
	}
	return a.engine().Close()
}

// Trim gives back every chunk that holds no block, and of the others the pages in free
// ranges of 16 KiB or more, the largest 512 of each chunk; those stay mapped and count in
// Stats. Memory that an outstanding borrow may point into stays: that of the last borrow on
// each processor until the next Malloc there, that of one above 64 KiB until the next
// Malloc anywhere. Without Trim, all but one of the empty chunks are given back within a
// second after a peak, and after some ten seconds the free pages of chunks in which nothing
// is placed any more. Chunks of the default backing become garbage: the system gets them
// after the next collections, or at once with [runtime/debug.FreeOSMemory]; their free
// pages stay. O(bytes) at most, most of it without a lock; it ends early when somebody
// waits for memory that is being given back.
func (a *ScalableMemoryAllocator) Trim() {
	if a != nil {
		_ = a.engine().Trim()
	}
}

// Verify checks every invariant of the allocator's structures and returns the
// first that does not hold. The allocator is stopped meanwhile. O(all
// blocks).
func (a *ScalableMemoryAllocator) Verify() error {
	if a == nil {
		return nil
	}
	return a.engine().Verify()
}

// Stats are the figures of an allocator, in bytes unless stated otherwise. They are
// a consistent snapshot only if nobody uses the allocator while they are read. What the
// backing adds to a chunk, to fill its last page or as guard pages, is not counted.
//
//	Malloced    uint64 // requested since the start
//	Freed       uint64 // given back since the start
//	Live        int    // requested and not given back
//	Backing     int    // mapped
//	PeakBacking int    // most of Backing so far
//	Chunks      int    // number of mappings
//	EmptyChunks int    // of them, without a block
//	Spans       int    // number of spans, runs of slots for small blocks
//	Failed      uint64 // number of requests for which there was no memory: the limit was reached, the system had no more, or the allocator was closed
//	Refused     uint64 // number of frees that were refused
//	Raced       uint64 // number of frees that lost to another of the same block at the same moment and were not refused; Freed has their bytes twice. If the one that lost was of a part, Freed has its bytes twice, but Raced does not count it
//	Sampled     uint64 // number of blocks that went to the sampled guard
//	Unguarded   uint64 // number of times that there was no mapping for guard pages
//	Damaged     uint64 // number of times that a guard found bytes written that nobody owned
type Stats = heap.Stats

// Stats returns the allocator's figures, all zero if a is nil. While others
// allocate, their last few operations may be missing. O(processors).
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
// The snapshots belong to the caller: they neither hand out nor take back memory,
// and do not change with the allocator. Slots for small blocks count as taken. The
// result is nil if there are no chunks, as before the first Malloc. O(free blocks).
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

// GetAllocator returns a. With it a type that embeds the allocator can stand
// for one.
func (a *ScalableMemoryAllocator) GetAllocator() *ScalableMemoryAllocator { return a }
