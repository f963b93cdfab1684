//go:build !race && !gomem_portable

package lac

import (
	"runtime"
	"sync/atomic"
	_ "unsafe" // for linkname
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
func (p *AllocatorPool) pin() *shard {
	pid := procPin()
	if list := *p.shards.Load(); pid < len(list) {
		return &list[pid]
	}
	return &noShard
}

func unpin(*shard) { procUnpin() }

// free ends the references of a handle at home; plain, because a locked
// instruction would cost more than the rest of a release.
func free(refs *int32) { *refs = 0 }

// read returns a counter of another processor's shard: a recent value. An
// atomic load keeps it in one piece (runtime assumption 3); *shard is allocated
// and so aligned.
func (s *shard) read(counter *uint64) uint64 { return atomic.LoadUint64(counter) }
