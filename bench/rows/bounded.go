package rows

import (
	"fmt"

	"github.com/gomem-go/gomem/offset"
)

// Fragments are the numbers of free blocks at which [Bounded] measures.
var Fragments = []int{100, 10_000, 1_000_000}

// Bounded returns a row for each number of [Fragments]: a pair on a TLSF
// placement that has so many free blocks of one size between live ones.
func Bounded() []Row {
	var all []Row
	for _, n := range Fragments {
		all = append(all, Row{Group: "offset.TLSF", Name: fmt.Sprintf("op=free-allocate/fragments=%d", n), Start: func() (func(int), func()) {
			const size = 64
			place := offset.NewTLSF(2*n*size, 16)
			for range 2 * n {
				place.Allocate(size)
			}
			for i := range n {
				must(place.Free(2*i*size, size))
			}
			at := place.Allocate(size)
			return func(n int) {
				for range n {
					must(place.Free(at, size))
					at = place.Allocate(size)
				}
			}, func() {}
		}})
	}
	return all
}
