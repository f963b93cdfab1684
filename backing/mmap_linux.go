//go:build !race

package backing

import (
	"errors"

	"golang.org/x/sys/unix"
)

// sysRelease gives the pages' memory back now; they read as zero afterwards.
func sysRelease(pages []byte) error { return unix.Madvise(pages, unix.MADV_DONTNEED) }

// sysAdviseHuge is best effort: a kernel without huge pages refuses the advice
// and loses nothing but speed.
func sysAdviseHuge(pages []byte) { _ = unix.Madvise(pages, unix.MADV_HUGEPAGE) }

// sysPopulate faults all pages in with one call, which reports a lack of
// memory as an error; a kernel before 5.14 does not know it, and each page is
// written to instead.
func sysPopulate(pages []byte) error {
	err := unix.Madvise(pages, unix.MADV_POPULATE_WRITE)
	if errors.Is(err, unix.EINVAL) {
		touch(pages)
		return nil
	}
	return err
}
