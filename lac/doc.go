// Package lac is a typed linear arena: objects that share a lifetime are
// allocated one after another from large chunks and released together.
//
// An [AllocatorPool] lends arenas out; [New], [NewSlice], [Append] and the
// scalar methods allocate; [Allocator.Release] releases all objects at once
// and keeps the memory for the next arena of the pool. In every function a
// nil *Allocator means the Go heap, so the same code works with and without
// an arena.
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
// pointer into its data keeps the chunk alive, the chunk keeps the core alive,
// and the core keeps all chunks and everything attached alive. So an arena that
// is dropped without a release stays whole as long as one pointer into it
// lives, and pointers between its objects need no care. (Runtime assumption 4
// of DESIGN.md.)
//
// Rule 2: the data of a chunk is not scanned. A pointer to the Go heap that is
// stored in an arena object must be passed to [Attach] once. A pointer to an object of
// another arena must be attached as well, or cleared before that arena is released: after
// that it must not even be overwritten, as the write barrier shows the collector the old
// value, and the runtime stops the program if no memory is there any more. A pool made
// with [WithScanned] instead keeps types with pointers in typed slabs, which the
// collector scans like any slice, and needs no Attach.
//
// Rule 3: handles wait before they are lent again. Each processor lends 256 of them in
// turn, and each seat (see [AllocatorPool]) lends 128. While a handle waits it knows that
// it is released, so a second Release, a late DecRef or an allocation after the release
// is reported, and cannot touch another user's arena. By default a stale use may go
// unnoticed if it comes 64 arenas or more later at the same place; in debug mode no
// handle is ever lent twice.
//
// # Goroutines
//
// One handle serves one goroutine at a time. To share an arena, either call
// [Allocator.IncRef] before starting a goroutine and [Allocator.DecRef] in it,
// or give the goroutine its own handle with [Allocator.Fork], which allocates at
// full speed.
package lac
