// Package gomem manages memory for programs that move many bytes. It has
// allocators whose blocks are freed explicitly, in parts as small as a byte
// and from any goroutine, readers that hand out the memory their source wrote
// into, and chains of buffers.
//
//	a := gomem.NewScalableMemoryAllocator(1 << 20)
//	b := a.Malloc(1500)
//	…
//	a.Free(b)
//
// Its main types are:
//
//   - [ScalableMemoryAllocator]: byte slices from memory that grows and shrinks
//   - [BufReader]: reads a stream in place; its frames can outlive the read without
//     a copy, as [SharedMemory]
//   - [Memory] and [MemoryReader]: a chain of buffers as one sequence of bytes
//   - [RecyclableMemory]: a chain that gives all its buffers back at once
//   - [MemoryAllocator]: byte slices from one chunk of fixed size
//   - [Allocator] and [Buddy]: offsets, for memory that the caller owns
//
// Two subpackages complement this one: lac allocates typed objects that share
// one lifetime, and tlsf allocates blocks in bounded time.
//
// # How long memory is valid
//
// Four words have the same meaning everywhere. A view is valid until the next
// call on its reader, a borrow until the next allocation, owned memory until
// its owner frees it, and shared memory until its last Release. The first
// sentences of a method's documentation say which of them it returns.
//
// Slices are returned with cap == len, so an append never writes into a
// neighbour: it copies to the Go heap. Their bytes hold what the last user
// left, unless a method says that they are zero.
//
// # No Go pointers
//
// The garbage collector does not scan blocks. A pointer, slice, string, map,
// channel, function or interface stored in one keeps nothing alive. For
// objects with pointers use package lac.
//
// # Misuse
//
// "No room" is a value (nil, -1), a failure of the system is an error, and
// misuse is an event. An invalid free changes nothing: Free returns false, the
// event is counted in [Stats], and it is reported to the function given to
// [WithMisuse]. A free is invalid if any byte of the range is free already or
// was never handed out, if the range belongs to another allocator or to the Go
// heap, or if it runs over the end of a block.
//
// By default an allocator does not notice:
//
//   - a free of memory that was freed and has been handed out again since: it
//     takes the memory away from the new owner
//   - reads and writes of memory that is free, or outside a block
//   - a free that extends into live neighbours, with the placements SingleTree
//     and TwoTree: they know which bytes are free, but not where a block ends
//   - blocks that are never freed
//   - slices that are still used after Recycle or Close, and views of a reader that are
//     used after its next call
//
// Debug mode is set by [WithDebug], or for all allocators by the build tag gomem_debug.
// It finds
//
//   - a second free of memory that is still in quarantine
//   - writes to free memory and just outside a block; with guard pages, reads as well
//   - a free that extends into live neighbours
//   - blocks that are live at Close, if the mode was set by WithDebug
//
// [WithSampledGuard] finds the same, except for leaks, on a few blocks of a running
// program. Package gomemtest fails the test in which debug mode finds something.
//
// If two goroutines free a block at once, one free wins; the other is refused, or only
// counted in Stats.Raced. If one of them frees a part of the block, both may be accepted.
// The block is never handed out twice.
//
// # Build tags
//
// A build tag only changes a default. Every build has the same names with the same
// behaviour, except with disable_rm (see [RecyclableMemory]). What a tag selects can also
// be chosen at run time, except for the tree of a [MemoryAllocator] and the self-checks
// of gomem_debug.
//
//   - twotree: placement by two trees, [WithPlacement]; for an [Allocator],
//     offset.NewTwoTree
//   - enable_buddy: chunks from a pool that all allocators share, [WithPooledChunks]
//   - enable_mmap: chunks from the system instead of the Go heap, [WithBacking]
//   - disable_rm: recyclable memory from the Go heap,
//     [RecyclableMemory.SetRecycling]
//   - gomem_debug: every ScalableMemoryAllocator in debug mode, [WithDebug]; an
//     [Allocator], a [MemoryAllocator] and a pool of package tlsf call Verify at every
//     step, and a released [SharedMemory] reports every later use
//
// The tag gomem_portable compiles the form that other platforms and the race
// detector use, which does not call into the runtime's internals. The tag purego
// leaves out the assembly, with which Malloc and Free begin on amd64. To build without
// optimization use -gcflags='all=-N -l'; all=-N alone does not link.
package gomem
