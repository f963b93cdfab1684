package gomem

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"
)

// mockNetwork never ends and returns minChunk…maxChunk bytes per Read, as a
// socket does whose peer sends at its own pace. The bytes are a ring of records:
// a big-endian length and that many bytes.
type mockNetwork struct {
	ring               []byte
	at                 int
	chunks             []int
	next               int
	minChunk, maxChunk int
}

func newMockNetwork(ring []byte, minChunk, maxChunk int) *mockNetwork {
	m := &mockNetwork{ring: ring, minChunk: minChunk, maxChunk: maxChunk}
	rng := rand.New(rand.NewPCG(7, 9))
	for range 1024 {
		m.chunks = append(m.chunks, minChunk+rng.IntN(maxChunk-minChunk+1))
	}
	return m
}

func (m *mockNetwork) Read(p []byte) (int, error) {
	n := min(len(p), m.chunks[m.next&1023], len(m.ring)-m.at)
	m.next++
	copy(p, m.ring[m.at:m.at+n])
	if m.at += n; m.at == len(m.ring) {
		m.at = 0
	}
	return n, nil
}

// recordRing is about size bytes of records with least…most bytes of payload.
func recordRing(size, least, most int) []byte {
	rng := rand.New(rand.NewPCG(3, 5))
	var p []byte
	for len(p) < size {
		n := least + rng.IntN(most-least+1)
		p = binary.BigEndian.AppendUint32(p, uint32(n))
		p = append(p, make([]byte, n)...)
	}
	return p
}

// Each shape of reading is a loop over the floor (the mock alone), bufio with a
// reused buffer, and the reader of this package.
func plainNetwork() *mockNetwork  { return newMockNetwork(make([]byte, 1<<18), 64, 2048) }
func recordNetwork() *mockNetwork { return newMockNetwork(recordRing(1<<18, 256, 1023), 64, 2048) }
func frameNetwork() *mockNetwork  { return newMockNetwork(recordRing(1<<18, 1020, 3068), 64, 2048) }

var sink byte

func touch(p []byte) { sink += p[0] }

func BenchmarkReader(b *testing.B) {
	for _, n := range []int{1024, 128} {
		size := map[int]string{1024: "1KiB", 128: "128B"}[n]
		b.Run("op=range"+size+"/impl=floor", func(b *testing.B) { benchFloor(b, n) })
		b.Run("op=range"+size+"/impl=bufio", func(b *testing.B) {
			r := bufio.NewReaderSize(plainNetwork(), DefaultBufLen)
			for b.Loop() {
				p, err := r.Peek(n)
				if err != nil {
					b.Fatal(err)
				}
				touch(p)
				if _, err := r.Discard(n); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("op=range"+size+"/impl=gomem", func(b *testing.B) {
			r := NewBufReader(plainNetwork())
			for b.Loop() {
				if err := r.ReadRange(n, touch); err != nil {
					b.Fatal(err)
				}
			}
			r.Recycle()
		})
		b.Run("op=next"+size+"/impl=gomem", func(b *testing.B) {
			r := NewBufReader(plainNetwork())
			for b.Loop() {
				p, err := r.Next(n)
				if err != nil {
					b.Fatal(err)
				}
				touch(p)
			}
			r.Recycle()
		})
	}
	b.Run("op=record/impl=bufio", func(b *testing.B) {
		r := bufio.NewReaderSize(recordNetwork(), DefaultBufLen)
		for b.Loop() {
			p, err := r.Peek(4)
			if err != nil {
				b.Fatal(err)
			}
			n := int(binary.BigEndian.Uint32(p))
			if _, err := r.Discard(4); err != nil {
				b.Fatal(err)
			}
			if p, err = r.Peek(n); err != nil {
				b.Fatal(err)
			}
			touch(p)
			if _, err := r.Discard(n); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=record/impl=gomem", func(b *testing.B) {
		r := NewBufReader(recordNetwork())
		for b.Loop() {
			n, err := r.ReadBE32(4)
			if err != nil {
				b.Fatal(err)
			}
			if err := r.ReadRange(int(n), touch); err != nil {
				b.Fatal(err)
			}
		}
		r.Recycle()
	})
	benchSmall(b)
}

func benchFloor(b *testing.B, n int) {
	m := plainNetwork()
	buf := make([]byte, DefaultBufLen)
	have := 0
	for b.Loop() {
		for have < n {
			k, err := m.Read(buf)
			if err != nil {
				b.Fatal(err)
			}
			have += k
		}
		touch(buf)
		have -= n
	}
}

// benchSmall compares the calls that do next to nothing. They are made on the
// concrete types, as a program does.
func benchSmall(b *testing.B) {
	std := func() *bufio.Reader { return bufio.NewReaderSize(plainNetwork(), DefaultBufLen) }
	own := func() *BufReader { return NewBufReader(plainNetwork()) }
	b.Run("op=byte/impl=bufio", func(b *testing.B) {
		r := std()
		for b.Loop() {
			for range 256 {
				c, err := r.ReadByte()
				if err != nil {
					b.Fatal(err)
				}
				sink += c
			}
		}
	})
	b.Run("op=byte/impl=gomem", func(b *testing.B) {
		r := own()
		for b.Loop() {
			for range 256 {
				c, err := r.ReadByte()
				if err != nil {
					b.Fatal(err)
				}
				sink += c
			}
		}
	})
	b.Run("op=skip/impl=bufio", func(b *testing.B) {
		r := std()
		for b.Loop() {
			if _, err := r.Discard(1024); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=skip/impl=gomem", func(b *testing.B) {
		r := own()
		for b.Loop() {
			if err := r.Skip(1024); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=peek/impl=bufio", func(b *testing.B) {
		r := std()
		for b.Loop() {
			p, err := r.Peek(64)
			if err != nil {
				b.Fatal(err)
			}
			touch(p)
			if _, err := r.Discard(16); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=peek/impl=gomem", func(b *testing.B) {
		r := own()
		for b.Loop() {
			p, err := r.Peek(64)
			if err != nil {
				b.Fatal(err)
			}
			touch(p)
			if err := r.Skip(16); err != nil {
				b.Fatal(err)
			}
		}
	})
	for impl, r := range map[string]io.Reader{"bufio": std(), "gomem": own()} {
		b.Run("op=read1KiB/impl="+impl, func(b *testing.B) {
			p := make([]byte, 1024)
			for b.Loop() {
				if _, err := io.ReadFull(r, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkKeptFrames keeps each frame of 1 to 3 KiB until 30 more have been read.
func BenchmarkKeptFrames(b *testing.B) {
	const keep = 30
	b.Run("impl=floor", func(b *testing.B) {
		m := frameNetwork()
		sizes := newMockNetwork(nil, 1024, 3072).chunks
		buf := make([]byte, DefaultBufLen)
		have, i := 0, 0
		for b.Loop() {
			n := sizes[i&1023]
			i++
			for have < n {
				k, _ := m.Read(buf)
				have += k
			}
			have -= n
		}
	})
	b.Run("impl=bufio+make", func(b *testing.B) {
		r := bufio.NewReaderSize(frameNetwork(), DefaultBufLen)
		var ring [keep][]byte
		i := 0
		for b.Loop() {
			h, err := r.Peek(4)
			if err != nil {
				b.Fatal(err)
			}
			p := make([]byte, 4+binary.BigEndian.Uint32(h))
			if _, err := io.ReadFull(r, p); err != nil {
				b.Fatal(err)
			}
			ring[i%keep] = p
			i++
		}
	})
	b.Run("impl=gomem", func(b *testing.B) {
		r := NewBufReader(frameNetwork())
		var ring [keep]*SharedMemory
		i := 0
		for b.Loop() {
			h, err := r.Peek(4)
			if err != nil {
				b.Fatal(err)
			}
			s, err := r.ReadShared(4 + int(binary.BigEndian.Uint32(h)))
			if err != nil {
				b.Fatal(err)
			}
			if old := ring[i%keep]; old != nil {
				if err := old.Release(); err != nil {
					b.Fatal(err)
				}
			}
			ring[i%keep] = s
			i++
		}
	})
}
