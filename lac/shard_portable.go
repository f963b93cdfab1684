//go:build race || gomem_portable

package lac

import (
	"sync"
	"sync/atomic"
)

// This form uses no linkname and is visible to the race detector: one shard
// for all, under a mutex.

type shardLock struct{ sync.Mutex }

func shardCount() int { return 1 }

// pin locks the shard.
func (p *AllocatorPool) pin() *shard {
	s := &(*p.shards.Load())[0]
	s.lock.Lock()
	return s
}

func unpin(s *shard) { s.lock.Unlock() }

// free ends the references of a handle.
func free(refs *int32) { atomic.StoreInt32(refs, 0) }

// read returns a counter of the shard.
func (s *shard) read(counter *uint64) uint64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	return *counter
}
