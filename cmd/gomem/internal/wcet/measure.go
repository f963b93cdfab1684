package wcet

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/gomem-go/gomem/internal/stopwatch"
	"github.com/gomem-go/gomem/tlsf"
)

// settings are the command's flags.
type settings struct {
	samples   int
	poolBytes int
	evict     int // bytes written between the samples of a cold row
	locked    bool
	histogram bool
}

// row is one line of the table: one operation.
type row struct {
	situation string
	size      int
	cold      bool
	summary
}

// summary is what is printed of samples. These may be many, so that one row's are
// kept at a time.
type summary struct {
	quantiles [len(shares)]time.Duration
	counts    [64]int // by the number of bits of the time in ns
}

// shares are those of the quantiles.
var shares = [...]float64{0.5, 0.9, 0.99, 0.999, 1}

// summarize sorts samples, of which there must be one.
func summarize(samples []time.Duration) (s summary) {
	slices.Sort(samples)
	for i, q := range shares {
		s.quantiles[i] = quantile(samples, q)
	}
	for _, d := range samples {
		s.counts[bits.Len64(uint64(max(d, 0)))]++
	}
	return s
}

// quantile is the least sample that the share q of all samples, in ascending order,
// does not exceed.
func quantile(samples []time.Duration, q float64) time.Duration {
	rank := int(math.Ceil(q*float64(len(samples)))) - 1
	return samples[min(max(rank, 0), len(samples)-1)]
}

// quiet turns the collector off, but for calls of runtime.GC, and binds the goroutine to
// its thread; restore undoes both.
func quiet() (restore func()) {
	runtime.GC()
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(math.MaxInt64)
	runtime.LockOSThread()
	return func() {
		runtime.UnlockOSThread()
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
}

// measure times every situation at every size, with a warm cache and, if there
// is anything to evict it with, a cold one. The first row is the clock alone. Beside an
// error are the rows that came before it.
func measure(ctx context.Context, s settings, progress func(done, all int)) ([]row, error) {
	defer quiet()()
	evict := make([]byte, s.evict)
	states := []bool{false, true}
	if s.evict == 0 {
		states = states[:1]
	}
	all := len(states) * (1 + len(situations)*len(sizes))
	var rows []row
	samples := make([]time.Duration, s.samples)
	for _, cold := range states {
		if err := sample(ctx, samples, cold, evict, func() {}, func() {}); err != nil {
			return rows, err
		}
		rows = append(rows, row{"clock alone", 0, cold, summarize(samples)})
		for _, sit := range situations {
			for _, size := range sizes {
				if err := s.run(ctx, samples, sit, size, cold, evict); err != nil {
					return rows, fmt.Errorf("%s, %d bytes: %w", sit.name, size, err)
				}
				rows = append(rows, row{sit.name, size, cold, summarize(samples)})
				runtime.GC() // a pool's tables are a quarter of it
				progress(len(rows), all)
			}
		}
	}
	return rows, nil
}

// run fills samples with the times of one situation at one size, in a pool of its own.
func (s settings) run(ctx context.Context, samples []time.Duration, sit situation, size int, cold bool, evict []byte) (err error) {
	opts := []tlsf.Option{tlsf.WithMmap(), tlsf.WithPopulate(), tlsf.WithBlocks(64)}
	if s.locked {
		opts = append(opts, tlsf.WithLocked())
	}
	pool, err := tlsf.New(s.poolBytes, opts...)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := pool.Close(); err == nil {
			err = cerr
		}
	}()
	b := &bench{pool: pool}
	op, undo := sit.arrange(b, size)
	before := pool.Stats().Used
	err = sample(ctx, samples, cold, evict, op, undo)
	switch {
	case err != nil:
		return err
	case b.err != nil:
		return b.err
	case pool.Stats().Used != before:
		return fmt.Errorf("%d bytes in use after the samples, %d before", pool.Stats().Used, before)
	}
	return nil
}

const (
	cacheLine = 64
	warmUp    = 1000 // operations before the first sample of a warm row
)

// sample fills samples with the times of op, undone each time.
func sample(ctx context.Context, samples []time.Duration, cold bool, evict []byte, op, undo func()) error {
	if !cold {
		for range warmUp {
			op()
			undo()
		}
	}
	for i := range samples {
		if i%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if cold {
			for at := 0; at < len(evict); at += cacheLine {
				evict[at]++
			}
		}
		start := stopwatch.Now()
		op()
		samples[i] = stopwatch.Now() - start
		undo()
	}
	return nil
}
