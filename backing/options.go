package backing

// MmapOption sets a property of the mappings of [Mmap]; options can be
// combined.
type MmapOption struct{ set mmapFlags }

// mmapFlags is a byte, so that a source is an interface value without an
// allocation: a program may have thousands of allocators.
type mmapFlags uint8

const (
	hugePages mmapFlags = 1 << iota
	populate
	locked
	guardPages
)

// HugePages aligns mappings of 2 MiB and more to 2 MiB, rounds the address
// space behind them up to a multiple of it, and advises the system to use huge
// pages. Touching one byte may then take 2 MiB of memory at once, and allocators give free
// memory back in whole pages of 2 MiB only, as a part would split one. On darwin and the
// BSDs, which have no such advice, the rest is the same; on Windows the option changes
// nothing.
func HugePages() MmapOption { return MmapOption{hugePages} }

// Populate makes Map touch every page, so that no later access waits for the
// system to find one. Map then takes time proportional to the size. Allocators do not give
// free pages of such mappings back.
func Populate() MmapOption { return MmapOption{populate} }

// Locked keeps mappings in physical memory (mlock, VirtualLock), which also
// populates them. Beyond the process's limit on locked memory
// (RLIMIT_MEMLOCK) Map fails with ErrOutOfMemory and the errno. Release does
// nothing for locked mappings.
func Locked() MmapOption { return MmapOption{locked} }

// GuardPages puts an inaccessible page before and behind each mapping, so that
// running off either end faults instead of reaching a neighbour. If the size
// of a mapping is not a multiple of the page, an overrun within its last page
// is not caught. Each mapping takes three of the system's mappings, of which
// Linux allows a process about 65,000.
func GuardPages() MmapOption { return MmapOption{guardPages} }

// Mmap is the operating system as a [Source]: anonymous private memory from
// mmap or VirtualAlloc. The garbage collector neither scans nor frees it: a
// Go pointer stored there keeps nothing alive, and a mapping dropped without
// Unmap is lost until the process ends.
//
// Map touches no page unless an option asks for it. Unmap refuses with
// ErrNotMapped, before the system is asked, anything that is not exactly a
// mapping that Map returned and that is still mapped. Release takes the whole
// pages inside mem: on Linux their memory is given back at once and they read
// as zero; elsewhere it is given back when the system needs it. The source is
// also a [Protector]. Safe for use by several goroutines; sources with equal
// options know each other's mappings.
//
// Under the race detector, which does not see foreign memory, and on systems
// without such calls (js, wasip1, plan9 and others) Mmap returns [Heap],
// whatever the options; Name tells which it is.
func Mmap(opts ...MmapOption) Source {
	var set mmapFlags
	for _, o := range opts {
		set |= o.set
	}
	return mmapWith(set)
}
