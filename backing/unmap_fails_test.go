//go:build !race && linux

package backing

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnmapFails: a mapping that the system does not take back is one, and goes later.
func TestUnmapFails(t *testing.T) {
	src := Mmap()
	mem, err := src.Map(pageSize)
	if err != nil {
		t.Fatal(err)
	}
	region := live.at[address(mem)].region
	live.add(mem, region[1:]) // which no system call takes
	if err := src.Unmap(mem); !errors.Is(err, unix.EINVAL) {
		t.Fatalf("Unmap: %v", err)
	}
	if !live.whole(mem) {
		t.Fatal("the mapping is forgotten")
	}
	live.add(mem, region)
	if err := src.Unmap(mem); err != nil {
		t.Error(err)
	}
	if err := src.Unmap(mem); !errors.Is(err, ErrNotMapped) {
		t.Errorf("Unmap again: %v", err)
	}
}
