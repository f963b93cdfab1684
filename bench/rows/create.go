package rows

import (
	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
)

// create makes allocators over mmap and gives them back unused.
func create() []Row {
	row := func(name string, published float64, size int) Row {
		return Row{"creation", name, published, func() (func(int), func()) {
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
