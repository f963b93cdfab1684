package lac

import (
	"math"
	"testing"
)

// However many idle chunks are allowed, the bound is a whole number of chunks
// that does not overflow.
func TestIdleLimit(t *testing.T) {
	for _, c := range []struct {
		most   int
		chunks uintptr
	}{
		{-1, 0}, {0, 0}, {1, 1}, {1024, 1024}, {1 << 20, min(1<<20, maxAlloc/defaultChunkSize)},
		{math.MaxInt, maxAlloc / defaultChunkSize}, {math.MaxInt/defaultChunkSize + 1, maxAlloc / defaultChunkSize},
	} {
		p := NewPool(t.Name(), WithIdleChunks(0, c.most))
		if got := p.store.limit; got != c.chunks*defaultChunkSize {
			t.Errorf("%d chunks: bound %d bytes, want %d chunks", c.most, got, c.chunks)
		}
	}
}
