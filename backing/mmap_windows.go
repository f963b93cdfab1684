//go:build !race

package backing

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// hugePage is never reached: large pages need a privilege that programs do not
// have, so the option changes nothing.
const hugePage = maxMap + 1

// sysMap returns size bytes. VirtualAlloc aligns to 64 KiB, more than a page.
func sysMap(size, _ int) ([]byte, error) {
	addr, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		return nil, err
	}
	// Safety: the address was just returned by the system and is no Go object,
	// so no collector can move or free what it points to; it stays until
	// sysUnmap.
	p := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	return unsafe.Slice((*byte)(p), size), nil
}

// sysUnmap gives back a region, whole: the size must be zero for that.
func sysUnmap(region []byte) error {
	return windows.VirtualFree(address(region), 0, windows.MEM_RELEASE)
}

// sysRelease lets the system drop the contents instead of paging them out.
func sysRelease(pages []byte) error {
	_, err := windows.VirtualAlloc(address(pages), uintptr(len(pages)), windows.MEM_RESET, windows.PAGE_READWRITE)
	return err
}

// sysProtect takes away or restores every access to the pages.
func sysProtect(pages []byte, accessible bool) error {
	prot := uint32(windows.PAGE_NOACCESS)
	if accessible {
		prot = windows.PAGE_READWRITE
	}
	var old uint32
	return windows.VirtualProtect(address(pages), uintptr(len(pages)), prot, &old)
}

// sysLock keeps the pages in physical memory; unmapping unlocks them.
func sysLock(pages []byte) error {
	return windows.VirtualLock(address(pages), uintptr(len(pages)))
}

func sysAdviseHuge([]byte) {}

func sysPopulate(pages []byte) error {
	touch(pages)
	return nil
}
