package pionmem

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/gomem-go/gomem/gomemtest"
	"github.com/pion/transport/v5/packetio"
)

// sameError reports whether two errors look the same to a caller.
func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	for _, e := range []error{packetio.ErrFull, packetio.ErrTimeout, io.EOF, io.ErrShortBuffer, io.ErrClosedPipe} {
		if errors.Is(a, e) != errors.Is(b, e) || (a == e) != (b == e) {
			return false
		}
	}
	na, okA := errors.AsType[net.Error](a)
	nb, okB := errors.AsType[net.Error](b)
	//lint:ignore SA1019 it is compared because pion's error has it
	return a.Error() == b.Error() && okA == okB && (!okA || na.Timeout() == nb.Timeout() && na.Temporary() == nb.Temporary())
}

// pair is pion's queue and ours, which must answer alike.
type pair struct {
	t    *testing.T
	pion *packetio.Buffer
	our  *Buffer
	past bool // the deadline
	shut bool
}

func (p *pair) write(data []byte, attrs packetio.Attributes) {
	n, err := p.pion.Write(data, attrs)
	m, err2 := p.our.WriteWithAttributes(data, attrs)
	if n != m || !sameError(err, err2) {
		p.t.Fatalf("Write of %d bytes: %d, %v; pion: %d, %v", len(data), m, err2, n, err)
	}
}

// read reads from both; reuse is the list that both may put attributes in.
func (p *pair) read(size int, reuse packetio.Attributes) {
	a, b := make([]byte, size), make([]byte, size)
	reuse2 := slices.Clone(reuse)
	n, attrs, err := p.pion.Read(a, reuse)
	m, attrs2, err2 := p.our.ReadWithAttributes(b, reuse2)
	if n != m || !bytes.Equal(a, b) || !slices.Equal(attrs, attrs2) || (attrs == nil) != (attrs2 == nil) ||
		!slices.Equal(reuse, reuse2) || !sameError(err, err2) {
		p.t.Fatalf("Read to %d bytes: %d, %v, %v; pion: %d, %v, %v", size, m, attrs2, err2, n, attrs, err)
	}
}

func (p *pair) close() {
	p.shut = true
	if p.pion.Close() != nil || p.our.Close() != nil {
		p.t.Fatal("Close failed")
	}
}

func (p *pair) compare() {
	if p.our.Count() != p.pion.Count() || p.our.Size() != p.pion.Size() {
		p.t.Fatalf("%d packets, size %d; pion: %d, %d", p.our.Count(), p.our.Size(), p.pion.Count(), p.pion.Size())
	}
}

// drain reads all there is.
func (p *pair) drain() {
	p.deadline(time.Time{}, false)
	for p.pion.Count() > 0 {
		p.read(100, nil)
		p.compare()
	}
}

func (p *pair) deadline(t time.Time, past bool) {
	p.past = past
	if p.pion.SetReadDeadline(t) != nil || p.our.SetReadDeadline(t) != nil {
		p.t.Fatal("SetReadDeadline failed")
	}
}

// Random programs: whatever pion's queue returns, ours returns, too.
func TestLikePion(t *testing.T) {
	const seed = 1
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, seed))
	a := gomemtest.New(t)
	payload := make([]byte, 70_000)
	for i := range payload {
		payload[i] = byte(rng.Uint32())
	}
	some := func() packetio.Attributes {
		var attrs packetio.Attributes
		for i := range max(0, rng.IntN(8)-4) {
			attrs.Set(i, rng.IntN(100))
		}
		return attrs
	}
	for round := range 200 {
		p := &pair{t: t, pion: packetio.NewBuffer(), our: NewBuffer(a)}
		largest := []int{20, 1500, 9000, 1 << 16}[rng.IntN(4)] // 65,536 is too big
		writes := 2 + rng.IntN(7)                              // of 10; the queue grows, or is short
		for range rng.IntN(300) {
			switch at := rng.IntN(40); {
			case at == 0:
				n := rng.IntN(30) - 2
				p.pion.SetLimitCount(n)
				p.our.SetLimitCount(n)
			case at == 1:
				n := []int{-1, 0, 1, 2, 3, 1000, 100_000, 5 << 20}[rng.IntN(8)]
				p.pion.SetLimitSize(n)
				p.our.SetLimitSize(n)
			case at == 2:
				p.deadline([]time.Time{{}, time.Now().Add(time.Hour)}[rng.IntN(2)], false)
			case at == 3:
				p.deadline(time.Now().Add(-time.Second), true)
			case at == 4 && round%3 == 0:
				p.close()
			case at%10 < writes:
				from := rng.IntN(len(payload) - largest)
				p.write(payload[from:][:rng.IntN(largest+1)], some())
			case p.pion.Count() > 0 || p.shut || p.past: // it does not wait
				p.read(rng.IntN(2*largest), some())
			}
			p.compare()
		}
		p.drain()
	}
}

// The limit where none is set, to the byte.
func TestLikePionWhenFull(t *testing.T) {
	p := &pair{t: t, pion: packetio.NewBuffer(), our: NewBuffer(gomemtest.New(t))}
	p.write(make([]byte, 1), nil) // an odd size, so that the empty packets leave one byte
	for _, size := range []int{maxPacket, 100, 0} {
		for before := -1; p.pion.Count() > before; {
			before = p.pion.Count()
			p.write(make([]byte, size), nil)
			p.compare()
		}
	}
	if p.our.Size() != maxSize-1 {
		t.Errorf("full with a size of %d", p.our.Size())
	}
	for p.pion.Count() > 0 {
		p.read(maxPacket, nil)
	}
	p.compare()
}
