//go:build !race && !asan

package tlsf_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gomem-go/gomem/internal/check"
	"github.com/gomem-go/gomem/tlsf"
)

// TestPopulate: no block of a pool whose pages were asked for waits for the system, wherever
// it is. Without that a pool of this size has a page of its tables to wait for in each large
// block, and a thousand pages in as many small ones as it has room for.
func TestPopulate(t *testing.T) {
	if check.Enabled {
		t.Skip("the checks of a debug build need memory")
	}
	const size = 64 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, block := range []int{256, 256 << 10} {
		p := mustNew(t, size, tlsf.WithMmap(), tlsf.WithPopulate(), tlsf.WithBlocks(size/block))
		before := pageFaults(t)
		for range size / block {
			b, err := p.Alloc(block)
			if err != nil {
				t.Fatal(err)
			}
			b[0], b[len(b)-1] = 1, 1
		}
		if n := pageFaults(t) - before; n > 32 {
			t.Errorf("%d page faults in %d blocks", n, size/block)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
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
