//go:build !race && !asan && !msan && !gomem_portable

package offset_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gomem-go/gomem/offset"
)

// A few blocks touch a few pages of the tables, however large the range is: also where
// the tables grow, and in Reset.
func TestTLSFTouchesFewPages(t *testing.T) {
	const size, granule, parts = 1 << 28, 8, 64 // 2^15 pages of tags
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for name, a := range map[string]offset.Allocator{"tlsf": offset.NewTLSF(size, granule), "few": offset.NewFew(size, granule)} {
		before := pageFaults(t)
		a.Allocate(size)
		for i := range parts {
			if err := a.Free(i*(size/parts), granule); err != nil {
				t.Fatal(err)
			}
		}
		reset := pageFaults(t)
		a.Reset()
		if n := pageFaults(t) - reset; n > 500 {
			t.Errorf("%s: %d page faults in Reset", name, n)
		}
		if n := reset - before; n > 4000 {
			t.Errorf("%s: %d page faults in %d operations", name, n, parts+1)
		}
	}
}

// pageFaults returns how often this thread has waited for a page.
func pageFaults(t *testing.T) int64 {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		t.Skip(err)
	}
	return int64(u.Minflt) + int64(u.Majflt)
}
