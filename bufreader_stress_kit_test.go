package gomem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
)

// byteOf is the byte at a place of a stream.
func byteOf(stream uint32, at int) byte {
	return byte((stream*40503 ^ uint32(at)) * 2654435761 >> 23)
}

// fillFrom makes p what stream has at a place.
func fillFrom(p []byte, stream uint32, at int) {
	for i := range p {
		p[i] = byteOf(stream, at+i)
	}
}

// differs says where p is not what stream has at a place.
func differs(p []byte, stream uint32, at int) error {
	for i, c := range p {
		if want := byteOf(stream, at+i); c != want {
			return fmt.Errorf("byte %d of %d at %d of stream %d is %#x, want %#x", i, len(p), at, stream, c, want)
		}
	}
	return nil
}

// moody is a source of the first bytes of a stream that fails now and then.
type moody struct {
	rng          *rand.Rand
	stream       uint32
	at, size     int
	piece, often int // the most for one read, and of how many reads one fails
}

func (m *moody) Read(p []byte) (int, error) {
	n := min(m.rng.IntN(m.piece+1), len(p), m.size-m.at)
	var err error
	switch odd := m.rng.IntN(m.often) == 0; {
	case m.at+n == m.size && (n == 0 || odd):
		err = io.EOF
	case odd:
		switch m.rng.IntN(20) {
		case 0:
			panic(errReset)
		case 1, 2, 3, 4, 5:
			err = errReset
		default:
			n, err = 0, []error{nil, errReset}[m.rng.IntN(2)]
		}
	}
	fillFrom(p[:n], m.stream, m.at)
	m.at += n
	return n, err
}

// ticket is a reference to a frame; holders counts them.
type ticket struct {
	s       *SharedMemory
	stream  uint32
	at, n   int
	holders *atomic.Int32
}

// comparer is a writer that sees whether it gets the bytes of a stream.
type comparer struct {
	stream uint32
	at     int
	err    error
}

func (c *comparer) Write(p []byte) (int, error) {
	c.err = errors.Join(c.err, differs(p, c.stream, c.at))
	c.at += len(p)
	return len(p), nil
}

// check looks at all of the frame.
func (k ticket) check() error {
	m := k.s.Memory()
	c := &comparer{stream: k.stream, at: k.at}
	n, err := k.s.WriteTo(c)
	if m.Size != k.n || k.s.Len() != k.n || n != int64(k.n) || err != nil {
		return fmt.Errorf("a frame of %d, %d and %d bytes, want %d; %w", m.Size, k.s.Len(), n, k.n, err)
	}
	return errors.Join(c.err, differs(bytes.Join(m.Buffers, nil), k.stream, k.at))
}

// stale calls the handle without a reference.
func (k ticket) stale() error {
	n, err := k.s.WriteTo(io.Discard)
	for _, err := range []error{k.s.Release(), k.s.Retain(), err} {
		if err != ErrReleased {
			return fmt.Errorf("a released frame says %v", err)
		}
	}
	if m := k.s.Memory(); n != 0 || k.s.Len() != 0 || m.Size != 0 || len(m.Buffers) != 0 {
		return errors.New("a released frame has bytes")
	}
	return nil
}

// sharing is what readers, and those who keep their frames, have in common.
type sharing struct {
	mem  *ScalableMemoryAllocator
	out  chan ticket
	late atomic.Uint64 // frames that were released too often
	rest sync.RWMutex  // of who calls a handle without a reference: no reader may reuse it meanwhile
}

// consume keeps tickets for a while, and lets them go in any order.
func (s *sharing) consume(rng *rand.Rand) error {
	var kept []ticket
	for late := 1 + rng.IntN(200); ; {
		for len(kept) < late {
			k, open := <-s.out
			if !open {
				break
			}
			kept = append(kept, k)
		}
		if len(kept) == 0 {
			return nil
		}
		i := rng.IntN(len(kept))
		k := kept[i]
		if err := k.check(); err != nil {
			return err
		}
		kept = slices.Delete(kept, i, i+1)
		if rng.IntN(4) == 0 {
			k.holders.Add(1)
			if err := k.s.Retain(); err != nil {
				return err
			}
			kept = append(kept, k)
		}
		if err := s.release(k, rng.IntN(30) == 0); err != nil {
			return err
		}
	}
}

// release lets a ticket go, and once too often if odd and nobody else has one.
func (s *sharing) release(k ticket, odd bool) error {
	if odd {
		s.rest.Lock()
		defer s.rest.Unlock()
	}
	err := k.s.Release()
	if k.holders.Add(-1) == 0 && odd {
		err = errors.Join(err, k.stale())
		s.late.Add(1)
	}
	return err
}
