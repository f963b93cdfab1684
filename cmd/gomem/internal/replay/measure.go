package replay

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/internal/stopwatch"
	"github.com/gomem-go/gomem/internal/trace"
)

// outcome is what one configuration cost on one trace.
type outcome struct {
	Config      string
	NsPerOp     float64 // median of the rounds
	P99, Worst  time.Duration
	AllocsPerOp float64 // on the Go heap, once warm
	Latency     histogram
	Memory      memory
}

// allocator is one block table over one source of memory. An operation that
// the memory cannot serve is an error with its number.
type allocator struct {
	a      *gomem.ScalableMemoryAllocator // nil: the Go heap
	blocks [][]byte
	next   int
}

func newAllocator(c config, src *recorder, t *trace.Trace) *allocator {
	al := &allocator{blocks: make([][]byte, len(t.Sizes))}
	if c.source != nil {
		al.a = c.allocator(src, t.FirstChunk())
	}
	return al
}

func (al *allocator) close() error {
	clear(al.blocks)
	if al.a == nil {
		return nil
	}
	return al.a.Close()
}

const (
	stretch = 1 << 16 // operations between two looks at the context
	warmOps = 1 << 16 // operations, or one round of more, until the lists of an allocator have grown
)

// round runs the operations of t once.
func (al *allocator) round(ctx context.Context, t *trace.Trace) error {
	al.next = 0
	for start := 0; start < len(t.Ops); start += stretch {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		ops := t.Ops[start:min(start+stretch, len(t.Ops))]
		var at int
		var err error
		if al.a == nil {
			at, err = al.runHeap(ops)
		} else {
			at, err = al.runAllocator(ops)
		}
		if err != nil {
			return &trace.OpError{Op: start + at, Err: err}
		}
	}
	return nil
}

func (al *allocator) runAllocator(ops []uint32) (int, error) {
	a, blocks, next := al.a, al.blocks, al.next
	for i, op := range ops {
		if op&trace.FreeBit != 0 {
			if b := blocks[op&^trace.FreeBit]; !a.Free(b) {
				return i, fmt.Errorf("the free of a live block of %d bytes was refused", len(b))
			}
			continue
		}
		b, err := a.TryMalloc(int(op))
		if err != nil {
			return i, err
		}
		b[0] = 1
		blocks[next] = b
		next++
	}
	al.next = next
	return 0, nil
}

func (al *allocator) runHeap(ops []uint32) (int, error) {
	blocks, next := al.blocks, al.next
	for _, op := range ops {
		if op&trace.FreeBit != 0 {
			blocks[op&^trace.FreeBit] = nil
			continue
		}
		b := make([]byte, op)
		b[0] = 1
		blocks[next] = b
		next++
	}
	al.next = next
	return 0, nil
}

// measure runs t on c: once while memory is recorded, until it is warm, for rounds
// rounds as fast as it goes, and once with a clock at every operation.
func measure(ctx context.Context, c config, t *trace.Trace, rounds int) (out outcome, err error) {
	out.Config = c.name
	src := newRecorder(c)
	al := newAllocator(c, src, t)
	defer func() {
		if closeErr := al.close(); err == nil {
			err = closeErr
		}
	}()
	if out.Memory, err = al.watch(ctx, src, t); err != nil {
		return out, err
	}
	if out.NsPerOp, out.AllocsPerOp, err = al.throughput(ctx, t, rounds); err != nil {
		return out, err
	}
	out.Latency, err = al.latency(ctx, t)
	out.P99, out.Worst = out.Latency.quantile(0.99), out.Latency.worst
	return out, err
}

func (al *allocator) throughput(ctx context.Context, t *trace.Trace, rounds int) (ns, allocs float64, err error) {
	runtime.GC()
	for ran := 0; ran < warmOps; ran += len(t.Ops) {
		if err := al.round(ctx, t); err != nil {
			return 0, 0, err
		}
	}
	all := make([]float64, rounds)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range all {
		start := stopwatch.Now()
		if err := al.round(ctx, t); err != nil {
			return 0, 0, err
		}
		all[i] = float64((stopwatch.Now() - start).Nanoseconds()) / float64(len(t.Ops))
	}
	runtime.ReadMemStats(&after)
	// The collector and the clock make a few allocations of their own.
	made := float64(after.Mallocs-before.Mallocs) / (float64(len(t.Ops)) * float64(rounds))
	return median(all), made, nil
}

// median sorts all and returns what is in the middle, of two the larger; all must
// not be empty.
func median[T cmp.Ordered](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

// latency runs t with a clock at every operation, less what the clock takes.
func (al *allocator) latency(ctx context.Context, t *trace.Trace) (histogram, error) {
	var h histogram
	cost := clockCost()
	al.next = 0
	last := stopwatch.Now()
	for i, op := range t.Ops {
		if i%stretch == 0 {
			if ctx.Err() != nil {
				return h, context.Cause(ctx)
			}
			last = stopwatch.Now()
		}
		if err := al.one(op); err != nil {
			return h, &trace.OpError{Op: i, Err: err}
		}
		now := stopwatch.Now()
		h.add(max(now-last-cost, 0))
		last = stopwatch.Now() // what add takes is not the next operation's
	}
	return h, nil
}

// one runs a single operation.
func (al *allocator) one(op uint32) error {
	ops := [1]uint32{op}
	var err error
	if al.a == nil {
		_, err = al.runHeap(ops[:])
	} else {
		_, err = al.runAllocator(ops[:])
	}
	return err
}

// clockCost is the median time between two looks at the clock.
func clockCost() time.Duration {
	gaps := make([]time.Duration, 1001)
	last := stopwatch.Now()
	for i := range gaps {
		now := stopwatch.Now()
		gaps[i] = now - last
		last = now
	}
	return median(gaps)
}
