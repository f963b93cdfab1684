//go:build race || gomem_portable || !(amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package heap

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// The portable form of pinning, without the runtime's help: a shard has a
// lock, and pin takes it. A free locks the shard that owns the span, so that
// every free is local. This is also the form that the race detector can follow.

type shardLock struct{ sync.Mutex }

func shardCount() int { return min(8, 2*runtime.GOMAXPROCS(0)) }

// pin locks a shard, a goroutine's own choice as long as its stack stays where
// it is, and returns it; noShard if there is none. Call unpin in either case.
func (h *Heap) pin() *shard {
	set := h.published().byID
	if len(set) == 0 {
		return noShard
	}
	return h.lock(set[pinIndex()%len(set)])
}

// lock locks s, or returns noShard if the heap is paused meanwhile.
func (h *Heap) lock(s *shard) *shard {
	if s != noShard {
		s.Lock()
		if h.published() == noShards {
			s.Unlock()
			return noShard
		}
	}
	return s
}

func unpin(s *shard) {
	if s != noShard {
		s.Unlock()
	}
}

// A section of the portable form is a pin, and nobody needs a hint.

type hints struct{}

func here() unsafe.Pointer                                   { return nil }
func (h *Heap) enter(unsafe.Pointer) *shard                  { return h.pin() }
func (h *Heap) enterFor(sp *span, _ unsafe.Pointer) *shard   { return h.pinFor(sp) }
func (h *Heap) enterOwner(sp *span, _ unsafe.Pointer) *shard { return h.pinFor(sp) }
func leave(s *shard)                                         { unpin(s) }
func keep(*shard)                                            {}
func (h *Heap) note(*shard)                                  {}
func (h *Heap) settle(*shard)                                {}
func (*hints) forget()                                       {}
func prepareSections()                                       {}

func (h *Heap) enterFront(unsafe.Pointer) *shard {
	if atomic.LoadPointer(&h.front) == unsafe.Pointer(noShards) {
		return noShard
	}
	return h.pin()
}

// pinFor locks the shard that owns sp, so that every free is local; noShard if
// there is none.
func (h *Heap) pinFor(sp *span) *shard {
	for {
		owner := sp.owner.Load()
		if owner == nobody {
			return noShard
		}
		s := h.lock(owner)
		if s == noShard || sp.owner.Load() == s {
			return s
		}
		unpin(s)
	}
}

// counts returns what the shard counts, for others than its holder.
func (s *shard) counts() (malloced, freed, raced uint64) {
	s.Lock()
	defer s.Unlock()
	return s.malloced, s.freed, s.raced
}

// slowCounts returns what is counted under mu, for others than its holder.
func (h *Heap) slowCounts() (malloced, freed, raced uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.malloced, h.freed, h.raced
}

// lockFigures and unlockFigures keep the figures that change under mu from changing
// while they are read.
func (h *Heap) lockFigures()   { h.mu.Lock() }
func (h *Heap) unlockFigures() { h.mu.Unlock() }

func pinIndex() int {
	var here byte
	// Safety: the address is only hashed. Stacks are at least 2 KiB apart.
	at := uint64(uintptr(unsafe.Pointer(&here)) >> 11)
	return int(at * hashFactor >> 56 % uint64(shardCount()))
}

// barrier returns when every holder of a shard's lock has let go.
func (h *Heap) barrier(set *shardSet) {
	for _, s := range set.byID {
		if s != noShard {
			s.Lock()
			//lint:ignore SA2001 waiting for the holder is the point
			s.Unlock()
		}
	}
}
