package gomem

import (
	"fmt"
	"testing"
)

// cut splits b into frags buffers of nearly equal length.
func cut(b []byte, frags int) [][]byte {
	list := make([][]byte, 0, frags)
	for i := range frags {
		lo, hi := i*len(b)/frags, (i+1)*len(b)/frags
		list = append(list, b[lo:hi:hi])
	}
	return list
}

// BenchmarkMemoryReader reads 1 KiB per operation, making the reader included.
func BenchmarkMemoryReader(b *testing.B) {
	data := make([]byte, 1024)
	for i := range data {
		data[i] = byte(i % 128)
	}
	for _, frags := range []int{1, 8} {
		list := cut(data, frags)
		run := func(op string, pass func(b *testing.B, list [][]byte)) {
			b.Run(fmt.Sprintf("op=%s/frag=%d", op, frags), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					pass(b, list)
				}
			})
		}
		run("ReadByte", func(b *testing.B, list [][]byte) {
			r := NewReadableBuffersFromBytes(list...)
			for r.Length > 0 {
				if _, err := r.ReadByte(); err != nil {
					b.Fatal(err)
				}
			}
		})
		run("ReadBE4", func(b *testing.B, list [][]byte) {
			r := NewReadableBuffersFromBytes(list...)
			for r.Length >= 4 {
				if _, err := r.ReadBE(4); err != nil {
					b.Fatal(err)
				}
			}
		})
		run("LEB128", func(b *testing.B, list [][]byte) {
			r := NewReadableBuffersFromBytes(list...)
			for r.Length > 0 {
				if _, _, err := r.LEB128Unmarshal(); err != nil {
					b.Fatal(err)
				}
			}
		})
		run("ReadBytes64", func(b *testing.B, list [][]byte) {
			r := NewReadableBuffersFromBytes(list...)
			for r.Length > 0 {
				if _, err := r.ReadBytes(64); err != nil {
					b.Fatal(err)
				}
			}
		})
		run("Skip64", func(b *testing.B, list [][]byte) {
			r := NewReadableBuffersFromBytes(list...)
			for r.Length > 0 {
				if err := r.Skip(64); err != nil {
					b.Fatal(err)
				}
			}
		})
		run("Read", func(b *testing.B, list [][]byte) {
			var p [1024]byte
			r := NewReadableBuffersFromBytes(list...)
			if n, err := r.Read(p[:]); n != len(p) {
				b.Fatal(n, err)
			}
		})
	}
	half := cut(data, 2)
	b.Run("op=Range/frag=2", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := NewReadableBuffersFromBytes(half[0], half[1])
			r.Range(func([]byte) {})
		}
	})
}

func BenchmarkMemory(b *testing.B) {
	kib := make([]byte, 1024)
	var chain Memory
	for range 100 {
		chain.PushOne(make([]byte, 1024))
	}
	b.Run("op=PushOne", func(b *testing.B) {
		b.ReportAllocs()
		m := NewMemory(nil)
		for b.Loop() {
			m.PushOne(kib)
		}
	})
	b.Run("op=ToBytes/frag=100", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = chain.ToBytes()
		}
	})
	b.Run("op=CopyTo/frag=100", func(b *testing.B) {
		buf := make([]byte, chain.Size)
		for b.Loop() {
			chain.CopyTo(buf)
		}
	})
	b.Run("op=Range/frag=100", func(b *testing.B) {
		for b.Loop() {
			chain.Range(func([]byte) {})
		}
	})
}
