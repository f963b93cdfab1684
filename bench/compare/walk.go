package compare

import (
	"runtime"

	"github.com/gomem-go/gomem/backing"
)

const (
	walkSize = 256 << 20
	page     = 4096
)

// Walk maps 256 MiB from src, touches all of it, and returns a loop that reads
// one byte of a page at a time, each in another place.
func Walk(src backing.Source) (walk func(n int), stop func(), err error) {
	mem, err := src.Map(walkSize)
	if err != nil {
		return nil, nil, err
	}
	for i := 0; i < len(mem); i += page {
		mem[i] = byte(i >> 12)
	}
	// 40,503 is odd, so its multiples visit every page before one comes again.
	const pages, stride = walkSize / page, 40_503
	at, sum := 0, byte(0)
	walk = func(n int) {
		for range n {
			at = (at + stride) % pages
			// What was read decides within the page where to read next, so that
			// one read cannot start before the last has ended.
			sum = mem[at*page+int(sum&15)*64] + sum>>1
		}
		runtime.KeepAlive(sum)
	}
	return walk, func() {
		if err := src.Unmap(mem); err != nil {
			panic(err)
		}
	}, nil
}
