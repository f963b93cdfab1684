//go:build !race && !gomem_portable

package lac

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// A shard belongs to a processor of the Go scheduler. Pinned to it, a goroutine
// is neither preempted nor moved (runtime assumption 1), so plain loads and
// stores are enough; the scheduler orders them with those of the next goroutine
// on that processor.

// shardLock is nothing: the pin is the lock.
//
//lint:ignore U1000 only the portable form locks
type shardLock struct{}

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

func shardCount() int { return runtime.GOMAXPROCS(0) }

// pin keeps the goroutine on its processor and returns the processor's shard, or
// noShard if GOMAXPROCS grew past the shards.
func (p *AllocatorPool) pin() *shard { return p.at(procPin()) }

// at is the rest of pin, for Get to inline.
func (p *AllocatorPool) at(pid int) *shard {
	if list := p.shards.Load(); list != nil && pid < len(*list) {
		return &(*list)[pid]
	}
	return &noShard
}

func unpin(*shard) { procUnpin() }

// lazy tells that Release may leave the core with the handle, for Get to find.
const lazy = true

// put32 stores after everything else that was done to the arena. The processors
// named order stores anyway, and there a locked instruction would cost more than
// the rest of a release.
func put32(p *int32, v int32) {
	if runtime.GOARCH == "amd64" || runtime.GOARCH == "386" {
		*p = v
		return
	}
	atomic.StoreInt32(p, v)
}

// left tells whether a handle was released and still has its core.
func (ac *Allocator) left() bool {
	refs := atomic.LoadInt32(&ac.refs)
	// Safety: an atomic load of what other processors may write.
	return (refs == 0 || refs == spent) && atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&ac.core))) != nil
}

// disown makes the release of the arena that is out tell others, as nobody will
// look for what it leaves.
func (s *shard) disown() {
	// Safety: an atomic load of a pointer that another processor may write.
	h := (*Allocator)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&s.last))))
	atomic.CompareAndSwapInt32(&h.lone, lone, 0)
}

// waiting counts the handles that were released and still have their core.
func (s *shard) waiting() (n uint64) {
	// Safety: an atomic load of a pointer that another processor may write.
	slab := (*[slabLen]Allocator)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&s.slab))))
	for i := range slab {
		if slab[i].left() {
			n++
		}
	}
	return n
}

// read returns a counter of another processor's shard: a recent value. An
// atomic load keeps it in one piece (runtime assumption 3); *shard is allocated
// and so aligned.
func (s *shard) read(counter *uint64) uint64 { return atomic.LoadUint64(counter) }
