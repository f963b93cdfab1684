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

// DebugOptions says what debug mode does and keeps; the zero value is a good
// start.
type DebugOptions = heap.Debug

// BlockError is what debug mode or the sampled guard found out about one block:
// what is wrong, at which byte, and the stacks of its allocation and its frees.
// errors.As finds it in the [*MisuseError] of a refused free; damage is
// reported as it is. After a fault, Explain gives one for the address.
type BlockError = guard.Error

// BlockEvent is one of the events of a [BlockError]: an allocation or a free,
// and its call stack, which prints as functions, files and lines.
type BlockEvent = guard.Event

// LeakError is what Close returns in debug mode if there are live blocks: how
// many, of how many bytes, and where they were allocated.
type LeakError = guard.LeakError

// WithDebug puts every block of the allocator under watch:
//
//   - A refused free tells where the block was allocated, freed and freed again.
//   - Red zones on both sides of a block are checked whenever a part of it is
//     freed, exactly to the byte, and by Verify.
//   - What is freed is filled with 0xDB and kept from reuse, in quarantine,
//     until there is more of it than Quarantine bytes, or nothing was freed for
//     half a second, or Trim. Then it is checked that nobody wrote to it. A free
//     of memory that is still there is refused even if its like was allocated
//     anew.
//   - GuardPages puts each block at the end of a mapping of its own, so that
//     running off its end faults, and so does any use after its last byte was
//     freed. Where the system refuses that, the block goes among the others,
//     and Stats counts it.
//   - Close returns a [*LeakError] if anything is live, unless Quiet is set.
//   - A borrow ends with the next allocation, visibly.
//
// Reports go to WithMisuse, or else, the first 20 of a process, to standard
// error. Blocks are aligned to 16 bytes on every placement; red zones and
// quarantine take memory, and are given up before a request fails for the lack of
// it. An operation takes about a microsecond, most of it for the stack, and all of
// them share a lock.
//
// The build tag gomem_debug turns this on for every allocator, but for guard
// pages and the error of Close.
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
// made for production.
type SampleOptions = heap.Sample

// WithSampledGuard puts one block in 5,000, of up to 64 KiB, into one of 16
// slots between inaccessible pages: running off the end of such a block (of one
// in four: off its front) and any use after its free fault at the instruction
// that does it, and a refused free tells the stacks of its allocation and its
// frees. Over many hours on many machines that finds what tests did not. After
// a fault, [ScalableMemoryAllocator.Explain] names the block.
//
// It costs the fast paths nothing, because the choice is made where a processor
// has used up its free slots of a size. What it used up then counts, so a load of
// which much is live at once is sampled at the full rate, at random; at less if
// Rate is below 2,000. Blocks that are freed and allocated again before the slots
// are used up do not count, but for the first 64 after each quarter of a second
// that the allocator is in use, and after each rest: of those, too, one in 5,000 is
// taken. So no size is left out, and none is sampled more often than it is asked
// for. There is at most one sample in 20 ms, which bounds the cost to less than
// 1 % of a processor. The slots take 2 MiB of address space, which counts as
// mapped, the memory of the blocks in them, and two pages each when they are
// empty. When the system, or WithMaxBytes, refuses the mapping, the guard is off
// from then on and Stats counts it.
//
// Reports go to WithMisuse, or else, the first 20 of a process, to standard
// error; damage is reported once for each block. WithDebug includes all of this,
// and takes its place; what the tag gomem_debug turns on gives way.
func WithSampledGuard(o SampleOptions) Option {
	return func(s *settings) {
		s.Sample = &o
		if s.Debug == &builtDebug {
			s.Debug = nil
		}
	}
}

// Explain says what debug mode or the sampled guard knows of the memory at
// addr, such as where a fault happened: a [*BlockError] with the block it is in
// or beside, and the stacks of the allocation and the free. nil if they know
// nothing. On s390x a fault tells the page alone, so the byte that is named may be
// another one of the page. O(1).
func (a *ScalableMemoryAllocator) Explain(addr uintptr) error {
	if a == nil {
		return nil
	}
	return a.engine().Explain(addr)
}
