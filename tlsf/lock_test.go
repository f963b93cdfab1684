package tlsf_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gomem-go/gomem/tlsf"
)

// Goroutines allocate, hand blocks to each other and free what they get, while
// others look at the pool.
func TestLockedPool(t *testing.T) {
	p := mustNew(t, 1<<20, tlsf.WithLock())
	const workers = 8
	rounds := scaled(2_000)
	handed := make(chan modelBlock, 64)
	var done atomic.Bool
	var work, watch sync.WaitGroup
	watch.Go(func() {
		for !done.Load() {
			if err := p.Verify(); err != nil {
				t.Error(err)
			}
			if s := p.Stats(); s.Used+s.Free != s.Size {
				t.Errorf("%+v", s)
			}
			for range p.Blocks() {
				break
			}
			runtime.Gosched() // for systems with one thread, which preempt nobody
		}
	})
	for w := range workers {
		work.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 2))
			for i := range rounds {
				b, err := p.Alloc(1 + rng.IntN(1000))
				if err != nil {
					t.Errorf("Alloc: %v", err)
					return
				}
				if i%16 == 0 {
					if b, err = p.Resize(b, 1+rng.IntN(2000)); err != nil {
						t.Errorf("Resize: %v", err)
						return
					}
				}
				fill(b, byte(w))
				select {
				case handed <- modelBlock{b, byte(w)}:
				case got := <-handed:
					checkFill(t, got.b, got.stamp)
					if err := errors.Join(p.Free(got.b), p.Free(b)); err != nil {
						t.Errorf("Free: %v", err)
					}
				}
			}
		})
	}
	work.Wait()
	done.Store(true)
	watch.Wait()
	close(handed)
	for got := range handed {
		checkFill(t, got.b, got.stamp)
		mustFree(t, p, got.b)
	}
	if s := p.Stats(); s.Used != 0 || s.Largest != 1<<20 || s.Blocks != 0 {
		t.Errorf("%+v after all was freed", s)
	}
}

// Of two goroutines that free one block at once, exactly one does.
func TestDoubleFreeRace(t *testing.T) {
	p := mustNew(t, 64<<10, tlsf.WithLock())
	rounds := scaled(20_000)
	start, result := make(chan []byte), make(chan error)
	for range 2 {
		go func() {
			for b := range start {
				result <- p.Free(b)
			}
		}()
	}
	for range rounds {
		b := mustAlloc(t, p, 100)
		start <- b
		start <- b
		first, second := <-result, <-result
		if (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), tlsf.ErrDoubleFree) {
			t.Fatalf("two frees of one block: %v, %v", first, second)
		}
	}
	close(start)
	if s := p.Stats(); s.Misuses != uint64(rounds) || s.Used != 0 {
		t.Errorf("%+v", s)
	}
}
