package backing_test

import (
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// TestGoLimit: what is mapped is taken off, whole pages of it, and never all.
func TestGoLimit(t *testing.T) {
	src := backing.Mmap()
	page, before := src.PageSize(), backing.Mapped()
	if src.Name() == backing.Heap().Name() {
		if before != 0 || backing.GoLimit(1000) != 1000 {
			t.Errorf("%d bytes are mapped, the limit is %d", before, backing.GoLimit(1000))
		}
		return
	}
	mem, err := src.Map(3*page - 100)
	if err != nil {
		t.Fatal(err)
	}
	guarded, err := backing.Mmap(backing.GuardPages()).Map(page)
	if err != nil {
		t.Fatal(err)
	}
	if got := backing.Mapped() - before; got != 4*page {
		t.Errorf("%d bytes are mapped, want %d", got, 4*page)
	}
	mapped := int64(backing.Mapped())
	for total, want := range map[int64]int64{
		1 << 40:     1<<40 - mapped,
		32 * mapped: 31 * mapped,
		mapped:      mapped / 16,
		mapped / 2:  mapped / 2 / 16,
		0:           0,
	} {
		if got := backing.GoLimit(total); got != want {
			t.Errorf("%d bytes of %d for the Go heap, %d are mapped; want %d", got, total, mapped, want)
		}
	}
	if err := src.Unmap(mem[:page]); err == nil || int64(backing.Mapped()) != mapped {
		t.Errorf("%d bytes are mapped after an Unmap that was refused, %v", backing.Mapped(), err)
	}
	for _, mem := range [][]byte{mem, guarded} {
		if err := src.Unmap(mem); err != nil {
			t.Error(err)
		}
	}
	if backing.Mapped() != before {
		t.Errorf("%d bytes are mapped, %d before", backing.Mapped(), before)
	}
}
