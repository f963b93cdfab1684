//go:build !race && !gomem_portable && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package heap

import (
	"runtime"
	"sync/atomic"
	_ "unsafe" // for go:linkname
)

// A shard belongs to a P. While its goroutine is pinned to the P nobody else
// touches the shard, so the fast paths need no atomic instruction.
//
// Runtime assumption 1: a goroutine between procPin and procUnpin is neither
// preempted nor moved to another P, and the world does not stop meanwhile.
// Package sync rests on the same for Pool.

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// shardLock is what a shard needs beside the pin: nothing.
//
//lint:ignore U1000 only the portable form locks
type shardLock struct{}

func shardCount() int { return runtime.GOMAXPROCS(0) }

// pin keeps the goroutine on its P and returns the P's shard, noShard if
// there is none. Call unpin in either case, soon, and do not block, allocate or lock in
// between.
//
// It pins before it loads the set: who pauses the heap waits for those that are pinned, and
// not for those that only know the set that was. [TestSections, which reads the machine
// code, for which it is not inlined]
//
//go:noinline
func (h *Heap) pin() *shard {
	id := procPin()
	return h.published().of(id)
}

func unpin(*shard) { procUnpin() }

// pinFor is pin for a free in sp. Whether the shard is the owner of sp, so that
// the free is local, is for the caller to see.
func (h *Heap) pinFor(*span) *shard { return h.pin() }

// counts returns what the shard counts, for others than its owner (runtime
// assumption 3). Freed first: what is freed was allocated before.
func (s *shard) counts() (malloced, freed, raced uint64) {
	freed = atomic.LoadUint64(&s.freed)
	return atomic.LoadUint64(&s.malloced), freed, atomic.LoadUint64(&s.raced)
}

// slowCounts returns what is counted under mu, for others than its holder.
func (h *Heap) slowCounts() (malloced, freed, raced uint64) {
	freed = atomic.LoadUint64(&h.freed)
	return atomic.LoadUint64(&h.malloced), freed, atomic.LoadUint64(&h.raced)
}

// lockFigures and unlockFigures keep the figures that change under mu from changing
// while they are read. Here each is just read in one piece.
func (h *Heap) lockFigures()   {}
func (h *Heap) unlockFigures() {}

// pinIndex is where a shard for the current P belongs in the set, at this
// moment.
func pinIndex() int {
	id := procPin()
	procUnpin()
	return id
}

// barrier returns when every goroutine that was pinned when it was called has
// unpinned, and what this goroutine stored before is seen by all later pins.
//
// Runtime assumption 2: asking for a goroutine profile that is too large for
// the space given stops the world, at once and also while the collector runs,
// and starts it again.
func (h *Heap) barrier(*shardSet) {
	var one [1]runtime.StackRecord
	runtime.GoroutineProfile(one[:])
}
