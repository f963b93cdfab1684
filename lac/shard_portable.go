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

func procPin() int { return 0 }

// pin locks the shard.
func (p *AllocatorPool) pin() *shard { return p.at(0) }

func (p *AllocatorPool) at(int) *shard {
	for {
		list := p.shards.Load()
		if list == nil {
			return &noShard
		}
		s := &(*list)[0]
		s.lock.Lock()
		if p.shards.Load() == list {
			return s
		}
		s.lock.Unlock() // replaced meanwhile: its counts may have been added up already
	}
}

func unpin(s *shard) {
	if s != &noShard {
		s.lock.Unlock()
	}
}

// lazy tells that Release may leave the core with the handle: not without the
// lock.
const lazy = false

func (*shard) waiting() uint64 { return 0 }

func (*shard) disown() {}

// put32 stores after everything else that was done to the arena.
func put32(p *int32, v int32) { atomic.StoreInt32(p, v) }

// read returns a counter of the shard.
func (s *shard) read(counter *uint64) uint64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	return *counter
}

// seats need what this form does without.
type seats struct{}

type seat struct{ count uint64 }

func (*seat) turn() (last, next *Allocator)                   { return nil, nil }
func (*seats) find(*[0]byte) (*seat, bool)                    { return nil, false }
func (*seats) free(*[0]byte) bool                             { return false }
func (*seats) again(*[0]byte) *Allocator                      { return nil }
func (*seats) sit(*AllocatorPool, *core, *[0]byte) *Allocator { return nil }
func (*seats) clear(bool)                                     {}
func (*seats) collected()                                     {}
func (*seats) counts() (gets, releases uint64)                { return 0, 0 }
