// Package offsettest is the conformance kit for placements: whatever implements
// [offset.Allocator] is driven by random programs next to an oracle that is too
// simple to be wrong, and the two are compared after each operation.
//
//	func TestMine(t *testing.T) {
//		offsettest.Run(t, offsettest.Config{
//			New: func(size int) offset.Allocator { return NewMine(size) },
//		})
//	}
//
// The oracle ([Oracle]) keeps the live ranges in order and nothing else. From
// it a [Config] derives what the placement must show: which offsets are free
// (all that are not live, unless the placement rounds) and which requests must
// succeed (those that fit in a free block, unless it searches by class). So "no
// false out-of-memory" is an equality here, not a tolerance. A placement with the
// methods Split and Granule of [offset.TLSF] is held to these, too.
package offsettest

import (
	"slices"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// Config describes a placement to the kit. Only New is required; the zero value
// of the rest describes one that is exact to the byte and serves a request
// whenever some free block holds it, as the trees do.
type Config struct {
	// New makes an empty allocator of [0, size).
	New func(size int) offset.Allocator

	// Sizes are the ranges to run programs on. Default: 0 to 1 MiB, odd ones
	// among them. New may round them.
	Sizes []int

	// Large is the range for sizes and alignments near the top of it, by default
	// 1 GiB; less for a placement whose tables would grow with it.
	Large int

	// FreeBlocks appends to dst the free blocks, ascending and merged, that
	// Blocks must yield when the oracle stands as o. A placement that rounds
	// says here which offsets are held although nothing live is in them. The
	// default is what o itself has free.
	FreeBlocks func(dst []offset.Block, o *Oracle) []offset.Block

	// FreeBytes is what FreeBytes must return; the default is the offsets that
	// are not live.
	FreeBytes func(o *Oracle) int

	// Fits reports whether a request of size offsets at a multiple of align
	// must be served from the given free blocks; align is 1 for Allocate. The
	// default: some block holds it.
	Fits func(free []offset.Block, size, align int) bool

	// Ends says that the placement knows where its blocks end, and refuses a
	// Free that runs from one live block into the next. The trees do not.
	Ends bool

	// Ops is the number of random operations of [Run]; default 1,000,000,
	// a tenth of that under -short.
	Ops int
}

func (c Config) withDefaults() Config {
	if len(c.Sizes) == 0 {
		c.Sizes = []int{0, 1, 7, 64, 1000, 4096, 1 << 16, 1 << 20}
	}
	if c.Large == 0 {
		c.Large = 1 << 30
	}
	if c.FreeBytes == nil {
		c.FreeBytes = func(o *Oracle) int { return o.Size() - o.LiveBytes() }
	}
	if c.FreeBlocks == nil {
		c.FreeBlocks = func(dst []offset.Block, o *Oracle) []offset.Block { return o.AppendFree(dst) }
	}
	if c.Fits == nil {
		c.Fits = func(free []offset.Block, size, align int) bool {
			return slices.ContainsFunc(free, func(b offset.Block) bool { return Holds(b, size, align) })
		}
	}
	if c.Ops == 0 {
		c.Ops = 1_000_000
		if testing.Short() {
			c.Ops /= 10
		}
	}
	return c
}

// Holds reports whether size offsets from a multiple of align lie within b.
// O(1).
func Holds(b offset.Block, size, align int) bool {
	skip := -b.Start & (align - 1)
	return skip <= b.Size() && size <= b.Size()-skip
}

// programOps is the length of one random program of Run: long enough to fill
// the range and empty it several times, short enough to read when it fails.
const programOps = 4000

// Run is the whole suite: random programs, patterns that break unbalanced
// structures, misuse, extreme sizes, and a count of Go allocations.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	cfg = cfg.withDefaults()
	t.Run("programs", func(t *testing.T) {
		for seed := range uint64(max(1, cfg.Ops/programOps)) {
			runProgram(t, cfg, Random(seed, programOps), seed, 64)
		}
	})
	t.Run("patterns", func(t *testing.T) { runPatterns(t, cfg) })
	t.Run("misuse", func(t *testing.T) { runMisuse(t, cfg) })
	t.Run("extremes", func(t *testing.T) { runExtremes(t, cfg) })
	t.Run("steady", func(t *testing.T) { runSteady(t, cfg) })
}

// Program runs one program decoded from data, any bytes at all, and checks
// everything, Verify included, after every operation. It is the body of a fuzz
// target: all state is made here, so a crasher replays.
func Program(t testing.TB, cfg Config, data []byte) {
	t.Helper()
	runProgram(t, cfg.withDefaults(), data, 0, 1)
}
