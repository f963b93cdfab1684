package rows

import "github.com/gomem-go/gomem"

const mib = 1 << 20

// cliffs are states in which the predecessor's cost grew with the number of
// blocks or chunks.
func cliffs() []Row {
	return []Row{
		{Group: "cliff", Name: "op=free-every-second/blocks=65536/size=64B", Published: 168_000, Start: func() (func(int), func()) {
			a := gomem.NewScalableMemoryAllocator(8 * mib)
			blocks := make([][]byte, 65_536)
			fill(a, blocks, func(int) int { return 64 })
			next := 0
			return func(n int) {
				for range n {
					if next == len(blocks) {
						for i := 0; i < len(blocks); i += 2 {
							blocks[i] = a.Malloc(64)
						}
						next = 0
					}
					a.Free(blocks[next])
					next += 2
				}
			}, a.Recycle
		}},
		{Group: "cliff", Name: "op=malloc-free/state=full-chunk/size=64B", Published: 445_000, Start: func() (func(int), func()) {
			a := gomem.NewScalableMemoryAllocator(8 * mib)
			fill(a, make([][]byte, 8*mib/64-1), func(int) int { return 64 })
			return func(n int) { pairs(64)(a, n) }, a.Recycle
		}},
		{Group: "cliff", Name: "op=malloc-free/state=251-chunks/size=4KiB", Published: 1_100, Start: func() (func(int), func()) {
			a := gomem.NewScalableMemoryAllocator(64 << 10)
			for a.Stats().Chunks < 251 && a.Stats().Backing < 1024*mib {
				a.Malloc(mib)
			}
			return func(n int) { pairs(4096)(a, n) }, a.Recycle
		}},
	}
}
