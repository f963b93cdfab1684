//go:build !race && (linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package backing

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size that huge pages are aligned to.
const hugePage = 2 << 20

// sysMap returns size bytes on a multiple of align, both multiples of the
// page. unix.MmapPtr, not unix.Mmap: that one takes a lock for all callers and
// refuses to unmap the ends that alignment leaves over.
func sysMap(size, align int) ([]byte, error) {
	if align == pageSize {
		return mapPages(size)
	}
	wide, err := mapPages(size + align - pageSize)
	if err != nil {
		return nil, err
	}
	head := (align - misalignment(wide, align)) % align
	if head > 0 {
		if err := sysUnmap(wide[:head]); err != nil {
			return nil, giveBack(wide, err)
		}
	}
	region := wide[head : head+size : head+size]
	if tail := wide[head+size:]; len(tail) > 0 {
		if err := sysUnmap(tail); err != nil {
			return nil, giveBack(wide[head:], err)
		}
	}
	return region, nil
}

func mapPages(size int) ([]byte, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	// Safety: the system just gave these size bytes to us and to nobody else;
	// they stay until sysUnmap.
	return unsafe.Slice((*byte)(p), size), nil
}

// sysUnmap gives back whole pages.
func sysUnmap(pages []byte) error {
	// Safety: the caller passes pages that sysMap returned, and forgets them.
	return unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(pages)), uintptr(len(pages)))
}

// sysProtect takes away or restores every access to the pages.
func sysProtect(pages []byte, accessible bool) error {
	prot := unix.PROT_NONE
	if accessible {
		prot = unix.PROT_READ | unix.PROT_WRITE
	}
	return unix.Mprotect(pages, prot)
}

// sysLock keeps the pages in physical memory; unmapping unlocks them.
func sysLock(pages []byte) error { return unix.Mlock(pages) }
