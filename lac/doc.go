// Package lac is a typed linear arena: objects of one lifetime are bumped out
// of large chunks and given back together.
//
// An [AllocatorPool] lends arenas out; [New], [NewSlice], [Append] and the
// scalar methods allocate; [Allocator.Release] ends every object at once and
// keeps the memory for the next arena of the pool. A nil *Allocator means the
// Go heap in every function, so code can be written once.
//
// # Layout
//
//	handle (*Allocator)   core                 chunk (on the Go heap)
//	+------------------+  +---------------+    +-------+------------------+
//	| base, off, end --|->| chunks  ------|--->| owner | data …           |
//	| core  -----------|->| attached      |    +---|---+------------------+
//	| pool, refs       |  | partial rests |<-------+   off^          end^
//	+------------------+  +---------------+
//
// An allocation is one compare and one add on the window [off, end) of the
// handle. Bytes of a window are zero before they are handed out, so New and
// NewSlice return zeroed memory and a write barrier never reads stale bytes.
//
// # Why the collector and the arena agree
//
// Rule 1: a chunk is one object of the shape {owner *core; data [N]byte}. Any
// pointer into its data keeps the chunk, the chunk keeps the core, and the core
// keeps all chunks and everything attached. So an arena that is dropped without
// a release stays whole while one pointer into it lives, and pointers between
// its objects need nothing. (Runtime assumption 4 of DESIGN.md.)
//
// Rule 2: the data of a chunk is not scanned. A pointer to the Go heap that is
// stored in an arena object must be passed to [Attach] once; a pool made with
// [WithScanned] keeps types with pointers in typed slabs instead, which the
// collector scans like any slice, and needs no Attach.
//
// Rule 3: handles wait before they are lent again: a processor has 128 of them
// in turn, and so has each of the few goroutines with a seat in the pool. A stale
// *Allocator finds itself released while it waits, so a second Release, a late
// DecRef or an allocation after the release is reported, and cannot touch the
// arena of somebody else. What is not noticed by default is a stale use more than
// about a hundred arenas later at the same place; in debug mode no handle is ever
// lent twice.
//
// # Goroutines
//
// One handle serves one goroutine at a time. To share an arena, either call
// [Allocator.IncRef] before starting a goroutine and [Allocator.DecRef] in it,
// or give the goroutine its own handle with [Allocator.Fork], which allocates at
// full speed.
package lac
