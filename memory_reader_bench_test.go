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

// BenchmarkMemoryReader reads 1 KiB per operation. A reader that outlives the
// loop is made anew in each round, which is part of the figure.
func BenchmarkMemoryReader(b *testing.B) {
	data := make([]byte, 1024)
	for i := range data {
		data[i] = byte(i % 128)
	}
	var r MemoryReader
	for _, frags := range []int{1, 8} {
		list := cut(data, frags)
		run := func(op string, pass func() error) {
			b.Run(fmt.Sprintf("op=%s/frag=%d", op, frags), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if frags == 1 {
						r = NewReadableBuffersFromBytes(data)
					} else {
						r = NewReadableBuffersFromBytes(list...)
					}
					if err := pass(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("ReadByte", func() (err error) {
			for r.Length > 0 && err == nil {
				_, err = r.ReadByte()
			}
			return err
		})
		run("ReadBE4", func() (err error) {
			for r.Length >= 4 && err == nil {
				_, err = r.ReadBE(4)
			}
			return err
		})
		run("LEB128", func() (err error) {
			for r.Length > 0 && err == nil {
				_, _, err = r.LEB128Unmarshal()
			}
			return err
		})
		run("ReadBytes64", func() (err error) {
			for r.Length > 0 && err == nil {
				_, err = r.ReadBytes(64)
			}
			return err
		})
		run("Skip64", func() (err error) {
			for r.Length > 0 && err == nil {
				err = r.Skip(64)
			}
			return err
		})
		p := make([]byte, 1024)
		run("Read", func() error {
			_, err := r.Read(p)
			return err
		})
	}
	half := cut(data, 2)
	b.Run("op=Range/frag=2", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r = NewReadableBuffersFromBytes(half[0], half[1])
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
