//go:build gomem_steps

package offset_test

import (
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// TestTLSFSteps counts the steps of operations with ever more free blocks.
func TestTLSFSteps(t *testing.T) {
	const block = 64
	var want []int
	for _, free := range []int{10, 1e3, 1e5, 1e6} {
		a := offset.NewTLSF(2*(free+20)*block, block)
		for range 2 * (free + 10) {
			a.Allocate(block)
		}
		for i := range free {
			if err := a.Free((2*i+4)*block, block); err != nil {
				t.Fatal(err)
			}
		}
		var got []int
		count := func(op func() bool) {
			before, _ := offset.StepCount()
			if !op() {
				t.Errorf("%d free blocks: operation %d failed", free, len(got))
			}
			after, _ := offset.StepCount()
			got = append(got, after-before)
		}
		at := 0
		// The block between two free ones is joined with both, cut again, and
		// so on: each kind of operation once.
		count(func() bool { return a.Free(5*block, block) == nil })
		count(func() bool { at = a.Allocate(3 * block); return at == 4*block })
		count(func() bool { return a.Free(at+10, 20) == nil })
		count(func() bool { return a.Free(at, 10) == nil })
		count(func() bool { return a.Free(at+30, 3*block-30) == nil })
		count(func() bool { at = a.Allocate(block); return at >= 0 })
		count(func() bool { return a.Free(at, block) == nil })
		count(func() bool { at = a.AllocateAligned(block, 2*block); return at >= 0 })
		count(func() bool { return a.Free(at, block) == nil })
		count(func() bool { return a.Free(at, block) != nil })
		count(func() bool { b, live := a.At(at + 5); return !live && b.Start <= at })
		count(func() bool { b, live := a.At(block + 5); return live && b.Start == block })
		count(func() bool { return a.Allocate(a.Size()) == -1 })
		if want == nil {
			want = got
			t.Logf("steps: %v", want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%d free blocks: operation %d takes %d steps, with 10 it took %d", free, i, got[i], want[i])
			}
		}
	}
}
