package gomem

import (
	"math"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/heap"
	"github.com/gomem-go/gomem/offset"
)

// Option sets a property of a [ScalableMemoryAllocator] when it is made. The
// build tags twotree, enable_buddy and enable_mmap only change the defaults:
// one program can use allocators of every kind.
type Option func(*settings)

// settings is what the options say.
type settings struct {
	heap.Config
	pooled bool // chunks come from the pool over Source
}

// unused has settings for the next allocator, so that one for a short time costs less.
var unused = NewPool(func() *settings { return new(settings) })

// asBuilt makes s, which is zero, the settings that the build tags make the default.
func (s *settings) asBuilt() {
	s.pooled = defaultPooled
	s.Debug = debugAsBuilt()
	if s.Source = backing.Heap(); defaultMmap {
		s.Source = backing.Mmap()
	}
	defaultPlacement.config(s)
}

// config is the settings of the engine.
func (s *settings) config() heap.Config {
	c := s.Config
	if s.pooled {
		c.Source = poolOver(c.Source)
	}
	_, c.Buddies = c.Source.(*chunkPool)
	return c
}

// Placement is how an allocator finds room in its chunks.
type Placement int

const (
	// SizeClasses is the default, unless the build tag twotree makes TwoTree the
	// default. Blocks up to 64 KiB come from slots of 84 size classes, through
	// caches per processor, and larger ones from TLSF; a chunk that was mapped for
	// one large block keeps a list of the few blocks it holds instead. Aligned to
	// 16 bytes; O(1). A block must be smaller than 128 GiB.
	SizeClasses Placement = iota
	// TLSF is two-level segregated fit for blocks of every size, in granules of 16
	// bytes, which is also the alignment. O(1). A block must be smaller than 32
	// GiB.
	TLSF
	// SingleTree is one treap by offset: exact to the byte, so no byte is
	// lost to rounding and addresses are not aligned. O(log n) expected.
	SingleTree
	// TwoTree is two AVL trees, by size and by offset: best fit, exact to the
	// byte, not aligned. O(log n).
	TwoTree
)

// granules are the units of placement by TLSF, in bytes: for every block, and
// where slots serve the small ones.
const (
	tlsfGranule  = 16
	largeGranule = 64
)

// maxGranules is how many a TLSF can have, and with it all that one chunk can hold.
const maxGranules = 1<<31 - 1

func (p Placement) config(c *settings) {
	c.Spans, c.Few, c.MaxChunk = false, nil, 0
	switch p {
	case SingleTree:
		c.Placement = func(size int) offset.Allocator { return offset.NewSingleTree(size) }
	case TwoTree:
		c.Placement = func(size int) offset.Allocator { return offset.NewTwoTree(size) }
	case TLSF:
		c.MaxChunk = min(maxGranules*tlsfGranule, math.MaxInt)
		c.Placement = func(size int) offset.Allocator { return offset.NewTLSF(size, tlsfGranule) }
	default:
		c.Spans, c.MaxChunk = true, min(maxGranules*largeGranule, math.MaxInt)
		c.Placement = func(size int) offset.Allocator { return offset.NewTLSF(size, largeGranule) }
		c.Few = func(size int) offset.Allocator { return offset.NewFew(size, largeGranule) }
	}
}

// WithPlacement chooses how the allocator finds room. An unknown placement is
// SizeClasses.
func WithPlacement(p Placement) Option { return p.config }

// WithBacking chooses where chunks come from: backing.Heap(), backing.Mmap()
// or a source of your own. It also maps each chunk from there individually,
// unless a later WithPooledChunks says otherwise. A nil src changes nothing. What
// src returns is checked as backing.Map does. A source of your own must not allocate from
// the allocator, and may free its blocks only if the allocator writes no trace.
//
// What an allocator gives back to backing.Heap(), the default, is garbage: the system
// gets it only after the next collections, which a program that has become quiet may not
// run for seconds or minutes; a chunk with a single live block keeps all its memory.
// backing.Mmap() gives empty chunks to the system at once and, with Trim or after a
// while, the free pages of others.
func WithBacking(src backing.Source) Option {
	return func(c *settings) {
		if src != nil {
			c.Source, c.pooled = src, false
		}
	}
}

// WithPooledChunks chooses, overriding the build tag enable_buddy, whether
// chunks up to MaxBlockSize are cut as buddies from segments of 8 MiB that the
// allocators of the process share. Over mmap this saves short-lived allocators most
// calls to the system if their chunks are small, and half of them if chunks of 4 MiB
// come and go together. In return chunks are rounded up to a power of two, and cleared
// before they are used again. If the source is neither backing.Heap() nor
// backing.Mmap(), for example backing.Mmap(backing.HugePages()), the pool belongs to
// this allocator alone, and gives a segment back as soon as nothing in it is mapped; to
// share such a pool see [NewChunkPool]. Stats and WithMaxBytes count the chunks, not the
// segments.
func WithPooledChunks(on bool) Option { return func(c *settings) { c.pooled = on } }

// WithMaxBytes bounds the bytes that the allocator asks its source for, in multiples of
// 64. What the source adds is not counted, here or in Stats: the rounding of each chunk
// to whole pages, and guard pages. The bound is never exceeded: a Malloc that would need
// more fails with ErrLimit. With the default placement a block above 256 KiB that gets a
// chunk to itself takes 16 KiB more than its size, if the limit leaves that much.
//
// Before it fails, Malloc looks for memory in the caches of all processors, which stops
// all goroutines for 20 to 50 µs. After a search in vain it searches again only once the
// live bytes have fallen by what it needs (after more searches in vain by twice that, and
// so on), or once a 64th of the mapped bytes was freed; in a small heap, 1 MiB or a
// quarter of them if that is less. So a cache may run at its limit and free its oldest
// block each time it is refused one.
//
// n <= 0 means no bound but [math.MaxInt], past which a Malloc fails with
// ErrOutOfMemory: a 32-bit system may have more than those 2 GiB.
func WithMaxBytes(n int) Option { return func(c *settings) { c.MaxBytes = max(n, 0) } }

// WithMisuse makes the allocator call f with each refused free, after its lock
// is released, on the goroutine that called Free. The error is a [*MisuseError].
// If f panics, misuse is fatal. Without WithMisuse a refused free is only
// counted in [Stats], and Free returns false.
//
// If two goroutines free a block at once, one free wins; the other is refused, or only
// counted in Stats.Raced, of which f is not told. If one of them frees a part of the
// block, both may be accepted, and counted in Stats.Freed.
func WithMisuse(f func(error)) Option { return func(c *settings) { c.Misuse = f } }
