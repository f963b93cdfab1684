//go:build linux && !race

package gomem

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// resident is the physical memory of the process in bytes.
func resident(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	pages, err := strconv.Atoi(string(bytes.Fields(b)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// mapped is the number of mappings of the process.
func mapped(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	return bytes.Count(b, []byte("\n"))
}

func TestG20MmapRecycledInEarnest(t *testing.T) {
	plainOnly(t)
	debug.FreeOSMemory() // what tests before this one left does not count, nor what the allocators leave on the Go heap
	before, maps := resident(t), mapped(t)
	for range 20000 {
		a := NewScalableMemoryAllocator(16<<10, WithBacking(backing.Mmap()))
		a.Malloc(1000)[0] = 1
		a.Recycle()
	}
	debug.FreeOSMemory()
	if now := resident(t); now > before+32<<20 {
		t.Errorf("20,000 recycled allocators: %d KiB before, %d now", before>>10, now>>10)
	}
	if now := mapped(t); now > maps+100 {
		t.Errorf("%d mappings before, %d now", maps, now)
	}
}

func TestG21MmapDroppedInEarnest(t *testing.T) {
	plainOnly(t)
	before := resident(t)
	for range 200 {
		a := NewScalableMemoryAllocator(1<<20, WithBacking(backing.Mmap()))
		b := a.Malloc(1 << 20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		a.Free(b)
	}
	if !eventually(func() bool { return resident(t) < before+64<<20 }) {
		t.Errorf("200 dropped allocators: %d KiB before, %d now", before>>10, resident(t)>>10)
	}
}

// TestPeakLeavesMemory: after a peak of which one block in 20 stays, and Trim, the program
// has little more in memory than those, though their chunks stay.
func TestPeakLeavesMemory(t *testing.T) {
	plainOnly(t)
	a := NewScalableMemoryAllocator(1<<20, WithBacking(backing.Mmap()))
	before := resident(t)
	var live [][]byte
	for i := 0; a.Stats().Live < 128<<20; i++ {
		b := a.Malloc(1 + i*7919%(100<<10))
		for at := 0; at < len(b); at += 4096 {
			b[at] = 1
		}
		live = append(live, b)
	}
	for i, b := range live {
		if i%20 > 0 && !a.Free(b) {
			t.Fatal("refused")
		}
	}
	a.Trim()
	if now := resident(t); now > before+32<<20 {
		t.Errorf("%d KiB after Trim, %d before the peak", now>>10, before>>10)
	}
	if s := a.Stats(); s.Backing < 64<<20 {
		t.Errorf("the chunks went: %+v", s)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// A new allocator, and its first block, touch none of its 16 MiB but what the
// block is written to.
func TestMmapCreationTouchesNoPage(t *testing.T) {
	plainOnly(t)
	before := resident(t)
	var all []*ScalableMemoryAllocator
	for range 20 {
		a := NewScalableMemoryAllocator(16<<20, WithBacking(backing.Mmap()))
		a.Malloc(1000)[0] = 1
		a.Malloc(15 << 20)
		all = append(all, a)
	}
	// Where the system makes all pages huge a byte takes 2 MiB.
	if now := resident(t); now > before+20*2<<20+16<<20 {
		t.Errorf("20 allocators of 16 MiB: %d KiB before, %d now", before>>10, now>>10)
	}
	for _, a := range all {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// After a peak the physical memory is back too.
func TestMmapPeakGoesBack(t *testing.T) {
	plainOnly(t)
	a := NewScalableMemoryAllocator(1<<20, WithBacking(backing.Mmap()))
	before := resident(t)
	var all [][]byte
	for range 1000 {
		b := a.Malloc(100_000)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
	}
	for _, b := range all {
		a.Free(b)
	}
	if !eventually(func() bool { return resident(t) < before+32<<20 }) {
		t.Errorf("a minute after the peak: %d KiB before, %d now", before>>10, resident(t)>>10)
	}
}
