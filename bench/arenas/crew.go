package arenas

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// crew is goroutines that work in rounds and stay awake in between. To wake a
// processor takes tens of microseconds, about as long as a round: goroutines that
// are started for each round, or that park after it, would measure that.
type crew struct {
	work  func(worker int)
	count int
	over  bool // ends the members at the next round
	_     [64]byte
	round atomic.Int64
	_     [64]byte
	busy  atomic.Int64 // members in the current round
	_     [64]byte
	group sync.WaitGroup
}

// gather starts a crew of count workers. The caller is worker 0.
func gather(count int, work func(worker int)) *crew {
	c := &crew{work: work, count: count}
	for worker := 1; worker < count; worker++ {
		c.group.Go(func() {
			for round := int64(1); ; round++ {
				await(&c.round, round)
				if c.over {
					return
				}
				c.work(worker)
				c.busy.Add(-1)
			}
		})
	}
	return c
}

// together has each worker work once.
func (c *crew) together() {
	c.busy.Store(int64(c.count - 1))
	c.round.Add(1)
	c.work(0)
	await(&c.busy, 0)
}

func (c *crew) dismiss() {
	c.over = true
	c.round.Add(1)
	c.group.Wait()
}

// await spins until v is want, and lets others run when that takes long.
func await(v *atomic.Int64, want int64) {
	const spins = 10_000
	for i := 0; v.Load() != want; i++ {
		if i >= spins {
			runtime.Gosched()
		}
	}
}
