package bench

import (
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
)

// soakFor is how long TestSoak runs: GOMEM_SOAK, such as 10m, or a moment.
func soakFor(t *testing.T) time.Duration {
	t.Helper()
	if v := os.Getenv("GOMEM_SOAK"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			t.Fatalf("GOMEM_SOAK: %v", err)
		}
		return d
	}
	if testing.Short() {
		return time.Second
	}
	return 4 * time.Second
}

// TestSoak lets four goroutines ramp up, hold and drain one allocator, again and
// again. After each drain nothing is live, the chunks go by themselves, and the
// Go heap is where it was.
func TestSoak(t *testing.T) {
	const seed, workers, each, plateau = 9, 4, 3000, 20_000
	t.Logf("seed %d", seed)
	a := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithBacking(backing.Mmap()))
	defer a.Recycle()
	end := time.Now().Add(soakFor(t))
	var heapBefore uint64
	cycles := 0
	for ; cycles < 2 || time.Now().Before(end); cycles++ {
		peak := soakCycle(a, uint64(seed+cycles), workers, each, plateau)
		if s := a.Stats(); s.Live != 0 || s.Refused != 0 || s.Raced != 0 {
			t.Fatalf("cycle %d: after the drain %+v", cycles, s)
		}
		if err := a.Verify(); err != nil {
			t.Fatalf("cycle %d: %v", cycles, err)
		}
		awaitOneChunk(t, a, cycles, peak)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if cycles == 1 {
			heapBefore = m.HeapAlloc
		}
		if cycles > 1 && m.HeapAlloc > heapBefore+1<<20 {
			t.Fatalf("cycle %d: the Go heap grew from %d to %d bytes", cycles, heapBefore, m.HeapAlloc)
		}
	}
	t.Logf("%d cycles", cycles)
}

// soakCycle ramps up, replaces blocks for a while and drains; it returns the
// statistics at the top.
func soakCycle(a *gomem.ScalableMemoryAllocator, seed uint64, workers, each, plateau int) gomem.Stats {
	var up, down sync.WaitGroup
	drain := make(chan struct{})
	up.Add(workers)
	for worker := range workers {
		down.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(worker)))
			blocks := make([][]byte, each)
			size := func() int { return 1 << random.IntN(14) }
			for i := range blocks {
				blocks[i] = a.Malloc(size())
			}
			for range plateau {
				i := random.IntN(each)
				a.Free(blocks[i])
				blocks[i] = a.Malloc(size())
			}
			up.Done()
			<-drain
			for _, b := range blocks {
				a.Free(b)
			}
		})
	}
	up.Wait()
	top := a.Stats()
	close(drain)
	down.Wait()
	return top
}

// awaitOneChunk waits for the chunks to go, two seconds at most.
func awaitOneChunk(t *testing.T, a *gomem.ScalableMemoryAllocator, cycle int, peak gomem.Stats) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Second)
	for a.Stats().Chunks > 1 {
		if time.Now().After(deadline) {
			t.Fatalf("cycle %d: at the top %+v, two seconds after the drain %+v", cycle, peak, a.Stats())
		}
		time.Sleep(5 * time.Millisecond)
	}
}
