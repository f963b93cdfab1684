//go:build !race && (darwin || dragonfly || freebsd || netbsd || openbsd)

package backing

import "golang.org/x/sys/unix"

// sysRelease lets the system take the pages' memory when it needs some; until
// then they keep their contents.
func sysRelease(pages []byte) error { return unix.Madvise(pages, unix.MADV_FREE) }

// sysAdviseHuge has no advice to give: these systems promote pages themselves.
func sysAdviseHuge([]byte) {}

func sysPopulate(pages []byte) error {
	touch(pages)
	return nil
}
