// Package reading holds loops that read a stream, with GoMem's BufReader and
// with bufio, from a mock of a network.
package reading

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
)

// ringBytes is what a network repeats: more than a first-level cache holds,
// less than a second-level one.
const ringBytes = 256 << 10

// network is a source without an end. A Read returns 64 to 2,048 bytes, as a
// socket does whose peer sends when it likes. The lengths are drawn beforehand,
// so that the loop over the network alone is a floor and not a measurement of
// the generator.
type network struct {
	ring    []byte
	at      int
	lengths []int // a power of two of them
	turn    int
}

func newNetwork(ring []byte) *network {
	random := rand.New(rand.NewPCG(64, 2048))
	n := &network{ring: ring, lengths: make([]int, 1024)}
	for i := range n.lengths {
		n.lengths[i] = 64 + random.IntN(2048-64+1)
	}
	return n
}

// Read never fails.
func (n *network) Read(p []byte) (int, error) {
	got := copy(p[:min(len(p), n.lengths[n.turn&(len(n.lengths)-1)])], n.ring[n.at:])
	n.turn++
	if n.at += got; n.at == len(n.ring) {
		n.at = 0
	}
	return got, nil
}

// stream is the contents of a network: records of a big-endian length in four
// bytes and as many bytes of payload.
type stream struct {
	ring  []byte
	sizes []int // of the records, with their length
}

// newStream makes records with least to most bytes of payload.
func newStream(least, most int) *stream {
	random := rand.New(rand.NewPCG(uint64(least), uint64(most)))
	s := new(stream)
	for len(s.ring) < ringBytes {
		payload := least + random.IntN(most-least+1)
		s.ring = binary.BigEndian.AppendUint32(s.ring, uint32(payload))
		for range payload {
			s.ring = append(s.ring, byte(len(s.ring)))
		}
		s.sizes = append(s.sizes, headerSize+payload)
	}
	return s
}

const headerSize = 4

// packets have 256 to 1,023 bytes of payload; frames are of 1 to 3 KiB, their
// length included.
var (
	packets = sync.OnceValue(func() *stream { return newStream(256, 1023) })
	frames  = sync.OnceValue(func() *stream { return newStream(1024-headerSize, 3072-headerSize) })
)

// Seen keeps what a loop looked at from being optimized away.
var Seen byte

// look stands for the use of what was read.
func look(p []byte) { Seen += p[0] }

// must ends the program: the network never fails.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
