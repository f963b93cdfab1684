// Package gomem manages memory for programs that move many bytes: allocators
// whose blocks are freed by hand, to the byte and from any goroutine, readers
// that hand out the memory their source wrote into, and chains of buffers.
//
//	a := gomem.NewScalableMemoryAllocator(1 << 20)
//	b := a.Malloc(1500)
//	…
//	a.Free(b)
//
// What there is:
//
//   - [ScalableMemoryAllocator]: byte slices from memory that grows and shrinks
//   - [BufReader]: reads a stream in place, and gives frames of it that outlive the
//     read without a copy, as [SharedMemory]
//   - [Memory] and [MemoryReader]: a chain of buffers as one sequence of bytes
//   - [RecyclableMemory]: a chain that gives its buffers back, all at once
//   - [MemoryAllocator]: byte slices from one chunk of fixed size
//   - [Allocator] and [Buddy]: offsets, for memory of the caller's own
//
// Typed objects of one lifetime are served by package lac, and blocks in bounded
// time by package tlsf, both beside this one.
//
// # How long memory is valid
//
// Four words mean the same everywhere. A view is valid until the next call on
// its reader; a borrow until the next allocation; owned memory until its owner
// frees it; shared memory until its last Release. A method says in its first
// sentences which of them it returns.
//
// Slices come with cap == len, so an append never runs into a neighbour; it
// copies, and the copy is the Go heap's. Bytes are what their last user left,
// unless a method says that they are zero.
//
// # No Go pointers
//
// The garbage collector does not look into blocks. A pointer, slice, string,
// map, channel, function or interface that is stored in one keeps nothing
// alive. Package lac has objects with pointers.
//
// # Misuse
//
// "No room" is a value (nil, -1), a failing system is an error, and misuse is an
// event. A free that is no free changes nothing: Free returns false, the event
// is counted in [Stats], and [WithMisuse] hears of it. That covers what is free
// already, in whole or in part, what was never handed out, another allocator's
// memory and the Go heap's, and what runs over the end of a block.
//
// What an allocator does not notice by default:
//
//   - a free of memory that was freed, and has been handed out anew since: it
//     takes the memory from its new owner
//   - reads and writes of memory that is free, or beside a block
//   - a free that runs over into live neighbours, with the placements SingleTree
//     and TwoTree: they know what is free, not where a block ends
//   - blocks that are never freed
//   - slices from before Recycle or Close that are still used
//
// Debug mode, by [WithDebug] or for all allocators by the build tag gomem_debug,
// notices the first as long as the memory is in quarantine, writes and with
// guard pages reads, the third, and what is live at Close. [WithSampledGuard] does
// so for a few blocks of a running program, but for leaks. Package gomemtest
// fails the test in which any of it happens.
//
// Two frees of one block at the same moment on two processors: one takes
// effect, and the other is refused or, if it came too close, counted in
// Stats.Raced. The block is never handed out twice.
//
// # Build tags
//
// A tag changes a default, nothing else: what exists, and what it does, is the
// same in every build, and beside each tag there is a way to choose at run time.
//
//   - twotree: placement by two trees, [WithPlacement]; for an [Allocator],
//     offset.NewTwoTree
//   - enable_buddy: chunks from a pool that all allocators share, [WithPooledChunks]
//   - enable_mmap: chunks from the system instead of the Go heap, [WithBacking]
//   - disable_rm: recyclable memory from the Go heap,
//     [RecyclableMemory.SetRecycling]
//   - gomem_debug: every allocator in debug mode, [WithDebug]
//
// The tag gomem_portable compiles the form that other platforms and the race
// detector use, without the runtime's help.
package gomem
