// Package heap is the engine of a growing allocator: chunks of memory, a
// placement in each, and in front of them slots for small blocks, which a
// processor takes and gives back without a lock and without an atomic
// instruction. Package gomem is its public face.
//
// # Layers
//
//	n <= 64 KiB                                 n > 64 KiB, and smaller ones of
//	  |                                         a heap or a class that has had few
//	shard, one for each P            shard.go     |
//	  current span of each of 84 classes, four    |
//	  sharing one where there are few blocks; or  |
//	  the strip, if parts are freed    strip.go   |
//	  | none has a free slot, or room             |
//	  spans with free slots, then what others     |
//	  freed in this shard's spans    remote.go    |
//	  | none, either                              |
//	--|------------ Heap.mu ----------------------|----------------------------
//	  a new span: 16 to 256 KiB      place.go     |
//	  |                                           |
//	  +-------------------+-----------------------+
//	                      |
//	chunk of the last block, else the first with room        chunk.go
//	  placement (package offset) in each, one for few blocks in the chunk of a
//	  large one; a tree of maxima over all
//	  | no room: take back what shards do not need            reclaim.go
//	  | then grow, one goroutine at a time                    grow.go
//	backing.Source, one mapping for each chunk
//
// After a peak a clock (clock.go) gives back chunks that have been empty for a while, and
// the free pages of chunks that do not serve any more (release.go).
//
// A free starts from the address. Its middle bits are enough to guess the span it
// belongs to, if any (spanmap.go); otherwise a hash table finds the chunk
// (chunk.go). The rest depends on what is freed:
//
//	whole slot, own span        onto the span's list; nothing is atomic
//	whole slot, another's span  live -> queued by compare-and-swap, a bit in the
//	                            span's bitmap, the span on its owner's stack
//	tail of a slot <= 4 KiB     the record is shortened
//	other part of one           noted exactly, under the record's lock (parts.go)
//	part of a larger slot       the slots of the span become blocks of the chunk
//	                            (melt.go); then as below
//	a strip's block, or part    as of a slot <= 4 KiB; a tail that was cut last
//	                            is cut again
//	block of a chunk, or part   under mu, by the placement
//
// Blocks that are watched one by one, in debug mode (debug.go) or by the sampled
// guard (sample.go), are kept by package guard and take the slow paths. A heap in
// debug mode or with a recorder (record.go) has no spans.
//
// # Who may touch what
//
//   - A shard and the plain fields of its spans: the goroutine that is pinned to
//     the shard's P or in a section on it (section_runtime.go), or the holder of
//     mu while the heap is paused. To pause the heap, an empty set of shards is
//     published and a barrier waits for goroutines that still use the old one.
//   - Records, bitmaps and the stack of a span: every goroutine, by the rules in
//     span.go.
//   - Everything else in a Heap: the holder of mu. No goroutine waits for mu
//     while pinned. mu is released while the source maps or unmaps, and before
//     the user's function is called. A goroutine that grows the heap also holds
//     growing, so that only one does at a time.
//
// # Invariants
//
// Verify checks these, and those of each placement:
//
//   - a chunk is in the table under every region it reaches into; the tree of
//     maxima holds what fits into each chunk, except for the last one used
//   - mapped is the sum of the mappings, maps.empty has the chunks in which nothing
//     is placed, and nempty counts them
//   - a span lies in one chunk, at a multiple of 16 KiB, and has one owner; if it
//     has free slots it is the owner's current span of its class or in the
//     owner's list; empty spans are at the end of the list, and idle counts their
//     units; the current span of a guest is its own or that of its host
//   - of the slots carved so far, exactly those whose record says free are on the
//     span's free list; a queued slot has its bit set, and its span is on a stack
//   - the record of a block freed in parts counts its remaining bytes, at least
//     one; no record stays busy
//   - the blocks of a strip lie between its start and the place where the next
//     one is cut, in order and without overlap, and its bitmap says where they
//     begin; an empty strip starts over
//
// # Accounting
//
//	span    used + slots on the free list + (slots - carved) == slots
//	strip   used == blocks that are live or queued
//	chunk   free bytes of the placement + bytes of spans + bytes of blocks == size
//	heap    Malloced - Freed == live bytes of slots + live bytes of blocks
//
// Bytes of blocks and live bytes are those that were requested. Bytes lost to
// rounding are free for the placement and counted only in Backing.
//
// # Assumptions about the runtime
//
// DESIGN.md numbers them; this package uses 1 (pinning), 2 (the barrier), 3
// (counters read by others), 5 (the Go heap does not move), 11 (sections), 12
// (where the P is) and, for the assembly in which Malloc and Free begin on amd64
// (entry_amd64.go), 13. The portable form in pin_portable.go needs only 5: under
// the race detector, with the tag gomem_portable and on 32-bit systems a shard has
// a mutex, and a free locks the shard that owns the span.
package heap
