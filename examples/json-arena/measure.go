package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"text/tabwriter"
	"time"
)

// cost is what some rounds of work took, per round.
type cost struct {
	time   time.Duration
	allocs float64
	bytes  float64
	gcTime time.Duration // processor time of the collector, in all
	gcs    uint32        // collections, in all
}

// measure runs f rounds times on a clean heap.
func measure(rounds int, f func() error) (cost, error) {
	if err := f(); err != nil {
		return cost{}, err
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	gc, start := gcTime(), time.Now()
	for range rounds {
		if err := f(); err != nil {
			return cost{}, err
		}
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	n := float64(rounds)
	return cost{
		time:   took / time.Duration(rounds),
		allocs: float64(after.Mallocs-before.Mallocs) / n,
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / n,
		gcTime: gcTime() - gc,
		gcs:    after.NumGC - before.NumGC,
	}, nil
}

// gcTime is the processor time the collector took so far.
func gcTime() time.Duration {
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(sample)
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}

func printTable(w io.Writer, heap, arena cost) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\ttime\tallocations\tbytes\tcollections\tcollector\t")
	for _, row := range []struct {
		name string
		cost cost
	}{{"heap", heap}, {"arena", arena}} {
		c := row.cost
		fmt.Fprintf(t, "%s\t%v\t%.1f\t%.0f\t%d\t%v\t\n", row.name, c.time.Round(100*time.Nanosecond), c.allocs, c.bytes,
			c.gcs, c.gcTime.Round(10*time.Microsecond))
	}
	return t.Flush()
}
