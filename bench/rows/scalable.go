package rows

import "github.com/gomem-go/gomem"

// onAllocator makes a row that works on a fresh growing allocator.
func onAllocator(name string, published float64, loop func(a *gomem.ScalableMemoryAllocator, n int)) Row {
	return Row{Group: "ScalableMemoryAllocator", Name: name, Published: published, Start: func() (func(int), func()) {
		a := gomem.NewScalableMemoryAllocator(1024)
		return func(n int) { loop(a, n) }, a.Recycle
	}}
}

// pairs is the loop of a pair of each size in turn. Which size it is takes no
// division: that would be a fifth of the row.
func pairs(sizes ...int) func(a *gomem.ScalableMemoryAllocator, n int) {
	return func(a *gomem.ScalableMemoryAllocator, n int) {
		if len(sizes) == 1 {
			size := sizes[0]
			for range n {
				a.Free(a.Malloc(size))
			}
			return
		}
		for n > 0 {
			for _, size := range sizes[:min(n, len(sizes))] {
				a.Free(a.Malloc(size))
			}
			n -= len(sizes)
		}
	}
}

func borrows(size int) func(a *gomem.ScalableMemoryAllocator, n int) {
	return func(a *gomem.ScalableMemoryAllocator, n int) {
		for range n {
			Sink = a.Borrow(size)
		}
	}
}

// fill allocates len(blocks) blocks of a size that depends on the index.
func fill(a *gomem.ScalableMemoryAllocator, blocks [][]byte, size func(i int) int) {
	for i := range blocks {
		blocks[i] = a.Malloc(size(i))
	}
}

func freeAll(a *gomem.ScalableMemoryAllocator, blocks [][]byte) {
	for _, b := range blocks {
		a.Free(b)
	}
}

func scalable() []Row {
	const kib = 1 << 10
	return []Row{
		onAllocator("op=malloc-free/size=1KiB", 52, pairs(kib)),
		onAllocator("op=malloc-free/size=64B", 53, pairs(64)),
		onAllocator("op=malloc-free/size=8KiB", 59, pairs(8*kib)),
		onAllocator("op=malloc-free/size=64B-4KiB", 55, pairs(64, 128, 256, 512, 1024, 2048, 4096)),
		onAllocator("op=malloc-free/size=1KiB-16KiB", 53, pairs(kib, 2*kib, 4*kib, 8*kib, 16*kib)),
		onAllocator("op=borrow/size=1KiB", 25, borrows(kib)),
		onAllocator("op=borrow/size=64B", 27, borrows(64)),
		onAllocator("op=borrow/size=8KiB", 29, borrows(8*kib)),
		onAllocator("op=50-mallocs-50-frees/size=1KiB", 3120, func(a *gomem.ScalableMemoryAllocator, n int) {
			blocks := make([][]byte, 50)
			for range n {
				fill(a, blocks, func(int) int { return kib })
				freeAll(a, blocks)
			}
		}),
		onAllocator("op=malloc-borrow-in-turn/size=1KiB", 40, func(a *gomem.ScalableMemoryAllocator, n int) {
			for i := range n {
				if i&1 == 0 {
					a.Free(a.Malloc(kib))
				} else {
					Sink = a.Borrow(kib)
				}
			}
		}),
		onAllocator("op=free-rest-free/size=1KiB-256B", 93, func(a *gomem.ScalableMemoryAllocator, n int) {
			for range n {
				b := a.Malloc(kib)
				a.FreeRest(&b, 256)
				a.Free(b)
			}
		}),
		onAllocator("op=20-sizes-then-free/size=64B-1280B", 1276, func(a *gomem.ScalableMemoryAllocator, n int) {
			blocks := make([][]byte, 20)
			for range n {
				fill(a, blocks, func(i int) int { return 64 * (i + 1) })
				freeAll(a, blocks)
			}
		}),
		onAllocator("op=memory-pressure", 10160, pressure),
		onAllocator("op=statistics", 64, func(a *gomem.ScalableMemoryAllocator, n int) {
			for range n {
				Count += a.GetTotalMalloc() + a.GetTotalFree() + int64(a.Stats().Chunks)
			}
		}),
	}
}

// Count keeps figures that a loop reads from being optimized away.
var Count int64

// pressure holds a hundred blocks of growing size, of which every third is
// freed as soon as two more stand behind it.
func pressure(a *gomem.ScalableMemoryAllocator, n int) {
	blocks := make([][]byte, 100)
	for range n {
		for i := range blocks {
			blocks[i] = a.Malloc(64 + 64*i)
			if i%3 == 2 {
				a.Free(blocks[i-2])
				blocks[i-2] = nil
			}
		}
		for _, b := range blocks {
			if b != nil {
				a.Free(b)
			}
		}
	}
}
