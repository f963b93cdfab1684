package backing

// leastShare is the part of all memory that GoLimit leaves to the Go heap: with next to
// nothing the collector would run all the time.
const leastShare = 16

// Mapped returns how many bytes the mappings of all [Mmap] sources have at this moment, in
// whole pages, in memory or not. They are outside of the Go heap, so GOMEMLIMIT does not
// count them; 0 where Mmap is [Heap]. O(1). Safe for use by several goroutines.
func Mapped() int { return mapped() }

// GoLimit returns which memory limit the Go heap should have so that it stays within
// total bytes together with what is [Mapped]: the rest, but at least a 16th of total. It
// changes nothing. A program in a container of 1 GiB that takes more or less from the
// system as it goes calls now and then
//
//	debug.SetMemoryLimit(backing.GoLimit(1 << 30))
//
// O(1). Safe for use by several goroutines.
func GoLimit(total int64) int64 { return max(total-int64(Mapped()), total/leastShare) }
