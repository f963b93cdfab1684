package gomem

import (
	"bufio"
	"encoding/binary"
	"io"
	"runtime"
	"sync"
	"testing"
)

// The four scenarios of the article that introduced BufReader, with its mock
// network and its three metrics: time, MB-alloc and gc-runs. Beside its own
// comparison, a bufio that allocates for each packet, stands a fair one, which
// parses in place as far as bufio can.
//
//	bufio+make   the article's: make, then read into it
//	bufio        Peek and Discard; one buffer for what must be copied
//	gomem        ReadRange, ReadShared

// scenario runs one goroutine per stream, each doing a share of b.N operations.
func scenario(b *testing.B, streams int, stream func(n int)) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range streams {
		n := b.N / streams
		if i < b.N%streams {
			n++
		}
		wg.Go(func() { stream(n) })
	}
	wg.Wait()
	b.StopTimer()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.NumGC-before.NumGC), "gc-runs")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/(1<<20), "MB-alloc")
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Error(err)
		runtime.Goexit()
	}
}

// sum stands for the work on a packet.
func sum(p []byte) (n int) {
	for i := 0; i < len(p); i += 64 {
		n += int(p[i])
	}
	return n
}

const articleStreams = 100

// BenchmarkConcurrentNetworkRead: 100 connections, packets of 1 KiB.
func BenchmarkConcurrentNetworkRead(b *testing.B) {
	b.Run("impl=bufio+make", func(b *testing.B) {
		scenario(b, articleStreams, func(n int) {
			r := bufio.NewReaderSize(articleNetwork(), DefaultBufLen)
			for range n {
				p := make([]byte, 1024)
				_, err := io.ReadFull(r, p)
				must(b, err)
				sum(p)
			}
		})
	})
	b.Run("impl=bufio", func(b *testing.B) {
		scenario(b, articleStreams, func(n int) {
			r := bufio.NewReaderSize(articleNetwork(), DefaultBufLen)
			for range n {
				p, err := r.Peek(1024)
				must(b, err)
				sum(p)
				_, err = r.Discard(1024)
				must(b, err)
			}
		})
	})
	b.Run("impl=gomem", func(b *testing.B) {
		scenario(b, articleStreams, func(n int) {
			r := NewBufReader(articleNetwork())
			defer r.Recycle()
			for range n {
				must(b, r.ReadRange(1024, func(p []byte) { sum(p) }))
			}
		})
	})
}

// articleRing is shared: 100 streams of their own would measure the cache.
var articleRing = recordRing(1<<18, 256, 1023)

func articleNetwork() *mockNetwork { return newMockNetwork(articleRing, 64, 2048) }

// BenchmarkConcurrentProtocolParsing: 100 connections, a length and its payload.
func BenchmarkConcurrentProtocolParsing(b *testing.B) { parsing(b, articleStreams) }

// BenchmarkGCPressure: the same on as many goroutines as there are processors, over
// a longer time (-benchtime=5s), for the metrics rather than the time.
func BenchmarkGCPressure(b *testing.B) { parsing(b, runtime.GOMAXPROCS(0)) }

func parsing(b *testing.B, streams int) {
	b.Run("impl=bufio+make", func(b *testing.B) {
		scenario(b, streams, func(n int) {
			r := bufio.NewReaderSize(articleNetwork(), DefaultBufLen)
			for range n {
				sum(madePacket(b, r))
			}
		})
	})
	b.Run("impl=bufio", func(b *testing.B) {
		scenario(b, streams, func(n int) {
			r := bufio.NewReaderSize(articleNetwork(), DefaultBufLen)
			for range n {
				h, err := r.Peek(4)
				must(b, err)
				size := int(binary.BigEndian.Uint32(h))
				_, err = r.Discard(4)
				must(b, err)
				p, err := r.Peek(size)
				must(b, err)
				sum(p)
				_, err = r.Discard(size)
				must(b, err)
			}
		})
	})
	b.Run("impl=gomem", func(b *testing.B) {
		scenario(b, streams, func(n int) {
			r := NewBufReader(articleNetwork())
			defer r.Recycle()
			for range n {
				size, err := r.ReadBE32(4)
				must(b, err)
				must(b, r.ReadRange(int(size), func(p []byte) { sum(p) }))
			}
		})
	})
}

// madePacket reads a packet as the article's bufio does.
func madePacket(b *testing.B, r *bufio.Reader) []byte {
	h := make([]byte, 4)
	_, err := io.ReadFull(r, h)
	must(b, err)
	p := make([]byte, binary.BigEndian.Uint32(h))
	_, err = io.ReadFull(r, p)
	must(b, err)
	return p
}

// BenchmarkStreamingServer: 100 streams, each packet is handed to four
// subscribers, who look at it only after eight more have been read.
func BenchmarkStreamingServer(b *testing.B) {
	const subscribers, delay = 4, 8
	b.Run("impl=bufio+make", func(b *testing.B) {
		scenario(b, articleStreams, func(n int) {
			r := bufio.NewReaderSize(articleNetwork(), DefaultBufLen)
			var queues [subscribers][delay][]byte
			for i := range n {
				p := madePacket(b, r)
				for s := range queues { // each subscriber gets a copy
					sum(queues[s][i%delay])
					queues[s][i%delay] = append([]byte(nil), p...)
				}
			}
		})
	})
	b.Run("impl=bufio", func(b *testing.B) {
		scenario(b, articleStreams, func(n int) {
			r := bufio.NewReaderSize(articleNetwork(), DefaultBufLen)
			var queues [subscribers][delay][]byte
			for i := range n {
				h, err := r.Peek(4)
				must(b, err)
				p := make([]byte, 4+binary.BigEndian.Uint32(h)) // it must outlive the read
				_, err = io.ReadFull(r, p)
				must(b, err)
				for s := range queues { // and is shared: the collector frees it
					sum(queues[s][i%delay])
					queues[s][i%delay] = p
				}
			}
		})
	})
	b.Run("impl=gomem", func(b *testing.B) {
		scenario(b, articleStreams, func(n int) {
			r := NewBufReader(articleNetwork())
			defer r.Recycle()
			var queues [subscribers][delay]*SharedMemory
			for i := range n {
				h, err := r.Peek(4)
				must(b, err)
				p, err := r.ReadShared(4 + int(binary.BigEndian.Uint32(h)))
				must(b, err)
				for s := range queues {
					if s > 0 {
						must(b, p.Retain())
					}
					deliver(b, queues[s][i%delay])
					queues[s][i%delay] = p
				}
			}
			for _, q := range queues {
				for _, p := range q {
					deliver(b, p)
				}
			}
		})
	})
}

// deliver is what a subscriber does with its reference.
func deliver(b *testing.B, p *SharedMemory) {
	if p == nil {
		return
	}
	m := p.Memory()
	for _, v := range m.Buffers {
		sum(v)
	}
	must(b, p.Release())
}
