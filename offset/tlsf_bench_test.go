package offset

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkTLSF: a warm Allocate and Free of one size.
func BenchmarkTLSF(b *testing.B) {
	for _, size := range []int{64, 1 << 10, 8 << 10} {
		b.Run(fmt.Sprintf("placement=tlsf/op=pair/size=%s", sizeName(size)), func(b *testing.B) {
			a := NewTLSF(64<<10, 64)
			b.ReportAllocs()
			for b.Loop() {
				if a.Free(a.Allocate(size), size) != nil {
					b.Fatal("refused")
				}
			}
		})
	}
	b.Run("placement=tlsf/op=pair/size=mixed", func(b *testing.B) {
		a := NewTLSF(64<<10, 64)
		i := 0
		for b.Loop() {
			size := 64 << (i & 7)
			i++
			if a.Free(a.Allocate(size), size) != nil {
				b.Fatal("refused")
			}
		}
	})
	b.Run("placement=tlsf/op=batch50/size=1KiB", func(b *testing.B) {
		a := NewTLSF(64<<10, 64)
		var at [50]int
		for b.Loop() {
			for i := range at {
				at[i] = a.Allocate(1 << 10)
			}
			for _, start := range at {
				if a.Free(start, 1<<10) != nil {
					b.Fatal("refused")
				}
			}
		}
	})
	for _, fragments := range []int{100, 1e4, 1e6} {
		b.Run(fmt.Sprintf("placement=tlsf/op=refill/fragments=%d", fragments), func(b *testing.B) {
			const block = 64
			a := NewTLSF(2*fragments*block, block)
			for range 2 * fragments {
				a.Allocate(block)
			}
			for i := range fragments {
				if err := a.Free(2*i*block, block); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if a.Free(a.Allocate(block), block) != nil {
					b.Fatal("refused")
				}
			}
		})
	}
	b.Run("placement=tlsf/op=tail/size=16KiB", func(b *testing.B) {
		a := NewTLSF(1<<20, 64)
		rng := rand.New(rand.NewPCG(1, 2))
		var keep [256]int
		for i := range keep {
			keep[i] = 1 + rng.IntN(1460)
		}
		i := 0
		for b.Loop() {
			n := keep[i&255]
			i++
			start := a.Allocate(16 << 10)
			if a.Free(start+n, 16<<10-n) != nil || a.Free(start, n) != nil {
				b.Fatal("refused")
			}
		}
	})
	b.Run("placement=tlsf/op=new/size=16MiB", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			NewTLSF(16<<20, 64)
		}
	})
	b.Run("placement=tlsf/op=first-cut/size=16MiB", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			NewTLSF(16<<20, 64).Allocate(12 << 20)
		}
	})
}

func sizeName(n int) string {
	if n < 1<<10 {
		return fmt.Sprintf("%dB", n)
	}
	return fmt.Sprintf("%dKiB", n>>10)
}
