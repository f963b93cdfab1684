package rows

import (
	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
)

// create makes allocators over mmap and gives them back unused. The published
// figures are those of the predecessor's README.
func create() []Row {
	row := func(name string, published float64, size int) Row {
		return Row{Group: "creation", Name: name, Published: published, Elsewhere: "Apple M2 Pro", Start: func() (func(int), func()) {
			return func(n int) {
				for range n {
					a := gomem.NewScalableMemoryAllocator(size, gomem.WithBacking(backing.Mmap()))
					a.Recycle()
				}
			}, func() {}
		}}
	}
	return []Row{
		row("op=new-recycle/backing=mmap/size=1MiB", 799, mib),
		row("op=new-recycle/backing=mmap/size=16MiB", 777, 16*mib),
	}
}
