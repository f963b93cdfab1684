package reading

import (
	"bufio"
	"encoding/binary"
	"runtime"
	"sync"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/bench/rows"
)

// connections is how many streams a server reads at once.
const connections = 100

// Scenarios returns the four programs of the article that introduced BufReader.
// An operation is one packet of one connection. The article compares with a
// bufio that makes a slice for each packet; beside it stands one that is as
// sparing as bufio allows.
func Scenarios() []rows.Case {
	return []rows.Case{
		{Op: "concurrent reads: 100 connections, 1 KiB", Ways: reads()},
		{Op: "protocol parsing: 100 connections, header and payload", Ways: parses(connections)},
		{Op: "GC pressure: the same, one connection a core", Ways: parses(runtime.GOMAXPROCS(0))},
		{Op: "streaming server: 100 streams, 4 subscribers, 8 packets late", Ways: serves()},
	}
}

// spread shares n operations out to streams goroutines.
func spread(streams, n int, work func(n int)) {
	var group sync.WaitGroup
	for i := range streams {
		share := n / streams
		if i < n%streams {
			share++
		}
		group.Go(func() { work(share) })
	}
	group.Wait()
}

// bufioReaders gives each connection a reader of its own, made with the
// connection.
func bufioReaders(name string, streams int, work func(r *bufio.Reader, n int)) rows.Way {
	return rows.Way{Name: name, Start: func() (func(int), func()) {
		return func(n int) {
			spread(streams, n, func(n int) {
				work(bufio.NewReaderSize(newNetwork(packets().ring), gomem.DefaultBufLen), n)
			})
		}, func() {}
	}}
}

func bufReaders(streams int, work func(r *gomem.BufReader, n int)) rows.Way {
	return rows.Way{Name: Gomem, Start: func() (func(int), func()) {
		return func(n int) {
			spread(streams, n, func(n int) {
				r := gomem.NewBufReader(newNetwork(packets().ring))
				defer r.Recycle()
				work(r, n)
			})
		}, func() {}
	}}
}

// sum reads one byte of each cache line. It is not inlined: the compiler would see
// that nobody wants the sum.
//
//go:noinline
func sum(p []byte) (total byte) {
	for i := 0; i < len(p); i += 64 {
		total += p[i]
	}
	return total
}

func reads() []rows.Way {
	const size = 1024
	return []rows.Way{
		bufioReaders(Made, connections, func(r *bufio.Reader, n int) {
			for range n {
				sum(made(r, size))
			}
		}),
		bufioReaders(Bufio, connections, func(r *bufio.Reader, n int) {
			for range n {
				p, err := r.Peek(size)
				must(err)
				sum(p)
				_, err = r.Discard(size)
				must(err)
			}
		}),
		bufReaders(connections, func(r *gomem.BufReader, n int) {
			for range n {
				must(r.ReadRange(size, func(p []byte) { sum(p) }))
			}
		}),
	}
}

func parses(streams int) []rows.Way {
	return []rows.Way{
		bufioReaders(Made, streams, func(r *bufio.Reader, n int) {
			for range n {
				sum(madePacket(r))
			}
		}),
		bufioReaders(Bufio, streams, func(r *bufio.Reader, n int) {
			for range n {
				size := header(r)
				p, err := r.Peek(size)
				must(err)
				sum(p)
				_, err = r.Discard(size)
				must(err)
			}
		}),
		bufReaders(streams, func(r *gomem.BufReader, n int) {
			for range n {
				size, err := r.ReadBE32(headerSize)
				must(err)
				must(r.ReadRange(int(size), func(p []byte) { sum(p) }))
			}
		}),
	}
}

// madePacket makes a slice for the header and one for the payload.
func madePacket(r *bufio.Reader) []byte {
	return made(r, int(binary.BigEndian.Uint32(made(r, headerSize))))
}

// serves hands each packet to subscribers that look at it when late more have
// come: the article's bufio copies it for each of them, the sparing one makes one
// slice that they share.
func serves() []rows.Way {
	const subscribers, late = 4, 8
	return []rows.Way{
		bufioReaders(Made, connections, func(r *bufio.Reader, n int) {
			var queues [subscribers][late][]byte
			for i := range n {
				p := madePacket(r)
				for s := range queues {
					sum(queues[s][i%late])
					queues[s][i%late] = append([]byte(nil), p...)
				}
			}
		}),
		bufioReaders(Bufio, connections, func(r *bufio.Reader, n int) {
			var queues [subscribers][late][]byte
			for i := range n {
				p := made(r, header(r))
				for s := range queues {
					sum(queues[s][i%late])
					queues[s][i%late] = p
				}
			}
		}),
		bufReaders(connections, func(r *gomem.BufReader, n int) {
			var queues [subscribers][late]*gomem.SharedMemory
			for i := range n {
				size, err := r.ReadBE32(headerSize)
				must(err)
				p, err := r.ReadShared(int(size))
				must(err)
				for s := range queues {
					if s > 0 {
						must(p.Retain())
					}
					deliver(queues[s][i%late])
					queues[s][i%late] = p
				}
			}
			for _, queue := range queues {
				for _, p := range queue {
					deliver(p)
				}
			}
		}),
	}
}

// deliver looks at a packet and gives the reference back.
func deliver(p *gomem.SharedMemory) {
	if p == nil {
		return
	}
	m := p.Memory()
	for _, b := range m.Buffers {
		sum(b)
	}
	must(p.Release())
}
