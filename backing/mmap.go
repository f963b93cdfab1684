//go:build !race && (linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package backing

import (
	"fmt"
	"sync"
	"unsafe"
)

// live knows every mapping of this package by its first byte. It exists
// because the system would take a wrong munmap at its word and cut a hole into
// whatever lives there. One for all sources: it is locked only around a map
// operation and never during a system call.
var live = registry{at: make(map[uintptr]extent)}

type registry struct {
	mu    sync.Mutex
	at    map[uintptr]extent
	bytes int // of them all, in whole pages
}

// extent is what stands behind a mapping: the n bytes handed out, and the
// whole region taken from the system.
type extent struct {
	n      int
	region []byte
}

func (r *registry) add(mem []byte, region []byte) {
	r.mu.Lock()
	r.at[address(mem)] = extent{len(mem), region}
	r.bytes += roundUp(len(mem), pageSize)
	r.mu.Unlock()
}

// take removes the mapping and returns its region; nil if mem is none.
func (r *registry) take(mem []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.at[address(mem)]
	if !ok || e.n != len(mem) {
		return nil
	}
	delete(r.at, address(mem))
	r.bytes -= roundUp(len(mem), pageSize)
	return e.region
}

// whole reports whether mem is exactly a mapping.
func (r *registry) whole(mem []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.at[address(mem)]
	return ok && e.n == len(mem)
}

func mapped() int {
	live.mu.Lock()
	defer live.mu.Unlock()
	return live.bytes
}

// address is the registry's key.
func address(mem []byte) uintptr {
	// Safety: used as a number only; the memory is the system's and never moves.
	return uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
}

func mmapWith(set mmapFlags) Source { return mmapSource(set) }

type mmapSource mmapFlags

func (mmapSource) Name() string  { return "mmap" }
func (mmapSource) PageSize() int { return pageSize }

func (s mmapSource) has(f mmapFlags) bool { return mmapFlags(s)&f != 0 }

func (s mmapSource) Map(size int) ([]byte, error) {
	if err := checkSize("mmap", size); err != nil {
		return nil, err
	}
	region, mem, err := s.reserve(size)
	if err != nil {
		return nil, fmt.Errorf("mmap %d bytes: %w: %w", size, ErrOutOfMemory, err)
	}
	if err := s.prepare(mem); err != nil {
		return nil, fmt.Errorf("mmap %d bytes: %w: %w", size, ErrOutOfMemory, giveBack(region, err))
	}
	mem = mem[:size:size]
	live.add(mem, region)
	return mem, nil
}

// reserve takes a region from the system and returns it with the pages in it
// that are for the caller.
func (s mmapSource) reserve(size int) (region, mem []byte, err error) {
	align := pageSize
	if s.has(hugePages) && size >= hugePage {
		align = hugePage
	}
	whole := roundUp(size, align)
	if !s.has(guardPages) {
		region, err = sysMap(whole, align)
		return region, region, err
	}
	// The lower guard is as wide as the alignment, so that what is behind it keeps that,
	// and the upper one at least; it begins with the next page. They cost address space only.
	size = roundUp(size, pageSize)
	if region, err = sysMap(whole+2*align, align); err != nil {
		return nil, nil, err
	}
	low, mem, high := region[:align], region[align:align+size], region[align+size:]
	for _, guard := range [][]byte{low, high} {
		if err := sysProtect(guard, false); err != nil {
			return nil, nil, giveBack(region, err)
		}
	}
	return region, mem, nil
}

// prepare applies the options to fresh pages.
func (s mmapSource) prepare(mem []byte) error {
	if s.has(hugePages) && len(mem) >= hugePage {
		sysAdviseHuge(mem)
	}
	if s.has(locked) {
		if err := sysLock(mem); err != nil {
			return fmt.Errorf("locking it: %w", err)
		}
		return nil // every page of it is there
	}
	if s.has(populate) {
		return sysPopulate(mem)
	}
	return nil
}

func (mmapSource) Unmap(mem []byte) error {
	region := live.take(mem)
	if region == nil {
		return fmt.Errorf("unmap %d bytes: %w", len(mem), ErrNotMapped)
	}
	// The next mapping at this address must not inherit the poison.
	Unpoison(mem)
	if err := sysUnmap(region); err != nil {
		live.add(mem, region)
		return fmt.Errorf("unmap %d bytes: %w", len(mem), err)
	}
	return nil
}

func (s mmapSource) Release(mem []byte) error {
	if s.has(locked) {
		return nil
	}
	// Inwards to whole pages: the system would round outwards, and drop bytes
	// beside mem.
	skew := misalignment(mem, pageSize)
	from := (pageSize - skew) % pageSize
	to := roundDown(skew+len(mem), pageSize) - skew
	if from >= to {
		return nil
	}
	if err := sysRelease(mem[from:to]); err != nil {
		return fmt.Errorf("release %d bytes: %w", len(mem), err)
	}
	return nil
}

// ReleaseUnit is for [ReleaseUnit].
func (s mmapSource) ReleaseUnit() int {
	switch {
	case s.has(locked), s.has(populate):
		return 0 // these are to be there at any time
	case s.has(hugePages) && hugePage <= maxMap:
		return hugePage // a part of one would split it
	}
	return pageSize
}

// Protect implements [Protector].
func (s mmapSource) Protect(mem []byte) error { return s.protect(mem, false) }

// Unprotect implements [Protector].
func (s mmapSource) Unprotect(mem []byte) error { return s.protect(mem, true) }

func (mmapSource) protect(mem []byte, accessible bool) error {
	aligned := misalignment(mem, pageSize) == 0 && len(mem)%pageSize == 0
	if len(mem) == 0 || !aligned && !live.whole(mem) {
		return fmt.Errorf("protect %d bytes: %w", len(mem), ErrNotMapped)
	}
	if err := sysProtect(mem, accessible); err != nil {
		return fmt.Errorf("protect %d bytes: %w", len(mem), err)
	}
	return nil
}

// giveBack unmaps what a failed Map still holds.
func giveBack(pages []byte, err error) error {
	if uerr := sysUnmap(pages); uerr != nil {
		return fmt.Errorf("%w; giving it back: %w", err, uerr)
	}
	return err
}

// touch writes to each page, keeping the zero that is there.
func touch(mem []byte) {
	for i := 0; i < len(mem); i += pageSize {
		mem[i] = 0
	}
}
