package pionmem

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
	"github.com/pion/transport/v5/packetio"
)

// queues are what the benchmarks compare; a is for the second one.
func queues(a *gomem.ScalableMemoryAllocator) map[string]func() full {
	return map[string]func() full{
		"pion":  func() full { return packetio.NewBuffer() },
		"gomem": func() full { return rival{NewBuffer(a)} },
	}
}

// full is what pion's queue and ours have in common.
type full interface {
	Write([]byte, packetio.Attributes) (int, error)
	Read([]byte, packetio.Attributes) (int, packetio.Attributes, error)
}

type rival struct{ *Buffer }

func (r rival) Write(p []byte, a packetio.Attributes) (int, error) {
	return r.WriteWithAttributes(p, a)
}

func (r rival) Read(p []byte, a packetio.Attributes) (int, packetio.Attributes, error) {
	return r.ReadWithAttributes(p, a)
}

// BenchmarkPacket writes packets of 50 to 1,200 bytes until there are depth of them, and
// reads them. A packet costs ns/op.
func BenchmarkPacket(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	packets := make([][]byte, 1024)
	for i := range packets {
		packets[i] = make([]byte, 50+rng.IntN(1151))
	}
	to := make([]byte, 1200)
	for _, depth := range []int{1, 10, 100, 1000} {
		for _, impl := range []string{"pion", "gomem"} {
			b.Run(fmt.Sprintf("impl=%s/depth=%d", impl, depth), func(b *testing.B) {
				a := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithBacking(backing.Mmap()))
				defer a.Close()
				q := queues(a)[impl]()
				b.ReportAllocs()
				for i := 0; i < b.N; i += depth {
					for j := range depth {
						if _, err := q.Write(packets[(i+j)%len(packets)], nil); err != nil {
							b.Fatal(err)
						}
					}
					for range depth {
						if _, _, err := q.Read(to, nil); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

// BenchmarkHeld says what 1,000 queues hold once each had 200 packets of 1,200 bytes at
// a time, and keeps the last ones of them.
func BenchmarkHeld(b *testing.B) {
	const streams, most = 1000, 200
	for _, keep := range []int{0, 1, 10} {
		for _, impl := range []string{"pion", "gomem"} {
			b.Run(fmt.Sprintf("impl=%s/keep=%d", impl, keep), func(b *testing.B) {
				for b.Loop() {
					a := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithBacking(backing.Mmap()))
					before := heap()
					all := make([]full, streams)
					for i := range all {
						all[i] = queues(a)[impl]()
					}
					p := make([]byte, 1200)
					for range most {
						for _, q := range all {
							q.Write(p, nil)
						}
					}
					for range most - keep {
						for _, q := range all {
							q.Read(p, nil)
						}
					}
					a.Trim()
					b.ReportMetric(float64(heap()-before)/streams, "heap-B/stream")
					b.ReportMetric(float64(a.Stats().Backing)/streams, "mapped-B/stream")
					runtime.KeepAlive(all)
					a.Close()
				}
			})
		}
	}
}

// heap returns the live bytes on the Go heap. What pools keep is dropped by the second
// collection.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
