package rows

import "github.com/gomem-go/gomem/tlsf"

func realTime() []Row {
	pair := func(size int64) Row {
		return Row{Group: "tlsf.Arena", Name: "op=allocate-free/size=" + sizeText(size), Published: 690, Start: func() (func(int), func()) {
			a := tlsf.NewArena(1 << 20)
			return func(n int) {
				for range n {
					p, err := a.Allocate(size)
					must(err)
					a.Free(p)
				}
			}, a.Dispose
		}}
	}
	return []Row{pair(64), pair(460), pair(4096)}
}
