package bench

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/load"
)

// BenchmarkLoad runs the loads; ns/op is wall time per allocation.
func BenchmarkLoad(b *testing.B) {
	for _, l := range load.All() {
		for _, impl := range load.Names() {
			for _, goroutines := range []int{1, 2, 1000} {
				b.Run(fmt.Sprintf("load=%s/impl=%s/goroutines=%d", l.Name, impl, goroutines), func(b *testing.B) {
					a, stop := load.New(impl)
					defer stop()
					n := l.Run(a, goroutines, b.N)
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/malloc")
				})
			}
		}
	}
}

// BenchmarkWalk reads one byte of each page of 256 MiB, in an order that no
// prefetcher follows, with and without huge pages.
func BenchmarkWalk(b *testing.B) {
	for _, c := range []struct {
		name string
		src  backing.Source
	}{
		{"small", backing.Mmap()},
		{"huge", backing.Mmap(backing.HugePages())},
		{"heap", backing.Heap()},
	} {
		b.Run("pages="+c.name, func(b *testing.B) {
			walk, stop, err := compare.Walk(c.src)
			if err != nil {
				b.Skip(err)
			}
			defer stop()
			b.ResetTimer()
			walk(b.N)
		})
	}
}

// BenchmarkFirstUse makes an allocator, uses it once and gives it back.
func BenchmarkFirstUse(b *testing.B) {
	for _, size := range []int{1 << 20, 16 << 20} {
		b.Run(fmt.Sprintf("backing=mmap/size=%dMiB", size>>20), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a := gomem.NewScalableMemoryAllocator(size, gomem.WithBacking(backing.Mmap()))
				a.Malloc(1024)
				a.Recycle()
			}
		})
	}
}

// resident is the process's memory in the machine, 0 where it cannot be read.
func resident(t *testing.T) int {
	t.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestShortLivedOwnersLeaveNothing is mleak: allocators come and go, each with
// some use, and the process does not grow.
func TestShortLivedOwnersLeaveNothing(t *testing.T) {
	owners := 400
	if testing.Short() {
		owners = 100
	}
	const each = 1 << 20
	use := func() {
		a := gomem.NewScalableMemoryAllocator(64<<10, gomem.WithBacking(backing.Mmap()))
		for held := 0; held < each; held += 4096 {
			b := a.Malloc(4096)
			b[0] = 1
		}
		a.Recycle()
	}
	for range owners / 4 {
		use()
	}
	runtime.GC()
	before := resident(t)
	for range owners {
		use()
	}
	runtime.GC()
	if grown := resident(t) - before; grown > owners*each/10 {
		t.Errorf("%d owners of %d bytes left %d bytes behind", owners, each, grown)
	}
}

// TestForeignFreesHoldLittle: where every block is freed by another goroutine
// than its own, no more than twice the bytes in flight and a chunk are mapped.
func TestForeignFreesHoldLittle(t *testing.T) {
	for _, l := range load.All() {
		if l.Name != "xmalloc" {
			continue
		}
		rows, err := compare.Held(t.Context(), l, []int{2, 4}, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.PeakBacking > 2*row.PeakLive+row.Chunk {
				t.Errorf("%d bytes were mapped for %d in flight: %+v", row.PeakBacking, row.PeakLive, row)
			}
		}
	}
}
