//go:build gomem_steps

package tlsf_test

import (
	"maps"
	"testing"
	_ "unsafe" // for linkname

	"github.com/gomem-go/gomem/tlsf"
)

// placementSteps is the count that the placement keeps under this tag.
//
//go:linkname placementSteps github.com/gomem-go/gomem/offset.stepCount
var placementSteps int

// mostSteps bounds every operation: two cuts or merges, and the list work of
// the three blocks that come of them.
const mostSteps = 10

// Every kind of operation takes the same number of steps among 10 free blocks
// and among a million. Run it with -tags gomem_steps.
func TestSameStepsAtAnyNumberOfBlocks(t *testing.T) {
	var want map[string]int
	for _, n := range []int{10, 1_000, 100_000, 1_000_000} {
		got := operationSteps(t, fragmented(t, n))
		t.Logf("%7d free blocks: %v", n, got)
		if want == nil {
			want = got
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d free blocks: steps %v, among ten %v", n, got, want)
		}
		for name, steps := range got {
			if steps > mostSteps || steps == 0 {
				t.Errorf("%d free blocks: %s takes %d steps", n, name, steps)
			}
		}
	}
}

// operationSteps counts the steps of each kind of operation. The sizes are
// those of no free block that the pool may have already: 320 to 608 bytes.
func operationSteps(t *testing.T, p *tlsf.Pool) map[string]int {
	steps := map[string]int{}
	count := func(name string, f func()) {
		before := placementSteps
		f()
		steps[name] = placementSteps - before
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	// Six blocks side by side, each cut from the untouched rest, which only a
	// request of this size is sure to hit.
	const size, large = 160, 64 << 10
	var blocks [6][]byte
	for i := range blocks {
		var err error
		blocks[i], err = p.Resize(mustAlloc(t, p, large), size)
		must(err)
		if i > 0 && distance(blocks[i-1], blocks[i]) != size {
			t.Fatalf("block %d lies %d behind its neighbour", i, distance(blocks[i-1], blocks[i]))
		}
	}

	count("free alone", func() { must(p.Free(blocks[1])) })
	count("take the exact class", func() { blocks[1] = mustAlloc(t, p, size) })
	must(p.Free(blocks[1]))
	must(p.Free(blocks[3]))
	count("free between two free", func() { must(p.Free(blocks[2])) })
	count("cut a block", func() { blocks[1] = mustAlloc(t, p, size-16) })
	count("grow in place", func() {
		grown, err := p.Resize(blocks[1], size)
		must(err)
		blocks[1] = grown
	})
	count("shrink in place", func() {
		shrunk, err := p.Resize(blocks[1], 16)
		must(err)
		blocks[1] = shrunk
	})
	count("free beside a free block", func() { must(p.Free(blocks[1])) })
	count("take aligned", func() {
		b, err := p.AllocAligned(10_000, 4096)
		must(err)
		blocks[1] = b
	})
	count("free with a gap before", func() { must(p.Free(blocks[1])) })
	count("refuse a second free", func() {
		if p.Free(blocks[1]) == nil {
			t.Fatal("freed twice")
		}
	})
	count("refuse half a block", func() {
		if p.Free(blocks[5][8:]) == nil {
			t.Fatal("freed from the middle")
		}
	})
	return steps
}
