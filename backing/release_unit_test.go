package backing_test

import (
	"runtime"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// plain is a source that says nothing of a unit.
type plain struct{ backing.Source }

func TestReleaseUnit(t *testing.T) {
	heap, mmap := backing.Heap(), backing.Mmap()
	page, huge := mmap.PageSize(), 2<<20
	if runtime.GOOS == "windows" {
		huge = page
	}
	wants := map[backing.Source]int{heap: 0, backing.NewFaulty(heap): 0, plain{heap}: heap.PageSize()}
	if mmap.Name() != heap.Name() {
		wants[mmap], wants[backing.NewFaulty(mmap)] = page, page
		wants[backing.Mmap(backing.GuardPages())] = page
		wants[backing.Mmap(backing.HugePages())] = huge
		wants[backing.Mmap(backing.Populate())] = 0
		wants[backing.Mmap(backing.HugePages(), backing.Locked())] = 0
	}
	for src, want := range wants {
		if got := backing.ReleaseUnit(src); got != want {
			t.Errorf("%T %v: %d bytes, want %d", src, src, got, want)
		}
	}
}
