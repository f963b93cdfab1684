package backing

// leastShare is the part of all memory that GoLimit leaves to the Go heap: with next to
// nothing the collector would run all the time.
const leastShare = 16

// Mapped returns how many bytes the mappings of all [Mmap] sources have at this moment,
// in whole pages, resident or not. They are outside of the Go heap, so GOMEMLIMIT does
// not count them. Mapped is 0 where Mmap is [Heap]. O(1). Safe for use by several
// goroutines.
func Mapped() int { return mapped() }

// GoLimit returns the memory limit that keeps the Go heap and what is [Mapped] within
// total bytes together: total less Mapped, but at least a 16th of total. It changes
// nothing. A program in a container of 1 GiB whose mappings grow and shrink should now
// and then call
//
//	debug.SetMemoryLimit(backing.GoLimit(1 << 30))
//
// O(1). Safe for use by several goroutines.
func GoLimit(total int64) int64 { return max(total-int64(Mapped()), total/leastShare) }
