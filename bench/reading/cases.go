package reading

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/bench/rows"
)

// The ways of reading.
const (
	Floor = "floor"      // the network alone, read into one buffer
	Bufio = "bufio"      // Peek and Discard: in place, as far as bufio can
	Made  = "bufio+make" // a fresh slice for what is read, as most programs do
	Gomem = "gomem"
)

const (
	overBufio = 1.1
	overFloor = 2.0
	keepFor   = 30
)

// Cases returns what is read in place, and frames that are kept.
func Cases() []rows.Case {
	inPlace := []rows.Goal{{Way: Gomem, Than: Bufio, Most: overBufio, NoAllocs: true}}
	return []rows.Case{
		{Op: "ReadRange of 1 KiB", Ways: ranges(1024), Goals: inPlace},
		{Op: "4-byte header, 256 to 1,023 B of payload", Ways: records(), Goals: inPlace},
		{Op: "ReadRange of 128 B", Ways: ranges(128), Goals: inPlace},
		{Op: "Skip of 1 KiB", Ways: skips(), Goals: inPlace},
		{Op: "Peek of 64 B, Skip of 16 B", Ways: peeks(), Goals: inPlace},
		{Op: "ReadByte", Ways: singles(), Goals: inPlace},
		{
			Op: "frames of 1 to 3 KiB, kept for 30 frames", Ways: kept(),
			Goals: []rows.Goal{{Way: Gomem, Than: Floor, Most: overFloor, NoAllocs: true}},
		},
	}
}

func onFloor(s *stream, sizes ...int) rows.Way {
	return rows.Way{Name: Floor, Start: func() (func(int), func()) {
		from, buffer := newNetwork(s.ring), make([]byte, gomem.DefaultBufLen)
		have, next := 0, 0
		return func(n int) {
			for range n {
				for have < sizes[next] {
					got, err := from.Read(buffer)
					must(err)
					have += got
				}
				look(buffer)
				have -= sizes[next]
				if next++; next == len(sizes) {
					next = 0
				}
			}
		}, func() {}
	}}
}

func onBufio(name string, s *stream, loop func(r *bufio.Reader, n int)) rows.Way {
	return rows.Way{Name: name, Start: func() (func(int), func()) {
		r := bufio.NewReaderSize(newNetwork(s.ring), gomem.DefaultBufLen)
		return func(n int) { loop(r, n) }, func() {}
	}}
}

func onGomem(s *stream, loop func(r *gomem.BufReader, n int)) rows.Way {
	return rows.Way{Name: Gomem, Start: func() (func(int), func()) {
		r := gomem.NewBufReader(newNetwork(s.ring))
		return func(n int) { loop(r, n) }, r.Recycle
	}}
}

// take looks at the next n bytes and goes past them.
func take(r *bufio.Reader, n int) {
	p, err := r.Peek(n)
	must(err)
	look(p)
	_, err = r.Discard(n)
	must(err)
}

// header reads the length of a record.
func header(r *bufio.Reader) int {
	p, err := r.Peek(headerSize)
	must(err)
	n := int(binary.BigEndian.Uint32(p))
	_, err = r.Discard(headerSize)
	must(err)
	return n
}

// made reads n bytes into a slice of their own.
func made(r *bufio.Reader, n int) []byte {
	p := make([]byte, n)
	_, err := io.ReadFull(r, p)
	must(err)
	return p
}

func ranges(size int) []rows.Way {
	return []rows.Way{
		onFloor(packets(), size),
		onBufio(Bufio, packets(), func(r *bufio.Reader, n int) {
			for range n {
				take(r, size)
			}
		}),
		onBufio(Made, packets(), func(r *bufio.Reader, n int) {
			for range n {
				look(made(r, size))
			}
		}),
		onGomem(packets(), func(r *gomem.BufReader, n int) {
			for range n {
				must(r.ReadRange(size, look))
			}
		}),
	}
}

func records() []rows.Way {
	return []rows.Way{
		onFloor(packets(), packets().sizes...),
		onBufio(Bufio, packets(), func(r *bufio.Reader, n int) {
			for range n {
				take(r, header(r))
			}
		}),
		onBufio(Made, packets(), func(r *bufio.Reader, n int) {
			for range n {
				look(made(r, header(r)))
			}
		}),
		onGomem(packets(), func(r *gomem.BufReader, n int) {
			for range n {
				size, err := r.ReadBE32(headerSize)
				must(err)
				must(r.ReadRange(int(size), look))
			}
		}),
	}
}

func skips() []rows.Way {
	const size = 1024
	return []rows.Way{
		onFloor(packets(), size),
		onBufio(Bufio, packets(), func(r *bufio.Reader, n int) {
			for range n {
				_, err := r.Discard(size)
				must(err)
			}
		}),
		onGomem(packets(), func(r *gomem.BufReader, n int) {
			for range n {
				must(r.Skip(size))
			}
		}),
	}
}

func peeks() []rows.Way {
	const ahead, step = 64, 16
	return []rows.Way{
		onFloor(packets(), step),
		onBufio(Bufio, packets(), func(r *bufio.Reader, n int) {
			for range n {
				p, err := r.Peek(ahead)
				must(err)
				look(p)
				_, err = r.Discard(step)
				must(err)
			}
		}),
		onGomem(packets(), func(r *gomem.BufReader, n int) {
			for range n {
				p, err := r.Peek(ahead)
				must(err)
				look(p)
				must(r.Skip(step))
			}
		}),
	}
}

// singles sums up in a variable of the loop: a store for each byte would cost as
// much as reading it.
func singles() []rows.Way {
	return []rows.Way{
		onBufio(Bufio, packets(), func(r *bufio.Reader, n int) {
			total := byte(0)
			for range n {
				c, err := r.ReadByte()
				must(err)
				total += c
			}
			Seen += total
		}),
		onGomem(packets(), func(r *gomem.BufReader, n int) {
			total := byte(0)
			for range n {
				c, err := r.ReadByte()
				must(err)
				total += c
			}
			Seen += total
		}),
	}
}

// kept keeps each frame until 30 more have been read. bufio has to copy it into
// memory that the collector frees.
func kept() []rows.Way {
	return []rows.Way{
		onFloor(frames(), frames().sizes...),
		{Name: Made, Start: func() (func(int), func()) {
			r := bufio.NewReaderSize(newNetwork(frames().ring), gomem.DefaultBufLen)
			var ring [keepFor][]byte
			next := 0
			return func(n int) {
				for range n {
					p, err := r.Peek(headerSize)
					must(err)
					ring[next] = made(r, headerSize+int(binary.BigEndian.Uint32(p)))
					look(ring[next])
					next = (next + 1) % keepFor
				}
			}, func() {}
		}},
		{Name: Gomem, Start: func() (func(int), func()) {
			r := gomem.NewBufReader(newNetwork(frames().ring))
			var ring [keepFor]*gomem.SharedMemory
			next := 0
			return func(n int) {
					for range n {
						p, err := r.Peek(headerSize)
						must(err)
						look(p)
						frame, err := r.ReadShared(headerSize + int(binary.BigEndian.Uint32(p)))
						must(err)
						letGo(ring[next])
						ring[next] = frame
						next = (next + 1) % keepFor
					}
				}, func() {
					for _, frame := range ring {
						letGo(frame)
					}
					r.Recycle()
				}
		}},
	}
}

func letGo(frame *gomem.SharedMemory) {
	if frame != nil {
		must(frame.Release())
	}
}
