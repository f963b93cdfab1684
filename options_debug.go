package gomem

import (
	"github.com/gomem-go/gomem/internal/check"
	"github.com/gomem-go/gomem/internal/guard"
	"github.com/gomem-go/gomem/internal/heap"
)

// The errors of debug mode and of the sampled guard, beside those of the
// allocator; compare with errors.Is. They arrive in a [*BlockError].
var (
	// ErrOverrun: bytes in front of a block or behind it were written.
	ErrOverrun = heap.ErrOverrun
	// ErrUseAfterFree: bytes were written after they had been freed.
	ErrUseAfterFree = heap.ErrUseAfterFree
)

// DebugOptions configures debug mode; the zero value is a good start.
//
//	Quarantine int  // bytes kept from reuse after their free; 0: 1 MiB, negative: none
//	GuardPages bool // each block ends at an inaccessible page, and becomes one when freed
//	StackDepth int  // frames kept of each stack, at most 1,024; 0: 16, negative: none
//	Quiet      bool // live blocks at Close are not an error
type DebugOptions = heap.Debug

// BlockError is what debug mode or the sampled guard found out about one block:
// what is wrong, at which byte, and the stacks of its allocation and its frees.
// For a refused free errors.As finds it in the [*MisuseError]; damage is
// reported as a BlockError directly. After a fault, Explain returns one for the
// address.
//
//	Err    error        // what is wrong; errors.Is finds it
//	Addr   uintptr      // of the block
//	Size   int          // of the block, in bytes as requested
//	At     int          // the first byte concerned, counted from the block's first
//	Events []BlockEvent // where the block was allocated and freed, in that order
type BlockError = guard.Error

// BlockEvent is one of the events of a [BlockError]: an allocation or a free,
// and its call stack, which prints as functions, files and lines.
//
//	What  string    // "allocated", "freed", "first freed", "this free"
//	Stack []uintptr // with a method String
type BlockEvent = guard.Event

// LeakError is the error of Close in debug mode if there are live blocks: how
// many, how many bytes they have, and where they were allocated.
//
//	Blocks, Bytes int    // in all
//	Leaks         []Leak // by place of allocation, most bytes first
//
// Each of Leaks has Blocks, Bytes, and the Stack of the allocation.
type LeakError = guard.LeakError

// WithDebug watches every block of the allocator:
//
//   - The report of a refused free says where it happened, and where the block was
//     allocated and first freed, as long as it is live or in quarantine.
//   - Red zones on both sides of a block are checked whenever a part of it is
//     freed, exactly to the byte, and by Verify.
//   - Freed memory is filled with 0xDB and kept from reuse, in quarantine, until
//     more than Quarantine bytes are there, or nothing was freed for half a
//     second, or Trim is called, or its guard pages are needed. Then it is checked
//     that nobody wrote to it. A
//     second free of memory in quarantine is always refused: it cannot have been
//     handed out again.
//   - GuardPages puts each block at the end of a mapping of its own. Running off its end
//     then faults, and so does any use after its last byte was freed. The up to 15 bytes
//     behind a block that its alignment leaves, or more for a larger alignment, are not
//     guarded. If the system refuses the mapping, or 16,384 blocks of the process have
//     one, the block is placed among the others, and Stats counts it.
//   - Close returns a [*LeakError] if anything is live, unless Quiet is set.
//   - A borrow visibly ends with the next allocation.
//   - A [SharedMemory] of its memory that is released too often is reported.
//
// Reports go to the function given to WithMisuse; without one, the first 20 of a
// process go to standard error. Blocks are aligned to 16 bytes on every placement.
// Red zones and quarantine take memory; the quarantine, what is kept of freed parts and
// the red zones of the new block are given up before a request fails for lack of memory.
// An operation takes about a microsecond, most of it to record the stack; a free of a
// part also looks at all parts of the block that were freed before. All operations share
// a lock.
//
// The build tag gomem_debug turns this on for every allocator, except for
// guard pages and the error of Close.
func WithDebug(d DebugOptions) Option { return func(s *settings) { s.Debug = &d } }

// debugAsBuilt is the debug mode of allocators that do not ask for one.
func debugAsBuilt() *DebugOptions {
	if check.Enabled {
		return &builtDebug
	}
	return nil
}

var builtDebug = DebugOptions{Quarantine: 64 << 10, StackDepth: 8, Quiet: true}

// SampleOptions says which blocks the sampled guard takes; the zero value is
// meant for production.
//
//	Rate  int // one block in Rate is sampled; 0: 5,000; above 2^40: 2^40
//	Slots int // at most 16, which is also what 0 means
//	// Interval is the least time between two samples, which bounds the cost.
//	// 0: 20 ms, negative: none.
//	Interval time.Duration
type SampleOptions = heap.Sample

// WithSampledGuard puts one in 5,000 blocks of up to 64 KiB into one of 16
// slots between inaccessible pages. Running off the end of such a block (for one in four,
// off its front) and any use after its free fault at the instruction that does it, except
// in the up to 15 bytes behind the block that its alignment leaves. A refused free
// reports the stacks of the block's allocation and frees. Over many hours on many
// machines this finds what tests did not. After a fault,
// [ScalableMemoryAllocator.Explain] names the block.
//
// The fast paths pay nothing for it, because the choice is made when a processor
// has used up its free slots of a size. The slots it used up are then counted, so a
// load that keeps much memory live is sampled at the full rate, at random (at a
// lower rate if Rate is below 2,000). Blocks that are freed and allocated again
// before the slots are used up are not counted, except for the first 64 after each
// quarter of a second that the allocator is in use and after each rest: one in
// 5,000 of those is taken, too. So no size is left out, and none is sampled more
// often than requested. There is at most one sample in 20 ms; a sample and its free
// take about 0.1 ms. Of six recorded programs that do nothing but allocate and free, four
// took up to 1 % longer with the guard and two took 2 and 3 %; two runs without it
// differed by up to 2 %. The slots take 2 MiB of address space, which counts as mapped,
// and the memory of the blocks in them, or two pages each when they are empty. If the
// system or WithMaxBytes refuses the mapping, the guard is off from then on and Stats
// counts it.
//
// Reports go to the function given to WithMisuse; without one, the first 20 of a
// process go to standard error. Damage is reported once for each block.
// WithDebug includes all of this and replaces it; the debug mode that the tag
// gomem_debug turns on gives way to the sampled guard.
func WithSampledGuard(o SampleOptions) Option {
	return func(s *settings) {
		s.Sample = &o
		if s.Debug == &builtDebug {
			s.Debug = nil
		}
	}
}

// Explain says what debug mode or the sampled guard knows about the memory at
// addr, for example where a fault happened: a [*BlockError] with the block at
// or beside addr, and the stacks of its allocation and its free. It returns nil
// if they know nothing. On s390x a fault gives only the page, so the byte that is
// named may be another one of that page. O(1).
func (a *ScalableMemoryAllocator) Explain(addr uintptr) error {
	if a == nil {
		return nil
	}
	return a.engine().Explain(addr)
}
