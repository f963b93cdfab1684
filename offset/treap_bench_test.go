package offset_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/offset/offsettest"
)

var trees = []struct {
	name string
	new  func(size int) offset.Allocator
}{
	{"singletree", singleTree},
	{"twotree", twoTree},
}

// BenchmarkTrees times the trees on 64 KiB unless said, then on ranges with many
// free blocks.
func BenchmarkTrees(b *testing.B) {
	b.Run("placement=none/op=two-mutex-pairs", func(b *testing.B) {
		var m, n sync.Mutex
		work := 0
		for b.Loop() {
			for _, mu := range []*sync.Mutex{&m, &n} {
				mu.Lock()
				work++
				mu.Unlock()
			}
		}
	})
	for _, p := range trees {
		for name, size := range map[string]int{"64B": 64, "1KiB": 1 << 10, "8KiB": 8 << 10} {
			b.Run(fmt.Sprintf("placement=%s/op=pair/size=%s", p.name, name), func(b *testing.B) {
				a := p.new(64 << 10)
				for b.Loop() {
					a.Free(a.Allocate(size), size)
				}
			})
		}
		b.Run(fmt.Sprintf("placement=%s/op=pair/size=mixed", p.name), func(b *testing.B) {
			a := p.new(64 << 10)
			for i := 0; b.Loop(); i++ {
				size := 64 << (i % 8)
				a.Free(a.Allocate(size), size)
			}
		})
		for _, count := range []int{50, 64} {
			b.Run(fmt.Sprintf("placement=%s/op=all-then-all/count=%d", p.name, count), func(b *testing.B) {
				a := p.new(64 << 10)
				at := make([]int, count)
				for b.Loop() {
					for i := range at {
						at[i] = a.Allocate(1 << 10)
					}
					for _, start := range at {
						a.Free(start, 1<<10)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("placement=%s/op=find/size=1KiB", p.name), func(b *testing.B) {
			a := p.new(64 << 10)
			for b.Loop() {
				a.Find(1 << 10)
			}
		})
		b.Run(fmt.Sprintf("placement=%s/op=free-bytes", p.name), func(b *testing.B) {
			a := p.new(64 << 10)
			for b.Loop() {
				a.FreeBytes()
			}
		})
		b.Run(fmt.Sprintf("placement=%s/op=free-every-second/count=65536", p.name), func(b *testing.B) {
			a := p.new(64 << 16)
			for b.Loop() {
				for a.Allocate(64) >= 0 {
				}
				for start := 0; start < a.Size(); start += 128 {
					a.Free(start, 64)
				}
				for start := 64; start < a.Size(); start += 128 {
					a.Free(start, 64)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/65536, "ns/free")
		})
		for _, blocks := range []int{100, 10_000, 1_000_000} {
			b.Run(fmt.Sprintf("placement=%s/op=join-take-free-free/count=%d", p.name, blocks), func(b *testing.B) {
				a := fragmented(p.new, blocks)
				seed := uint32(1)
				for b.Loop() {
					seed = seed*1664525 + 1013904223
					start := int(seed>>8)%(blocks-1)*128 + 64
					a.Free(start, 64)
					a.Allocate(192)
					a.Free(start-64, 64)
					a.Free(start+64, 64)
				}
			})
		}
	}
}

// fragmented is a range in which every second block of 64 is free.
func fragmented(newTree func(size int) offset.Allocator, blocks int) offset.Allocator {
	a := newTree(blocks * 128)
	a.Allocate(blocks * 128)
	for i := range blocks {
		a.Free(i*128, 64)
	}
	return a
}

// BenchmarkTreesTrace replays the recorded traces: ns per operation.
func BenchmarkTreesTrace(b *testing.B) {
	for name, trace := range traces(b) {
		for _, p := range trees {
			b.Run(fmt.Sprintf("placement=%s/trace=%s", p.name, name), func(b *testing.B) {
				a := p.new(1 << 28)
				var got offsettest.Played
				for b.Loop() {
					var err error
					if got, err = offsettest.Play(trace, a); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(got.Ops), "ns/op")
				b.ReportMetric(float64(got.Reach)/float64(got.Peak), "reach/peak")
			})
		}
	}
}

// traces reads the recorded traces that are there.
func traces(tb testing.TB) map[string]offsettest.Trace {
	files, err := filepath.Glob(filepath.Join("..", "bench", "testdata", "*.trace.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]offsettest.Trace{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			tb.Fatal(err)
		}
		trace, err := offsettest.ReadTrace(z)
		if err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".trace.gz")] = trace
	}
	return all
}
