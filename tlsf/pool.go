package tlsf

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/check"
	"github.com/gomem-go/gomem/offset"
)

// Pool is a fixed range of memory and the blocks in it. The package comment
// says what it is for and what may not be stored in it.
//
// Invariants, besides those of the placement (Verify checks them):
//
//   - the placement covers the mapping, or nothing once the pool is closed
//   - allocs - frees is the number of live blocks
//   - Size - Free is exactly the number of bytes that the live blocks asked for
//
// A Pool belongs to one goroutine at a time, unless made [WithLock]. The zero value
// is a closed pool.
type Pool struct {
	place offset.TLSF // a value, so that its tables are one load nearer
	mem   []byte      // the mapping; nil once closed
	base  uintptr     // its address, to find the offset of a slice

	shared bool
	mu     sync.Mutex // held by every method if shared

	allocs, frees   uint64
	failed, misuses uint64
	peak            int // the most bytes in use so far

	src backing.Source // nil once closed
}

func (p *Pool) closed() bool { return p.src == nil }

const (
	// granule is the unit of placement and the alignment of every block. A
	// larger one, up to maxGranule, serves pools with more than maxGranules.
	granule     = 16
	maxGranule  = 64
	maxGranules = 1<<31 - 1

	maxInt = int(^uint(0) >> 1)
)

func roundUp(n, to int) int { return (n + to - 1) &^ (to - 1) }

// New makes a pool of size bytes, rounded up to a multiple of 16, or of 32 or 64 for the
// largest. All these bytes are for blocks: the tables lie beside them, on the Go heap.
//
// size must be positive and at most 128 GiB less 64 bytes, or New returns
// ErrInvalidSize; if the memory is not available, or not what a [backing.Source] has to
// return, it returns ErrOutOfMemory. Without options the memory comes from the Go heap and,
// like any slice, lives as long as something refers to it. O(1), apart from the
// work of the system and of the options.
func New(size int, opts ...Option) (*Pool, error) {
	var c config
	for _, opt := range opts {
		if opt != nil {
			opt(&c)
		}
	}
	unit := granule
	for unit < maxGranule && (size-1)/unit >= maxGranules {
		unit *= 2
	}
	if size <= 0 || (size-1)/unit >= maxGranules || size > maxInt-unit {
		return nil, fmt.Errorf("tlsf: pool of %d bytes: %w", size, ErrInvalidSize)
	}
	size = roundUp(size, unit)
	src := c.source()
	mem, err := backing.Map(src, size)
	if err != nil {
		return nil, fmt.Errorf("tlsf: pool of %d bytes: %w", size, err)
	}
	p := &Pool{
		place:  *offset.NewTLSF(size, unit),
		mem:    mem,
		base:   address(mem),
		src:    src,
		shared: c.shared,
	}
	p.prepare(&c)
	backing.Poison(mem)
	return p, nil
}

// prepare grows the tables, and touches them and the memory, as far as asked.
func (p *Pool) prepare(c *config) {
	if c.blocks > 0 || c.populate {
		p.place.Reserve(c.blocks)
	}
	if !c.populate {
		return
	}
	for i := 0; i < len(p.mem); i += p.src.PageSize() {
		p.mem[i] = 0
	}
	// Taking and giving back blocks writes to every page of the nodes.
	for range c.blocks {
		if p.place.Allocate(1) < 0 {
			break
		}
	}
	p.place.Reset()
	// A block that grows over the pool leaves an entry of four bytes on each page of the
	// table from granules to nodes, and writes to each of the bitmaps of starts.
	step := p.place.Granule() * os.Getpagesize() / 4
	at, size := p.place.Allocate(1), 1
	for to := step; to < len(p.mem) && p.place.Resize(at, size, to); to += step {
		size = to
	}
	p.place.Reset()
}

// Alloc returns a block of n bytes with cap == len == n, aligned to 16 and not
// zeroed: it holds what its last user left. The caller owns it until it is
// freed. Alloc(0) returns an empty slice that needs no Free.
//
// The error is ErrBlockNotFound if no free block is large enough: TLSF looks
// only in the classes whose blocks all fit, and so may miss a block that is up
// to 1/32 larger than n. It is ErrInvalidSize for a negative n, and ErrClosed
// after Close. O(1), or O(blocks) and an allocation to grow a table, see [WithBlocks].
func (p *Pool) Alloc(n int) ([]byte, error) {
	// No call but those in a return, so that nothing is held over one: this is
	// half of the hot path.
	if p.shared {
		return p.allocLocked(n)
	}
	if at := p.place.Allocate(n); at >= 0 {
		return p.issue(at, n), nil
	}
	return p.noBlock(n)
}

// allocLocked has one way out instead of a defer, which would show.
func (p *Pool) allocLocked(n int) (b []byte, err error) {
	p.mu.Lock()
	if at := p.place.Allocate(n); at >= 0 {
		b = p.issue(at, n)
	} else {
		b, err = p.noBlock(n)
	}
	p.mu.Unlock()
	return b, err
}

// used is the bytes that live blocks asked for.
func (p *Pool) used() int { return len(p.mem) - p.place.FreeBytes() }

// issue accounts for the n bytes at offset at and makes a slice of them.
func (p *Pool) issue(at, n int) []byte {
	p.allocs++
	p.peak = max(p.peak, p.used())
	b := p.mem[at : at+n : at+n]
	backing.Unpoison(b)
	if check.Enabled {
		check.Must(p.verify())
	}
	return b
}

// noBlock says why there is no block of n bytes.
func (p *Pool) noBlock(n int) ([]byte, error) {
	switch {
	case p.closed():
		return nil, ErrClosed
	case n == 0:
		return []byte{}, nil
	case n < 0:
		return nil, fmt.Errorf("tlsf: block of %d bytes: %w", n, ErrInvalidSize)
	}
	p.failed++
	return nil, ErrBlockNotFound
}

// AllocAligned is Alloc with the first byte on a multiple of align, a power of
// two up to the page size of the backing; ErrInvalidSize for any other align.
// The gap before the block stays free. It looks at three free blocks at most,
// so it may miss one that would fit. O(1).
func (p *Pool) AllocAligned(n, align int) ([]byte, error) {
	if p.shared {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	if p.closed() {
		return nil, ErrClosed
	}
	if align <= 0 || align&(align-1) != 0 || align > p.src.PageSize() {
		return nil, fmt.Errorf("tlsf: AllocAligned(%d, %d): %w: alignment", n, align, ErrInvalidSize)
	}
	at := p.place.AllocateAligned(n, align)
	if at < 0 {
		return p.noBlock(n)
	}
	return p.issue(at, n), nil
}

// Free gives back a block: b as Alloc returned it, or shortened by reslicing,
// as long as its first byte and its capacity are those of the block. A nil
// slice, or an empty one without capacity, is accepted and does nothing. In any case the
// whole block is freed, whereas package gomem frees only the bytes of the slice.
//
// Anything else is refused with a [*RangeError] and no change of state:
// ErrDoubleFree if it lies in free memory, ErrNotOwned if it is not exactly a
// block of this pool; ErrClosed if the pool is closed. O(1); only a refusal
// allocates, for its error.
func (p *Pool) Free(b []byte) error {
	if cap(b) == 0 {
		return nil
	}
	if p.shared {
		return p.freeLocked(b)
	}
	at, n := p.offset(address(b)), cap(b)
	if !p.place.FreeBlock(at, n) {
		return p.refuse(at, n)
	}
	p.frees++
	p.dead(at, n)
	return nil
}

func (p *Pool) freeLocked(b []byte) (err error) {
	p.mu.Lock()
	at, n := p.offset(address(b)), cap(b)
	if p.place.FreeBlock(at, n) {
		p.frees++
		p.dead(at, n)
	} else {
		err = p.refuse(at, n)
	}
	p.mu.Unlock()
	return err
}

// FreePointer is Free for the block that starts at ptr, whatever its length.
// A nil ptr is accepted and does nothing.
func (p *Pool) FreePointer(ptr unsafe.Pointer) error {
	if p.shared {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	_, err := p.freePointer(ptr)
	return err
}

// freePointer returns the length of the block it freed, 0 for nil.
func (p *Pool) freePointer(ptr unsafe.Pointer) (int, error) {
	if ptr == nil {
		return 0, nil
	}
	// Safety: the address is compared, never followed.
	at := p.offset(uintptr(ptr))
	n, ok := p.place.BlockSize(at)
	if !ok {
		return 0, p.refuse(at, 1)
	}
	return n, p.take(at, n)
}

// take gives back the live block [at, at+n).
func (p *Pool) take(at, n int) error {
	if err := p.place.Free(at, n); err != nil {
		return err
	}
	p.frees++
	p.dead(at, n)
	return nil
}

// dead makes the n bytes at offset at, which were just freed, and the slack
// behind them unusable as far as the build can.
func (p *Pool) dead(at, n int) {
	if !check.Enabled && !backing.Poisons {
		return
	}
	gone := p.mem[at:roundUp(at+n, p.place.Granule())]
	if check.Enabled {
		check.Must(p.verify())
		backing.Unpoison(gone) // the slack
		for i := range gone {
			gone[i] = deadByte
		}
	}
	backing.Poison(gone)
}

// deadByte is what freed memory is filled with under gomem_debug.
const deadByte = 0xdf

// Resize changes the length of block b to n and returns it, with the contents
// up to the smaller of the two lengths. The block stays where it is if it
// shrinks or if there is room behind it; otherwise the contents move to
// another block and b is freed. Either way b must not be used any more. Bytes
// that are added are not zeroed. If b has no capacity, Resize is Alloc.
//
// Errors are those of Alloc and Free, and ErrInvalidSize for n < 1; b is then
// live and unchanged. O(1) in place, else O(n).
func (p *Pool) Resize(b []byte, n int) ([]byte, error) {
	if p.shared {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	switch {
	case p.closed():
		return nil, ErrClosed
	case n <= 0:
		return nil, fmt.Errorf("tlsf: Resize to %d bytes: %w", n, ErrInvalidSize)
	}
	at, old := 0, cap(b)
	if old > 0 {
		at = p.offset(address(b))
		if size, ok := p.place.BlockSize(at); !ok || size != old {
			return nil, p.refuse(at, old)
		}
		if p.place.Resize(at, old, n) {
			return p.resized(at, old, n), nil
		}
	}
	to := p.place.Allocate(n)
	if to < 0 {
		return p.noBlock(n)
	}
	moved := p.issue(to, n)
	if old == 0 {
		return moved, nil
	}
	copy(moved, b[:old])
	return moved, p.take(at, old)
}

// resized accounts for the block at offset at that went from old to n bytes
// where it lies, and makes a slice of it.
func (p *Pool) resized(at, old, n int) []byte {
	if n < old {
		p.dead(at+n, old-n)
	}
	p.peak = max(p.peak, p.used())
	b := p.mem[at : at+n : at+n]
	backing.Unpoison(b)
	if check.Enabled {
		check.Must(p.verify())
	}
	return b
}

// address is where b starts, as a number.
func address(b []byte) uintptr {
	// Safety: compared with the mapping's address, never turned back into a
	// pointer. A pool's memory does not move: it is a mapping or a heap object
	// (runtime assumption 5).
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// offset is where addr lies in the pool, -1 if it does not.
func (p *Pool) offset(addr uintptr) int {
	at := addr - p.base
	if at >= uintptr(len(p.mem)) {
		return -1
	}
	return int(at)
}

// refuse counts a free of [at, at+n) that is none, and says why.
func (p *Pool) refuse(at, n int) error {
	if p.closed() {
		return ErrClosed
	}
	p.misuses++
	bad := &RangeError{Range: Block{Start: at, End: at + n}, Err: ErrNotOwned}
	if at < 0 {
		bad.Range = Block{}
		return bad
	}
	if block, live := p.place.At(at); !live {
		bad.Err, bad.Conflict = ErrDoubleFree, block
	}
	return bad
}
