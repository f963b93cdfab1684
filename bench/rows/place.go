package rows

import "github.com/gomem-go/gomem"

// onOffsets makes a row that works on the offset allocator of 64 KiB.
func onOffsets(name string, published float64, loop func(a *gomem.Allocator, n int)) Row {
	return Row{Group: "Allocator", Name: name, Published: published, Start: func() (func(int), func()) {
		a := gomem.NewAllocator(64 << 10)
		return func(n int) { loop(a, n) }, a.Recycle
	}}
}

// offsetPairs is the loop of a pair of each size in turn.
//
// It is not inlined: a function literal that is copied into a caller loses the
// inlining of what it calls, and the row would measure calls that no user makes.
//
//go:noinline
func offsetPairs(sizes ...int) func(a *gomem.Allocator, n int) {
	return func(a *gomem.Allocator, n int) {
		for i := range n {
			size := sizes[i%len(sizes)]
			a.Free(a.Allocate(size), size)
		}
	}
}

func offsets() []Row {
	const kib = 1 << 10
	return []Row{
		onOffsets("op=allocate-free/size=1KiB", 24, offsetPairs(kib)),
		onOffsets("op=allocate-free/size=64B", 23, offsetPairs(64)),
		onOffsets("op=allocate-free/size=8KiB", 23, offsetPairs(8*kib)),
		onOffsets("op=allocate-free/size=64B-4KiB", 25, offsetPairs(64, 256, 1024, 4096)),
		onOffsets("op=50-allocates-50-frees/size=1KiB", 1224, func(a *gomem.Allocator, n int) {
			var at [50]int
			for range n {
				for i := range at {
					at[i] = a.Allocate(kib)
				}
				for _, o := range at {
					a.Free(o, kib)
				}
			}
		}),
		onOffsets("op=get-free-size", 7.7, func(a *gomem.Allocator, n int) {
			for range n {
				Count += int64(a.GetFreeSize())
			}
		}),
		onOffsets("op=find/size=1KiB", 3.5, func(a *gomem.Allocator, n int) {
			for range n {
				Count += int64(a.Find(kib))
			}
		}),
	}
}

// onBuddy makes a row that works on a fresh buddy; sizes are in granules of
// 1 KiB.
func onBuddy(name string, published float64, loop func(b *gomem.Buddy, n int)) Row {
	return Row{Group: "Buddy", Name: name, Published: published, Start: func() (func(int), func()) {
		b := gomem.NewBuddy()
		return func(n int) { loop(b, n) }, func() {}
	}}
}

//go:noinline
func buddyPairs(granules int) func(b *gomem.Buddy, n int) {
	return func(b *gomem.Buddy, n int) {
		for range n {
			at, err := b.Alloc(granules)
			must(err)
			must(b.Free(at))
		}
	}
}

func buddies() []Row {
	return []Row{
		onBuddy("op=alloc-free/size=1MiB", 122, buddyPairs(1024)),
		onBuddy("op=alloc-free/size=64KiB", 150, buddyPairs(64)),
		onBuddy("op=alloc-free/size=8MiB", 96, buddyPairs(8192)),
		onBuddy("op=100-allocs-100-frees/size=1MiB", 9120, func(b *gomem.Buddy, n int) {
			var at [100]int
			for range n {
				for i := range at {
					var err error
					at[i], err = b.Alloc(1024)
					must(err)
				}
				for _, o := range at {
					must(b.Free(o))
				}
			}
		}),
	}
}

// onRecyclable makes a row that works on recyclable memory, with recycling on
// whatever the build says.
func onRecyclable(name string, published float64, loop func(r *gomem.RecyclableMemory, n int)) Row {
	return Row{Group: "RecyclableMemory", Name: name, Published: published, Start: func() (func(int), func()) {
		a := gomem.NewScalableMemoryAllocator(1024)
		r := gomem.NewRecyclableMemory(a)
		r.SetRecycling(true)
		return func(n int) { loop(&r, n) }, func() {
			r.Recycle()
			a.Recycle()
		}
	}}
}

func recyclable() []Row {
	return []Row{
		onRecyclable("op=next-n/size=1KiB/recycle=every-100", 73, func(r *gomem.RecyclableMemory, n int) {
			for i := range n {
				Sink = r.NextN(1024)
				if i%100 == 99 {
					r.Recycle()
				}
			}
		}),
		onRecyclable("op=10-next-n-recycle/size=1KiB", 740, func(r *gomem.RecyclableMemory, n int) {
			for range n {
				for range 10 {
					Sink = r.NextN(1024)
				}
				r.Recycle()
			}
		}),
	}
}
