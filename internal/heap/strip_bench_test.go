package heap

import (
	"fmt"
	"testing"
)

// BenchmarkShortRead is a block of 16 KiB of which 1,400 bytes are kept until so
// many others were read. With -cpu 1,2 it shows what sharing costs.
func BenchmarkShortRead(b *testing.B) {
	for _, kept := range []int{1, 64, 4096} {
		b.Run(fmt.Sprintf("kept=%d", kept), func(b *testing.B) {
			h := newHeap(1 << 20)
			b.RunParallel(func(pb *testing.PB) {
				ring := make([][]byte, kept)
				for i := 0; pb.Next(); i++ {
					read := h.Malloc(readSize)
					ok := h.Free(read[1400:])
					if old := ring[i%kept]; old != nil {
						ok = h.Free(old) && ok
					}
					if ring[i%kept] = read[:1400]; !ok {
						b.Error("refused")
					}
				}
				for _, old := range ring {
					h.Free(old)
				}
			})
		})
	}
}
