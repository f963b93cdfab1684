//go:build !race && (linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package backing_test

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

func mustMap(t *testing.T, src backing.Source, size int) []byte {
	t.Helper()
	mem, err := src.Map(size)
	if err != nil {
		t.Fatalf("Map(%d): %v", size, err)
	}
	return mem
}

// faults reports whether f ends in a memory fault.
func faults(f func()) (faulted bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err, ok := r.(runtime.Error)
			if !ok {
				panic(r)
			}
			_, faulted = err.(interface{ Addr() uintptr })
		}
	}()
	f()
	return false
}

func TestUnmapRefusesWhatIsNoMapping(t *testing.T) {
	src := backing.Mmap()
	page := src.PageSize()
	mem := mustMap(t, src, 4*page)
	for i := range mem {
		mem[i] = 7
	}
	for name, bad := range map[string][]byte{
		"nil": nil, "empty": mem[:0], "front": mem[:page], "back": mem[page:], "middle": mem[page : 2*page],
		"off by one": mem[1:], "one byte short": mem[:len(mem)-1], "heap": make([]byte, page),
	} {
		if err := src.Unmap(bad); !errors.Is(err, backing.ErrNotMapped) {
			t.Errorf("Unmap(%s) = %v, want ErrNotMapped", name, err)
		}
	}
	for i, b := range mem {
		if b != 7 {
			t.Fatalf("byte %d changed to %d by a refused Unmap", i, b)
		}
	}
	if err := src.Unmap(mem); err != nil {
		t.Fatal(err)
	}
	if err := src.Unmap(mem); !errors.Is(err, backing.ErrNotMapped) {
		t.Errorf("second Unmap = %v, want ErrNotMapped", err)
	}
	if !faults(func() { mem[0]++ }) {
		t.Error("the memory is still there after Unmap")
	}
}

func TestReleaseKeepsTheNeighbours(t *testing.T) {
	src := backing.Mmap()
	page := src.PageSize()
	mem := mustMap(t, src, 4*page)
	for i := range mem {
		mem[i] = 9
	}
	part := mem[100 : 3*page+100]
	if err := src.Release(part); err != nil {
		t.Fatal(err)
	}
	for i, b := range mem {
		whole := i >= page && i < 3*page
		if b != 9 && !(whole && b == 0) {
			t.Fatalf("byte %d is %d after Release of [100,%d)", i, b, 3*page+100)
		}
	}
	for _, small := range [][]byte{nil, mem[:page-1], mem[1:page], mem[page-1 : page+1]} {
		if err := src.Release(small); err != nil {
			t.Errorf("Release of %d bytes without a whole page: %v", len(small), err)
		}
	}
	if mem[0] != 9 || mem[page-1] != 9 {
		t.Error("Release of less than a page dropped bytes")
	}
	if err := src.Unmap(mem); err != nil {
		t.Error(err)
	}
}

func TestProtect(t *testing.T) {
	src := backing.Mmap()
	p, ok := src.(backing.Protector)
	if !ok {
		t.Fatal("the mmap source is no Protector")
	}
	page := src.PageSize()
	mem := mustMap(t, src, 3*page+10)
	mem[0], mem[page], mem[3*page] = 1, 2, 3
	for _, bad := range [][]byte{nil, mem[1:page], mem[:page+1], mem[page : page+10], mem[page:]} {
		if err := p.Protect(bad); !errors.Is(err, backing.ErrNotMapped) {
			t.Errorf("Protect(%d bytes) = %v, want ErrNotMapped", len(bad), err)
		}
	}
	if err := p.Protect(mem[page : 2*page]); err != nil {
		t.Fatal(err)
	}
	if mem[0] != 1 || mem[3*page] != 3 {
		t.Error("Protect of one page reached its neighbours")
	}
	if !faults(func() { mem[page]++ }) {
		t.Error("no fault on a protected page")
	}
	if err := p.Unprotect(mem[page : 2*page]); err != nil {
		t.Fatal(err)
	}
	if mem[page] != 2 {
		t.Errorf("contents are %d after Unprotect, want 2", mem[page])
	}
	if err := p.Protect(mem); err != nil {
		t.Fatalf("Protect of a whole mapping: %v", err)
	}
	if !faults(func() { mem[0]++ }) || !faults(func() { mem[len(mem)-1]++ }) {
		t.Error("no fault on a protected mapping")
	}
	if err := src.Unmap(mem); err != nil {
		t.Errorf("Unmap of protected memory: %v", err)
	}
}

func TestGuardPages(t *testing.T) {
	for _, c := range []struct {
		src  backing.Source
		size int
	}{
		{backing.Mmap(backing.GuardPages()), 2 * os.Getpagesize()},
		{backing.Mmap(backing.GuardPages(), backing.HugePages()), 2<<20 + os.Getpagesize()},
	} {
		mustFaultBeside(t, c.src, c.size)
	}
}

func mustFaultBeside(t *testing.T, src backing.Source, size int) {
	t.Helper()
	mem := mustMap(t, src, size)
	first := unsafe.Pointer(&mem[0])
	before := (*byte)(unsafe.Add(first, -1))
	behind := (*byte)(unsafe.Add(first, len(mem)))
	mem[0], mem[len(mem)-1] = 1, 1
	if !faults(func() { *before = 1 }) {
		t.Error("no fault one byte before the mapping")
	}
	if !faults(func() { *behind = 1 }) {
		t.Error("no fault one byte behind the mapping")
	}
	if err := src.Unmap(mem); err != nil {
		t.Fatal(err)
	}
}

// Sources with other options know each other's mappings, so nothing is left
// behind when a caller builds the source anew to unmap.
func TestUnmapByAnotherSource(t *testing.T) {
	mem := mustMap(t, backing.Mmap(backing.GuardPages()), 10)
	if err := backing.Mmap().Unmap(mem); err != nil {
		t.Error(err)
	}
}
