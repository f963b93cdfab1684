package lac

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// link is an object of a chain: all that it holds follows from its stamp.
type link struct {
	next, self *link
	stamp      uint64
	text       *string
	list       []uint32
	heap       *uint64
	odd        [3]byte
}

// chain is what one goroutine allocates from a handle, and checks at the end.
type chain struct {
	t    *testing.T
	r    *rand.Rand
	ac   *Allocator
	head *link
}

func (c *chain) add(n int) {
	for range n {
		l := New[link](c.ac)
		if c.r.IntN(3) == 0 {
			l = &NewSlice[link](c.ac, 1, 1+c.r.IntN(3))[0]
		}
		if l.next != nil || l.self != nil || l.stamp != 0 || l.text != nil || l.list != nil || l.heap != nil || l.odd != [3]byte{} {
			c.t.Errorf("an object is not zero: %+v", *l)
		}
		s := c.r.Uint64()
		l.next, l.self, l.stamp, l.odd = c.head, l, s, [3]byte{byte(s), byte(s >> 8), byte(s >> 16)}
		l.text = c.ac.String(fmt.Sprintf("%*d", s%70, s))
		for i := range uint32(s % 40) {
			l.list = Append(c.ac, l.list, uint32(s)+i)
			if i%7 == 6 {
				c.ac.Int(-1) // in the way of what would grow in place
			}
		}
		if s%4 == 0 {
			l.heap = Attach(c.ac, new(uint64))
			*l.heap = s
		}
		if s%50 == 0 {
			b := NewSlice[byte](c.ac, int(s>>8%100_000), 100_000)
			for i, v := range b[:cap(b)] {
				if v != 0 {
					c.t.Errorf("byte %d of a large slice is %#x", i, v)
					break
				}
				b[:cap(b)][i] = 0xff
			}
		}
		c.head = l
	}
}

func (c *chain) check() {
	for l := c.head; l != nil; l = l.next {
		s := l.stamp
		ok := l.self == l && l.odd == [3]byte{byte(s), byte(s >> 8), byte(s >> 16)} &&
			*l.text == fmt.Sprintf("%*d", s%70, s) && len(l.list) == int(s%40) && (l.heap != nil) == (s%4 == 0)
		for i, v := range l.list {
			ok = ok && v == uint32(s)+uint32(i)
		}
		if !ok || l.heap != nil && *l.heap != s {
			c.t.Errorf("an object is damaged: %+v", *l)
			return
		}
	}
}

// share starts goroutines that allocate from ac, each with a reference or by a fork of
// its own, which may have references and forks in turn. It returns when all have what
// they need; done waits for them.
func (c *chain) share(ac *Allocator, depth int) (done *sync.WaitGroup) {
	done = new(sync.WaitGroup)
	for range 1 + c.r.IntN(4) {
		mine := chain{c.t, rand.New(rand.NewPCG(c.r.Uint64(), 0)), ac, nil}
		release := (*Allocator).DecRef
		if c.r.IntN(2) == 0 {
			mine.ac, release = ac.Fork(), (*Allocator).Release
		} else {
			ac.IncRef()
		}
		done.Go(func() {
			mine.add(mine.r.IntN(20))
			if depth > 0 && mine.r.IntN(3) == 0 {
				inner := mine.share(mine.ac, depth-1)
				mine.add(mine.r.IntN(20))
				inner.Wait()
			}
			mine.check()
			release(mine.ac)
		})
	}
	return done
}

// TestRandomHandles: goroutines get arenas, hold some, share some with others, by
// references and by forks, hand some on to be released elsewhere, and drop some, while
// collections come and processors come and go. Each object is zero at first, nobody
// else's, and there until its arena is released, and each release is counted.
func TestRandomHandles(t *testing.T) {
	for name, opts := range modes {
		for _, chunk := range []int{0, 512, 3000} {
			t.Run(fmt.Sprint(name, chunk), func(t *testing.T) {
				const seed = 11
				t.Logf("seed %d", seed)
				rounds := 200
				if testing.Short() {
					rounds = 30
				}
				runHandles(t, quietPool(t, append(opts[:len(opts):len(opts)], WithChunkSize(chunk), WithIdleArenas(2))...), seed, rounds)
			})
		}
	}
}

func runHandles(t *testing.T, p *AllocatorPool, seed uint64, rounds int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	if p.debugOn.Load() {
		rounds /= 10
	}
	var releases atomic.Uint64
	var disturber, users, others sync.WaitGroup
	stop := make(chan struct{})
	disturber.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			runtime.GC()
			p.Stats()
			if i%8 == 0 {
				runtime.GOMAXPROCS(1 + i/8%6)
			}
		}
	})
	away := make(chan chain, 8)
	for range 2 {
		others.Go(func() {
			for c := range away {
				c.add(c.r.IntN(10))
				c.check()
				c.ac.DecRef()
			}
		})
	}
	for id := range uint64(4) {
		users.Go(func() {
			r := rand.New(rand.NewPCG(seed, id))
			var held []chain
			for range rounds {
				c := chain{t, rand.New(rand.NewPCG(r.Uint64(), 0)), p.Get(), nil}
				c.add(r.IntN(10))
				releases.Add(1)
				switch r.IntN(5) {
				case 0:
					away <- c
					continue
				case 1:
					held = append(held, c)
					i := r.IntN(len(held))
					if len(held) < 10 {
						continue
					}
					c, held[i], held = held[i], held[len(held)-1], held[:len(held)-1]
				case 2:
					done := c.share(c.ac, 2)
					c.add(r.IntN(20))
					if r.IntN(2) == 0 {
						done.Wait()
					} else {
						defer done.Wait()
					}
				case 3:
					if r.IntN(8) == 0 && !p.debugOn.Load() {
						c.ac = nil
						runtime.GC()
						releases.Add(^uint64(0))
					}
				}
				c.check()
				c.ac.DecRef()
			}
			for _, c := range held {
				c.check()
				c.ac.Release()
			}
		})
	}
	users.Wait()
	close(away)
	others.Wait()
	close(stop)
	disturber.Wait()
	if s := p.Stats(); s.Releases != releases.Load() {
		t.Errorf("%d releases, want %d", s.Releases, releases.Load())
	}
}
