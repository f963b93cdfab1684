package offset

import (
	"fmt"
	"testing"
)

// BenchmarkBuddy: Allocate and Free in 512 MiB with a least block of 1 KiB.
func BenchmarkBuddy(b *testing.B) {
	const total, least = 512 << 20, 1 << 10
	for _, set := range []struct {
		name  string
		sizes []int
	}{
		{"1KiB", []int{1 << 10}},
		{"small", []int{1 << 10, 2 << 10, 4 << 10}},
		{"large", []int{64 << 10, 256 << 10, 1 << 20}},
		{"mixed", []int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}},
	} {
		b.Run("placement=buddy/op=pair/size="+set.name, func(b *testing.B) {
			a := NewBuddy(total, least)
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				size := set.sizes[i%len(set.sizes)]
				i++
				if a.Free(a.Allocate(size), size) != nil {
					b.Fatal("refused")
				}
			}
		})
	}
	b.Run("placement=buddy/op=batch100/size=1KiB", func(b *testing.B) {
		a := NewBuddy(total, least)
		var at [100]int
		b.ReportAllocs()
		for b.Loop() {
			for i := range at {
				at[i] = a.Allocate(least)
			}
			for _, start := range at {
				if a.Free(start, least) != nil {
					b.Fatal("refused")
				}
			}
		}
	})
	b.Run("placement=buddy/op=new/size="+fmt.Sprint(total>>20)+"MiB", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			NewBuddy(total, least)
		}
	})
}
