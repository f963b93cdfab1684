// Command pairs prints what a Malloc with its Free takes, in ns: one after the
// other, and 500 of each; and whether a block can be freed twice. Package unchecked
// builds it twice.
package main

import (
	"fmt"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/internal/stopwatch"
)

func main() {
	a := gomem.NewScalableMemoryAllocator(1 << 20)
	defer a.Recycle()
	single, batch := median(func(n int) {
		for range n {
			a.Free(a.Malloc(64))
		}
	}), median(func(n int) {
		var blocks [500][]byte
		for ; n > 0; n -= len(blocks) {
			for i := range blocks {
				blocks[i] = a.Malloc(256)
			}
			for _, b := range blocks {
				a.Free(b)
			}
		}
	})
	b := a.Malloc(64)
	a.Free(b)
	fmt.Printf("single=%.3f batch=%.3f twice=%t\n", single, batch, a.Free(b))
}

// median is that of many short turns: few of them are disturbed.
func median(loop func(n int)) float64 {
	const pairs = 50_000
	loop(pairs)
	ns := make([]float64, 31)
	for i := range ns {
		start := stopwatch.Now()
		loop(pairs)
		ns[i] = float64((stopwatch.Now() - start).Nanoseconds()) / pairs
	}
	return rival.Summarize(ns).Median
}
