package wcet

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

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

// row is one line of the table: the samples of one operation, ascending.
type row struct {
	situation string
	size      int
	cold      bool
	samples   []time.Duration
}

// quantile is the least sample that the share q of all samples does not
// exceed. Requires a sample.
func (r *row) quantile(q float64) time.Duration {
	rank := int(math.Ceil(q*float64(len(r.samples)))) - 1
	return r.samples[min(max(rank, 0), len(r.samples)-1)]
}

// quiet turns the collector off and binds the goroutine to its thread; restore
// undoes both.
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
// is anything to evict it with, a cold one. The first row is the clock alone.
func measure(ctx context.Context, s settings, progress func(done, all int)) ([]row, error) {
	defer quiet()()
	evict := make([]byte, s.evict)
	states := []bool{false, true}
	if s.evict == 0 {
		states = states[:1]
	}
	all := len(states) * (1 + len(situations)*len(sizes))
	var rows []row
	for _, cold := range states {
		clock, err := sample(ctx, s, cold, evict, func() {}, func() {})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{"clock alone", 0, cold, clock})
		for _, sit := range situations {
			for _, size := range sizes {
				samples, err := s.run(ctx, sit, size, cold, evict)
				if err != nil {
					return nil, fmt.Errorf("%s, %d bytes: %w", sit.name, size, err)
				}
				rows = append(rows, row{sit.name, size, cold, samples})
				progress(len(rows), all)
			}
		}
	}
	return rows, nil
}

// run times one situation at one size, in a pool of its own.
func (s settings) run(ctx context.Context, sit situation, size int, cold bool, evict []byte) (samples []time.Duration, err error) {
	opts := []tlsf.Option{tlsf.WithMmap(), tlsf.WithPopulate(), tlsf.WithBlocks(64)}
	if s.locked {
		opts = append(opts, tlsf.WithLocked())
	}
	pool, err := tlsf.New(s.poolBytes, opts...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := pool.Close(); err == nil {
			err = cerr
		}
	}()
	b := &bench{pool: pool}
	op, undo := sit.arrange(b, size)
	before := pool.Stats().Used
	samples, err = sample(ctx, s, cold, evict, op, undo)
	switch {
	case err != nil:
		return nil, err
	case b.err != nil:
		return nil, b.err
	case pool.Stats().Used != before:
		return nil, fmt.Errorf("%d bytes in use after the samples, %d before", pool.Stats().Used, before)
	}
	return samples, nil
}

const (
	cacheLine = 64
	warmUp    = 1000 // operations before the first sample of a warm row
)

// sample times op, undone each time, and returns the times in ascending order.
func sample(ctx context.Context, s settings, cold bool, evict []byte, op, undo func()) ([]time.Duration, error) {
	samples := make([]time.Duration, s.samples)
	if !cold {
		for range warmUp {
			op()
			undo()
		}
	}
	epoch := time.Now()
	for i := range samples {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if cold {
			for at := 0; at < len(evict); at += cacheLine {
				evict[at]++
			}
		}
		start := time.Since(epoch)
		op()
		samples[i] = time.Since(epoch) - start
		undo()
	}
	slices.Sort(samples)
	return samples, nil
}
