package bench

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
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

// soakLoad is how one cycle of TestSoak uses the allocator.
type soakLoad struct {
	name          string
	goroutines    int
	each, plateau int // blocks that a goroutine holds, and replaces
	size          func(random *rand.Rand) int
	short         bool // the ends of blocks go back at once, as after a read
	wait          bool // not at once, but when others have allocated
	shared        bool // others free the blocks, some of them in parts
	heads         int  // of one in so many that are freed in parts the front goes first; 0: of none
}

func powers(random *rand.Rand) int { return 1 << random.IntN(14) }

// reads are half of 16 KiB, the others of more than 4 and at most 32.
func reads(random *rand.Rand) int {
	if random.IntN(2) == 0 {
		return 16 << 10
	}
	return 4097 + random.IntN(28<<10)
}

var soakLoads = []soakLoad{
	{name: "blocks", goroutines: 4, each: 3000, plateau: 20_000, size: powers},
	{name: "reads", goroutines: 4, each: 3000, plateau: 20_000, size: reads, short: true, shared: true},
	{name: "reads in parts", goroutines: 4, each: 3000, plateau: 20_000, size: reads, short: true, shared: true, heads: 100},
	{name: "waiting reads", goroutines: 1000, each: 20, plateau: 100, size: reads, short: true, wait: true, shared: true, heads: 1000},
}

// TestSoak lets goroutines ramp up, hold and drain one allocator, again and again,
// in the ways of soakLoads. What they hold stays as they wrote it. After each drain
// nothing is live, the chunks go by themselves, and the Go heap is where it was.
func TestSoak(t *testing.T) {
	const seed = 9
	t.Logf("seed %d", seed)
	a := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithBacking(backing.Mmap()))
	defer a.Recycle()
	end := time.Now().Add(soakFor(t))
	// What the Go heap holds depends on the load: the least of a round counts.
	round, cycles := len(soakLoads), 0
	least, first := uint64(math.MaxUint64), uint64(0)
	for ; cycles < round || cycles < 2*round && !testing.Short() || time.Now().Before(end); cycles++ {
		load := soakLoads[cycles%len(soakLoads)]
		peak := load.cycle(t, a, uint64(seed+cycles))
		if s := a.Stats(); s.Live != 0 || s.Refused != 0 || s.Raced != 0 {
			t.Fatalf("cycle %d, %s: after the drain %+v", cycles, load.name, s)
		}
		if err := a.Verify(); err != nil {
			t.Fatalf("cycle %d, %s: %v", cycles, load.name, err)
		}
		awaitOneChunk(t, a, cycles, peak)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, m.HeapAlloc)
		if cycles%round < round-1 {
			continue
		}
		if first == 0 {
			first = least
		}
		if least > first+1<<20 {
			t.Fatalf("cycle %d: the Go heap grew from %d to %d bytes", cycles, first, least)
		}
		least = math.MaxUint64
	}
	t.Logf("%d cycles", cycles)
}

// held is a block, or what is left of one, and what its bytes are.
type held struct {
	b    []byte
	mark byte
}

// soaker is one goroutine of a load.
type soaker struct {
	soakLoad
	t      *testing.T
	a      *gomem.ScalableMemoryAllocator
	random *rand.Rand
	places *[1000]atomic.Pointer[held] // where they leave blocks for each other
}

// cycle ramps up, replaces blocks for a while and drains; it returns the
// statistics at the top.
func (l soakLoad) cycle(t *testing.T, a *gomem.ScalableMemoryAllocator, seed uint64) gomem.Stats {
	var up, down sync.WaitGroup
	var places [1000]atomic.Pointer[held]
	drain := make(chan struct{})
	up.Add(l.goroutines)
	for worker := range l.goroutines {
		s := soaker{l, t, a, rand.New(rand.NewPCG(seed, uint64(worker))), &places}
		down.Go(func() {
			blocks := make([]*held, l.each)
			for i := range blocks {
				blocks[i] = s.malloc()
			}
			for range l.plateau {
				i := s.random.IntN(len(blocks))
				s.done(blocks[i])
				blocks[i] = s.malloc()
			}
			up.Done()
			<-drain
			for _, h := range blocks {
				s.done(h)
			}
		})
	}
	up.Wait()
	top := a.Stats()
	close(drain)
	down.Wait()
	for i := range places {
		if h := places[i].Load(); h != nil && !a.Free(h.b) {
			t.Errorf("free of %d bytes refused", len(h.b))
		}
	}
	return top
}

// malloc takes a block and gives the rest of it back behind a short read.
func (s *soaker) malloc() *held {
	h := &held{s.a.Malloc(s.size(s.random)), byte(s.random.Uint32())}
	if s.wait {
		runtime.Gosched()
	}
	if s.short {
		got := 1 + s.random.IntN(1460)
		s.free(h.b[got:])
		h.b = h.b[:got]
	}
	for i := range h.b {
		h.b[i] = h.mark
	}
	return h
}

// done leaves h to another goroutine, if they share, and frees what that one has
// left, of one in eight in two parts.
func (s *soaker) done(h *held) {
	if s.shared {
		if h = s.places[s.random.IntN(len(s.places))].Swap(h); h == nil {
			return
		}
	}
	if bytes.Count(h.b, []byte{h.mark}) != len(h.b) {
		s.t.Errorf("%s: %d bytes were overwritten", s.name, len(h.b))
	}
	if at := s.random.IntN(len(h.b)); s.shared && at > 0 && s.random.IntN(8) == 0 {
		if s.heads > 0 && s.random.IntN(s.heads) == 0 {
			s.free(h.b[:at])
			h.b = h.b[at:]
		} else {
			s.free(h.b[at:])
			h.b = h.b[:at]
		}
	}
	s.free(h.b)
}

func (s *soaker) free(b []byte) {
	if !s.a.Free(b) {
		s.t.Errorf("%s: free of %d bytes refused", s.name, len(b))
	}
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
