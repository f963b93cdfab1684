//go:build !race && !gomem_debug

package grpcmem_test

import (
	"testing"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/adapter/grpcmem"
	"google.golang.org/grpc/mem"
)

// Under the race detector sync.Pool drops things, and debug mode records stacks.
func TestAllocatesNothing(t *testing.T) {
	p := grpcmem.New(gomem.NewScalableMemoryAllocator(1 << 20))
	if n := testing.AllocsPerRun(1000, func() { p.Put(p.Get(16 << 10)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkGetPut(b *testing.B) {
	for name, p := range map[string]mem.BufferPool{
		"grpcmem": grpcmem.New(gomem.NewScalableMemoryAllocator(1 << 20)),
		"default": mem.DefaultBufferPool(),
	} {
		b.Run("impl="+name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					p.Put(p.Get(16 << 10))
				}
			})
		})
	}
}
