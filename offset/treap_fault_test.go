package offset_test

import (
	"testing"

	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/offset/offsettest"
)

// damageable brings a tree into the state that the faults are made for: blocks
// of many sizes, spare nodes, and a finger between two blocks that both lie
// lower or are smaller than it.
func damageable[A offset.Allocator](a A) A {
	a.Allocate(a.Size())
	for i := range 40 {
		a.Free(100*i, 20+i%17)
	}
	for i := 30; i < 40; i++ {
		a.Free(100*i+20+i%17, 80-i%17)
	}
	for _, x := range []int{700, 1400, 2100} {
		a.Free(x+50, 30) // between two, the last one the finger
	}
	return a
}

func TestSingleTreeVerifyNoticesFaults(t *testing.T) {
	var faults []offsettest.Fault[*offset.SingleTree]
	for _, f := range offset.SingleTreeFaults() {
		faults = append(faults, offsettest.Fault[*offset.SingleTree](f))
	}
	offsettest.Faults(t, func() *offset.SingleTree { return damageable(offset.NewSingleTree(5000)) }, faults)
}

func TestTwoTreeVerifyNoticesFaults(t *testing.T) {
	var faults []offsettest.Fault[*offset.TwoTree]
	for _, f := range offset.TwoTreeFaults() {
		faults = append(faults, offsettest.Fault[*offset.TwoTree](f))
	}
	offsettest.Faults(t, func() *offset.TwoTree { return damageable(offset.NewTwoTree(5000)) }, faults)
}
