package guard

import (
	"errors"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// TestFreeOverTheEnd: a block that ends with its memory is not freed beyond that.
func TestFreeOverTheEnd(t *testing.T) {
	const size, start = 64, 16
	mem := make([]byte, size)
	b := Watch(mem, start, size-start, nil)
	for _, at := range []int{start, start + 1, size - 1} {
		_, _, err := b.Free(b.addr()+uintptr(at), size-at+1, nil)
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, offset.ErrNotOwned) || e.At != size-start {
			t.Errorf("a byte too much from %d on: %v", at, err)
		}
	}
	if b.Left != size-start {
		t.Errorf("%d bytes are left", b.Left)
	}
	if from, to, err := b.Free(b.addr()+start, size-start, nil); from != start || to != size || err != nil || b.Left != 0 {
		t.Errorf("freed %d to %d, %v, %d bytes left", from, to, err, b.Left)
	}
}
