package tlsf

import "github.com/gomem-go/gomem/backing"

// Option changes how [New] makes a pool.
type Option func(*config)

type config struct {
	src      backing.Source // nil: the Go heap, or mmap if there are options for it
	mmap     []backing.MmapOption
	offHeap  bool
	populate bool
	shared   bool
	blocks   int
}

// source is the backing that the options come to.
func (c *config) source() backing.Source {
	switch {
	case c.src != nil:
		return c.src
	case c.offHeap:
		return backing.Mmap(c.mmap...)
	}
	return backing.Heap()
}

// WithMmap takes the pool's memory from the operating system instead of the Go
// heap: the collector does not count it, no page is touched before it is used,
// and a lack of memory is an error from New instead of the end of the program.
// The pool must then be closed, or its memory is lost, and no block may be
// touched after Close. Systems without such calls, and programs under the race
// detector, get the Go heap.
func WithMmap() Option { return func(c *config) { c.offHeap = true } }

// WithPopulate touches every page of the pool and of its tables in New, so that
// no later access waits for the system to find one.
func WithPopulate() Option {
	return func(c *config) {
		c.populate = true
		c.mmap = append(c.mmap, backing.Populate())
	}
}

// WithLocked is [WithMmap] with memory that is never paged out; New fails if
// that exceeds the process's limit (RLIMIT_MEMLOCK). The tables stay on the
// Go heap and are not locked.
func WithLocked() Option {
	return func(c *config) {
		c.offHeap = true
		c.mmap = append(c.mmap, backing.Locked())
	}
}

// WithHugePages is [WithMmap] with memory aligned to huge pages, and advises
// the system to use them where it takes such advice.
func WithHugePages() Option {
	return func(c *config) {
		c.offHeap = true
		c.mmap = append(c.mmap, backing.HugePages())
	}
}

// WithBacking takes the pool's memory from src and overrides the other options
// that choose where it comes from.
func WithBacking(src backing.Source) Option { return func(c *config) { c.src = src } }

// WithBlocks makes New grow the tables for n blocks, live and free together: as
// long as there are no more than that, no operation allocates. It takes 16
// bytes per block and 4.2 per granule. With the tag gomem_debug the checks allocate.
func WithBlocks(n int) Option { return func(c *config) { c.blocks = n } }

// WithLock makes the pool safe for use by several goroutines: each method then
// holds a mutex. Without it a pool belongs to one goroutine at a time.
func WithLock() Option { return func(c *config) { c.shared = true } }
