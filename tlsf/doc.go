// Package tlsf is a memory pool of fixed size for programs that must know how
// long an allocation takes: every operation takes a bounded number of steps,
// however many blocks there are and whatever state the pool is in.
//
//	pool, err := tlsf.New(64<<20, tlsf.WithMmap(), tlsf.WithPopulate())
//	b, err := pool.Alloc(1500)
//	…
//	err = pool.Free(b)
//
// A pool is one mapping and a record of its blocks, which is kept beside the
// mapping, never in it:
//
//	mapping   |   live block   |//|      free      |  live block  |  free …
//	          ^ start, 16-aligned  ^ slack, < 16 bytes
//	record    node per block, tag per granule, a list of free blocks per class
//
// So a pool can hand out every byte it was made with, an overrun cannot damage
// the record, and every free is checked against the record first: a second
// free, or the free of a pointer into the middle of a block, from elsewhere or
// from a closed pool, is refused with a typed error and changes nothing.
//
// The placement is two-level segregated fit, as implemented by
// [github.com/gomem-go/gomem/offset.TLSF] after M. Masmano, I. Ripoll,
// A. Crespo and J. Real, "TLSF: a new dynamic memory allocator for real-time
// systems", ECRTS 2004.
//
// # No Go pointers
//
// The garbage collector does not scan a pool, whatever its backing. A pointer,
// slice, string, map, channel, function or interface stored in it does not
// keep its target alive: the target may be collected and its memory reused
// while the pool still points there. Store plain data, offsets or indexes;
// keep objects that must live referenced from ordinary Go variables too.
//
// # What is bounded
//
// Alloc, AllocAligned, Free, FreePointer, Stats and a Resize that stays in
// place take constant time once the tables have grown to the load.
// [WithBlocks] grows them beforehand, [WithPopulate] touches the pages
// beforehand, [WithLocked] keeps them in memory. A refused free and an invalid size
// are bounded, too, except that they allocate their error. A Resize that moves the block
// copies it. Reset, Blocks, Verify and String are linear; New and Close are as far as the
// system or an option is. The command "gomem wcet" measures the times on a machine.
package tlsf
