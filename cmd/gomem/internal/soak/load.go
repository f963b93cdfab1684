package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomem-go/gomem"
)

// load is one allocator under load.
type load struct {
	settings
	a, other *gomem.ScalableMemoryAllocator
	foreign  []byte // of the Go heap
	lent     []byte // of other

	stop   context.CancelFunc
	failed atomic.Pointer[error] // the first
	phase  atomic.Int32
	began  time.Time

	// gate is held for reading during operations. Who holds it for writing
	// knows that no memory is issued meanwhile, so that a wrong free of what
	// was freed cannot hit a block that somebody got since then.
	gate sync.RWMutex
	swap [1024]atomic.Pointer[part] // blocks on the way to another goroutine

	ops, injected, refused   atomic.Uint64
	verified, trimmed        atomic.Uint64
	mallocTime, freeTime     histogram
	goroutines               atomic.Int64 // at the moment
	samples                  []sample
	baseResident, baseGoHeap int64 // after the first drain
	worstResident            time.Duration
}

// The phases of a cycle.
const (
	idle int32 = iota
	ramp
	plateau
	drain
)

var phaseNames = [...]string{"idle", "ramp", "plateau", "drain"}

// sample is what was seen at one moment.
type sample struct {
	at         time.Duration
	phase      string
	goroutines int64
	ops        uint64
	stats      gomem.Stats
	resident   int64 // 0 if unknown
	goHeap     int64
}

func newLoad(s settings) *load {
	l := &load{settings: s, foreign: make([]byte, 4096)}
	opts := []gomem.Option{
		gomem.WithPlacement(placements[s.placement]),
		gomem.WithBacking(backings[s.backing]()),
		gomem.WithMisuse(l.misuse),
	}
	if s.debug {
		opts = append(opts, gomem.WithDebug(gomem.DebugOptions{}))
	} else if s.sample {
		opts = append(opts, gomem.WithSampledGuard(gomem.SampleOptions{}))
	}
	l.a = gomem.NewScalableMemoryAllocator(0, opts...)
	l.other = gomem.NewScalableMemoryAllocator(0)
	l.lent = l.other.Malloc(5000)
	return l
}

// fail ends the load with the first broken promise.
func (l *load) fail(format string, args ...any) {
	err := fmt.Errorf("after %v, seed %d: %w", time.Since(l.began).Round(time.Millisecond), l.seed, fmt.Errorf(format, args...))
	if l.failed.CompareAndSwap(nil, &err) {
		l.stop()
	}
}

// misuse takes the allocator's reports of refused frees.
func (l *load) misuse(err error) {
	_, named := errors.AsType[*gomem.MisuseError](err)
	if !named || !errors.Is(err, gomem.ErrDoubleFree) && !errors.Is(err, gomem.ErrNotOwned) {
		l.fail("unexpected report: %v", err)
	}
	l.refused.Add(1)
}

// cycleTime is how long a cycle takes: short enough for a few of them.
func (l *load) cycleTime() time.Duration {
	return min(max(l.duration/8, 400*time.Millisecond), 15*time.Second, l.duration)
}

// run loads the allocator until the time is over, ctx is cancelled or a promise
// is broken, which is what it returns.
func (l *load) run(ctx context.Context, progress io.Writer) error {
	ctx, l.stop = context.WithTimeout(ctx, l.duration)
	defer l.stop()
	l.began = time.Now()
	var aside sync.WaitGroup
	done := make(chan struct{})
	aside.Go(func() { l.watch(done, progress) })
	aside.Go(func() { l.disturb(ctx) })
	rng := rand.New(rand.NewPCG(l.seed, 0))
	for n := 0; n == 0 || ctx.Err() == nil; n++ {
		l.cycle(ctx, n, l.crowd(n, rng))
	}
	l.stop()
	close(done)
	aside.Wait()
	if l.failed.Load() == nil {
		l.finish()
	}
	if err := l.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// crowd is the number of goroutines of cycle n: all of them first, then one,
// then anything in between.
func (l *load) crowd(n int, rng *rand.Rand) int {
	switch n % 4 {
	case 0:
		return l.settings.goroutines
	case 1:
		return 1
	}
	return 1 + rng.IntN(l.settings.goroutines)
}

// cycle is a ramp, a plateau and a drain, and the checks after it.
func (l *load) cycle(ctx context.Context, n, crowd int) {
	whole := l.cycleTime()
	var workers sync.WaitGroup
	l.phase.Store(ramp)
	l.goroutines.Store(0)
	for id := range crowd {
		w := newWorker(l, n, id, crowd)
		workers.Go(w.run)
		l.goroutines.Add(1)
		if id%max(1, crowd/20) == 0 {
			wait(ctx, whole/4/20)
		}
	}
	l.phase.Store(plateau)
	wait(ctx, whole/2)
	l.phase.Store(drain)
	workers.Wait()
	for i := range l.swap {
		switch p := l.swap[i].Swap(nil); {
		case p == nil:
		case !p.intact():
			l.fail("cycle %d: somebody wrote to a block of %d bytes that was on its way", n, len(p.b))
		case !l.a.Free(p.b):
			l.fail("cycle %d: free of a block of %d bytes that was on its way refused", n, len(p.b))
		}
	}
	l.phase.Store(idle)
	l.goroutines.Store(0)
	if l.failed.Load() == nil {
		l.checkDrained(n)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// The time to settle is counted in naps: where the machine is so busy that a nap
// takes ten times as long, the allocator's clock is late as well.
const (
	settleTime    = 2 * time.Second
	baseTime      = 100 * time.Millisecond // in the first cycle, which tells what to compare with
	nap           = 5 * time.Millisecond
	residentSlack = 24 << 20
	goHeapSlack   = 8 << 20
)

// checkDrained holds the allocator to what must be after everything was freed.
func (l *load) checkDrained(cycle int) {
	if err := l.a.Verify(); err != nil {
		l.fail("after cycle %d: %w", cycle, err)
	}
	s := l.a.Stats()
	if s.Live != 0 || s.Raced != 0 || s.Damaged != 0 {
		l.fail("after cycle %d everything is freed, and there is %+v", cycle, s)
	}
	if got, want := l.refused.Load(), l.injected.Load(); got != want || s.Refused != want {
		l.fail("after cycle %d: %d wrong frees, %d reported, %d counted", cycle, want, got, s.Refused)
	}
	// By itself: neither Trim nor anything else is called.
	start, settled := time.Now(), time.Duration(0)
	for ; s.Chunks > 1 && l.failed.Load() == nil; settled += nap {
		if settled > settleTime {
			l.fail("%v after the drain of cycle %d there are %d chunks", settleTime, cycle, s.Chunks)
			return
		}
		time.Sleep(nap)
		s = l.a.Stats()
	}
	if cycle == 0 {
		l.baseGoHeap, l.baseResident = leastGoHeap(0, baseTime), resident()
		return
	}
	most := l.baseGoHeap + goHeapSlack
	if heap := leastGoHeap(most, settleTime); heap > most {
		l.fail("after cycle %d the Go heap has %d bytes, after the first it had %d", cycle, heap, l.baseGoHeap)
	}
	rss := resident()
	for ; rss > l.baseResident+residentSlack; settled += nap {
		if settled > settleTime {
			l.fail("%v after the drain of cycle %d %d bytes are resident, after the first %d were", settleTime, cycle, rss, l.baseResident)
			return
		}
		time.Sleep(nap)
		rss = resident()
	}
	if rss > 0 {
		l.worstResident = max(l.worstResident, time.Since(start))
	}
}

// leastGoHeap looks how many bytes the Go heap has until there are no more than enough, or
// for a while, and returns the least: the tick that dropped the chunks may be unmapping them
// yet, and until then has what describes them. It also has the runtime give back garbage.
func leastGoHeap(enough int64, most time.Duration) int64 {
	least := int64(math.MaxInt64)
	for waited := time.Duration(0); ; waited += nap {
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if least = min(least, int64(m.HeapAlloc)); least <= enough || waited >= most {
			return least
		}
		time.Sleep(nap)
	}
}

// finish closes the allocators.
func (l *load) finish() {
	l.other.Free(l.lent)
	for _, a := range []*gomem.ScalableMemoryAllocator{l.a, l.other} {
		if err := a.Close(); err != nil {
			l.fail("Close: %w", err)
		}
		if s := a.Stats(); s.Backing != 0 || s.Chunks != 0 {
			l.fail("after Close there is %+v", s)
		}
	}
}

// disturb calls what walks through the whole allocator, during the load.
func (l *load) disturb(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		wait(ctx, 50*time.Millisecond)
		if l.phase.Load() == idle {
			continue
		}
		if err := l.a.Verify(); err != nil {
			l.fail("Verify: %w", err)
		}
		l.verified.Add(1)
		if s := l.a.Stats(); s.Backing < 0 || s.Chunks < 0 || s.EmptyChunks > s.Chunks {
			l.fail("Stats: %+v", s)
		}
		if n%4 == 3 {
			l.a.Trim()
			l.trimmed.Add(1)
		}
	}
}
