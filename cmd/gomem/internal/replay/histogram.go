package replay

import (
	"math"
	"math/bits"
	"time"
)

// histogram counts durations in buckets that are an eighth of their value wide
// or less.
//
//	bucket  0 1 … 15   16 … 23   24 … 31   …
//	ns      0 1 … 15   16 … 31   32 … 63   …
type histogram struct {
	counts [buckets]int
	total  int
	worst  time.Duration
}

const (
	exact   = 16 // values that have a bucket of their own
	perStep = 8  // buckets between two powers of two
	buckets = exact + (63-4)*perStep
)

func bucketOf(d time.Duration) int {
	if d < exact {
		return int(max(d, 0))
	}
	power := bits.Len64(uint64(d)) - 1
	part := int(uint64(d)>>(power-3)) - perStep
	return exact + (power-4)*perStep + part
}

// bucketStart is the least duration in bucket i.
func bucketStart(i int) time.Duration {
	if i < exact {
		return time.Duration(i)
	}
	power, part := (i-exact)/perStep+4, (i-exact)%perStep
	return time.Duration(perStep+part) << (power - 3)
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
	h.worst = max(h.worst, d)
}

// quantile returns the most that a value can be in the bucket in which the share q of
// all values is reached, 0 without values.
func (h *histogram) quantile(q float64) time.Duration {
	rank, seen := max(int(math.Ceil(q*float64(h.total))), 1), 0
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return min(bucketStart(i+1)-1, h.worst)
		}
	}
	return 0
}
