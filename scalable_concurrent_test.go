package gomem

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var raceTrials = flag.Int("racetrials", 100_000, "how often two goroutines free the same block at once")

// churn allocates, hands over and frees with stamps in every block: rounds
// operations, of which what comes in through in was allocated elsewhere.
func churn(a *ScalableMemoryAllocator, seed uint64, rounds int, in, out chan stamp) error {
	rng := rand.New(rand.NewPCG(seed, 3))
	var own []stamp
	free := func(s stamp) error {
		if err := s.intact(); err != nil {
			return err
		}
		if n := len(s.b); n > 1 && rng.IntN(4) == 0 {
			cut := 1 + rng.IntN(n-1)
			if !a.Free(s.b[cut:]) {
				return fmt.Errorf("tail of %d bytes from %d refused", n, cut)
			}
			s = s.part(0, cut)
		}
		if !a.Free(s.b) {
			return fmt.Errorf("free of %d bytes refused", len(s.b))
		}
		return nil
	}
	for range rounds {
		switch rng.IntN(4) {
		case 0, 1:
			n := 1 + rng.IntN(300)
			if rng.IntN(16) == 0 {
				n = 1 + rng.IntN(20000)
			}
			b, err := a.TryMalloc(n)
			if err != nil {
				return err
			}
			own = append(own, newStamp(b, byte(rng.Uint32())))
		case 2:
			if len(own) > 0 {
				select {
				case out <- own[len(own)-1]:
					own = own[:len(own)-1]
				default:
				}
			}
			select {
			case s := <-in:
				if err := free(s); err != nil {
					return err
				}
			default:
			}
		case 3:
			if len(own) > 0 {
				i := rng.IntN(len(own))
				s := own[i]
				own[i] = own[len(own)-1]
				own = own[:len(own)-1]
				if err := free(s); err != nil {
					return err
				}
			}
		}
	}
	for _, s := range own {
		if err := free(s); err != nil {
			return err
		}
	}
	return nil
}

// watch calls every reading method until done is closed.
func watchAllocator(a *ScalableMemoryAllocator, done chan struct{}) error {
	for i := 0; ; i++ {
		select {
		case <-done:
			return nil
		case <-time.After(time.Millisecond):
		}
		switch i % 5 {
		case 0:
			if s := a.Stats(); s.Backing < 0 || s.Chunks < 0 {
				return fmt.Errorf("%+v", s)
			}
		case 1:
			if err := a.Verify(); err != nil {
				return err
			}
		case 2:
			a.Trim()
		case 3:
			for _, c := range a.GetChildren() {
				if c.GetFreeSize() > c.Size {
					return fmt.Errorf("%d of %d bytes free", c.GetFreeSize(), c.Size)
				}
			}
		case 4:
			a.Borrow(100)
			_ = a.GetTotalMalloc() - a.GetTotalFree()
		}
	}
}

// All goroutines allocate, free their own and each other's, while others look,
// trim, and change the number of Ps.
func TestConcurrent(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	eachKind(t, func(t *testing.T, k kind) {
		for _, n := range []int{1, 10, 100, 1000} {
			if n > 100 && k.place != SizeClasses {
				continue
			}
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				a := k.make(t)
				in := make(chan stamp, 64)
				done := make(chan struct{})
				var work, watch sync.WaitGroup
				for i := range n {
					work.Go(func() {
						if err := churn(a, uint64(i), 20000/n+20, in, in); err != nil {
							t.Errorf("seed %d: %v", i, err)
						}
					})
				}
				watch.Go(func() {
					if err := watchAllocator(a, done); err != nil {
						t.Error(err)
					}
				})
				watch.Go(func() {
					for i := 1; ; i++ {
						select {
						case <-done:
							return
						case <-time.After(2 * time.Millisecond):
							runtime.GOMAXPROCS(1 + i%5)
						}
					}
				})
				work.Wait()
				close(done)
				watch.Wait()
				close(in)
				for s := range in {
					if err := s.intact(); err != nil || !a.Free(s.b) {
						t.Errorf("left over: %v", err)
					}
				}
				if err := a.Verify(); err != nil {
					t.Fatal(err)
				}
				if s := a.Stats(); s.Live != 0 || s.Refused != 0 || s.Raced != 0 {
					t.Errorf("after everything was freed: %+v", s)
				}
			})
		}
	})
}

// Row 5: two goroutines free the same block at the same moment. One free takes
// effect, and the other is refused or, when the owner's lost update makes it
// true as well, counted in Raced. No memory is issued twice.
func TestMisuseFreeAtOnce(t *testing.T) {
	plainOnly(t)
	for _, size := range []int{16, 100, 2048, 5000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			a := NewScalableMemoryAllocator(1<<20, WithPlacement(SizeClasses))
			shareOut(a)
			before := a.Stats()
			trials := max(1, *raceTrials/4)
			if testing.Short() {
				trials = max(1, trials/10)
			}
			var block atomic.Pointer[[]byte]
			var other atomic.Int64 // 0 waiting, 1 false, 2 true
			var stop atomic.Bool
			var helper sync.WaitGroup
			helper.Go(func() {
				for !stop.Load() {
					b := block.Swap(nil)
					if b == nil {
						runtime.Gosched()
						continue
					}
					if a.Free(*b) {
						other.Store(2)
					} else {
						other.Store(1)
					}
				}
			})
			one, two := 0, 0
			live := map[*byte]bool{}
			check := func() {
				// Many blocks of the size live at once are all different.
				clear(live)
				var all [][]byte
				for range 300 {
					b := a.Malloc(size)
					if live[&b[0]] {
						t.Fatal("memory issued twice")
					}
					live[&b[0]] = true
					all = append(all, b)
				}
				for _, b := range all {
					if !a.Free(b) {
						t.Fatal("refused")
					}
				}
				if err := a.Verify(); err != nil {
					t.Fatal(err)
				}
			}
			for i := range trials {
				b := a.Malloc(size)
				other.Store(0)
				block.Store(&b)
				if i%2 == 0 {
					for block.Load() != nil { // until the helper is at it
						runtime.Gosched()
					}
				}
				mine := a.Free(b)
				for other.Load() == 0 {
					runtime.Gosched()
				}
				switch theirs := other.Load() == 2; {
				case mine && theirs:
					two++
				case mine || theirs:
					one++
				default:
					t.Fatalf("trial %d: both refused", i)
				}
				if i%(1+trials/20) == 0 {
					check()
				}
			}
			stop.Store(true)
			helper.Wait()
			check()
			a.Trim()
			s := a.Stats()
			if refused := int(s.Refused - before.Refused); refused != one {
				t.Errorf("%d frees were false, Refused counts %d", one, refused)
			}
			if raced := int(s.Raced - before.Raced); raced != two {
				t.Errorf("%d times both were true, Raced counts %d", two, raced)
			}
			t.Logf("%d times one was refused, %d times both were true", one, two)
		})
	}
}
