package rows

import (
	"bytes"
	"encoding/binary"

	"github.com/gomem-go/gomem"
)

// chain returns n buffers of size bytes.
func chain(n, size int) [][]byte {
	buffers := make([][]byte, n)
	for i := range buffers {
		buffers[i] = make([]byte, size)
	}
	return buffers
}

// onMemory makes a row over a chain of n buffers of 1 KiB.
func onMemory(name string, published float64, n int, loop func(m *gomem.Memory, n int)) Row {
	return Row{Group: "Memory", Name: name, Published: published, Start: func() (func(int), func()) {
		m := gomem.Memory{}
		m.Push(chain(n, 1024)...)
		return func(n int) { loop(&m, n) }, func() {}
	}}
}

func memory() []Row {
	to := make([]byte, 100*1024)
	return []Row{
		onMemory("op=push-one", 190, 1, func(m *gomem.Memory, n int) {
			buffer := m.Buffers[0]
			for i := range n {
				if i&63 == 0 {
					m.Reset()
				}
				m.PushOne(buffer)
			}
		}),
		onMemory("op=to-bytes/buffers=100x1KiB", 15_900, 100, func(m *gomem.Memory, n int) {
			for range n {
				Sink = m.ToBytes()
			}
		}).over("bytes.Clone of 100 KiB", func() func(n int) {
			from := make([]byte, 100*1024)
			return func(n int) {
				for range n {
					Sink = bytes.Clone(from)
				}
			}
		}),
		onMemory("op=copy-to/buffers=100x1KiB", 2_950, 100, func(m *gomem.Memory, n int) {
			for range n {
				m.CopyTo(to)
			}
		}).over("one copy of 100 KiB", func() func(n int) {
			from := make([]byte, len(to))
			return func(n int) {
				for range n {
					copy(to, from)
				}
			}
		}),
		onMemory("op=range/buffers=100x1KiB", 38, 100, func(m *gomem.Memory, n int) {
			for range n {
				m.Range(func([]byte) {})
			}
		}).over("a loop over 100 slices that does nothing", func() func(n int) {
			buffers := chain(100, 1024)
			return func(n int) {
				for range n {
					for range buffers {
					}
				}
			}
		}),
	}
}

// onReader makes a row whose operation reads all of 1 KiB, in so many buffers.
// The reader is a variable of the loop, as it is in the code of a user and was in
// the predecessor's rows; behind a pointer its position takes a way through memory
// that a variable on the stack does not.
func onReader(name string, published float64, buffers int, loop func(m *gomem.Memory, n int)) Row {
	return Row{Group: "MemoryReader", Name: name, Published: published, Start: func() (func(int), func()) {
		m := gomem.Memory{}
		m.Push(chain(buffers, 1024/buffers)...)
		return func(n int) { loop(&m, n) }, func() {}
	}}
}

// must ends the program: a row that fails measures nothing.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func reader() []Row {
	return []Row{
		onReader("op=read-byte-x1024", 1_920, 1, func(m *gomem.Memory, n int) {
			for range n {
				r := m.NewReader()
				for range 1024 {
					_, err := r.ReadByte()
					must(err)
				}
			}
		}).over("bytes.Reader.ReadByte", func() func(n int) {
			from := make([]byte, 1024)
			return func(n int) {
				var r bytes.Reader
				for range n {
					r.Reset(from)
					for range 1024 {
						_, err := r.ReadByte()
						must(err)
					}
				}
			}
		}),
		onReader("op=read-be-x256", 3_994, 1, func(m *gomem.Memory, n int) {
			for range n {
				r := m.NewReader()
				for range 256 {
					_, err := r.ReadBE(4)
					must(err)
				}
			}
		}),
		onReader("op=leb128-x1024", 6_136, 1, func(m *gomem.Memory, n int) {
			for range n {
				r := m.NewReader()
				for range 1024 {
					_, _, err := r.LEB128Unmarshal()
					must(err)
				}
			}
		}).over("binary.Uvarint of a slice", func() func(n int) {
			from := make([]byte, 1024)
			return func(n int) {
				for range n {
					for rest := from; len(rest) > 0; {
						v, length := binary.Uvarint(rest)
						Count += int64(v)
						rest = rest[length:]
					}
				}
			}
		}),
		onReader("op=read-bytes-64-x16", 985, 1, func(m *gomem.Memory, n int) {
			for range n {
				r := m.NewReader()
				for range 16 {
					b, err := r.ReadBytes(64)
					must(err)
					Sink = b
				}
			}
		}).over("bytes.Clone of 64 B", func() func(n int) {
			from := make([]byte, 1024)
			return func(n int) {
				for range n {
					for at := 0; at < len(from); at += 64 {
						Sink = bytes.Clone(from[at : at+64])
					}
				}
			}
		}),
		onReader("op=skip-64-x16", 114, 1, func(m *gomem.Memory, n int) {
			for range n {
				r := m.NewReader()
				for range 16 {
					must(r.Skip(64))
				}
			}
		}),
		onReader("op=range", 88, 2, func(m *gomem.Memory, n int) {
			for range n {
				r := m.NewReader()
				r.Range(func(b []byte) { Count += int64(len(b)) })
			}
		}),
	}
}
