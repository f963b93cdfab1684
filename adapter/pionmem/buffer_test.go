package pionmem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/gomemtest"
	"github.com/pion/transport/v5/packetio"
)

func write(t *testing.T, b *Buffer, p []byte) {
	t.Helper()
	if n, err := b.Write(p); n != len(p) || err != nil {
		t.Fatalf("Write of %d bytes: %d, %v", len(p), n, err)
	}
}

func read(t *testing.T, b *Buffer, want []byte) {
	t.Helper()
	p := make([]byte, len(want)+1)
	if n, err := b.Read(p); err != nil || !bytes.Equal(p[:n], want) {
		t.Fatalf("Read: %q, %v, want %q", p[:n], err, want)
	}
}

// What is queued lies in blocks of the packets' lengths; nothing else does.
func TestMemoryFollowsQueue(t *testing.T) {
	a := gomemtest.New(t)
	b := NewBuffer(a)
	live := func(want int) {
		t.Helper()
		if n := a.Stats().Live; n != want {
			t.Fatalf("%d bytes in use, want %d", n, want)
		}
	}
	live(0)
	for i := range 1000 {
		write(t, b, make([]byte, i))
	}
	live(999 * 1000 / 2)
	for i := range 1000 {
		if n, err := b.Read(make([]byte, 500)); n != min(i, 500) || (err == nil) != (i <= 500) {
			t.Fatalf("packet %d: %d, %v", i, n, err)
		}
	}
	live(0)
	write(t, b, nil)
	live(0)
	if b.Count() != 1 || b.Size() != framing {
		t.Errorf("with an empty packet: %d packets, size %d", b.Count(), b.Size())
	}
	read(t, b, nil)
}

// Write copies, and a packet stays what it was whatever becomes of others.
func TestCopies(t *testing.T) {
	b := NewBuffer(gomemtest.New(t))
	p := []byte("first")
	write(t, b, p)
	copy(p, "other")
	write(t, b, p)
	read(t, b, []byte("first"))
	write(t, b, []byte("third"))
	read(t, b, []byte("other"))
	read(t, b, []byte("third"))
}

func TestErrors(t *testing.T) {
	a := gomemtest.New(t)
	b := NewBuffer(a)
	b.SetLimitCount(1)
	write(t, b, []byte("x"))
	if _, err := b.Write(nil); err != packetio.ErrFull {
		t.Errorf("with one packet more: %v", err)
	}
	b.SetLimitCount(0)
	b.SetLimitSize(math.MaxInt)
	write(t, b, make([]byte, maxPacket))
	if n, err := b.Write(make([]byte, maxPacket+1)); n != 0 || err != errTooBig {
		t.Errorf("a packet too big: %d, %v", n, err)
	}
	_ = b.Close()
	_ = b.Close()
	if n, err := b.Write(nil); n != 0 || err != io.ErrClosedPipe {
		t.Errorf("after Close: %d, %v", n, err)
	}
	read(t, b, []byte("x"))
	if n, err := b.Read(nil); n != 0 || err != io.ErrShortBuffer {
		t.Errorf("to no room: %d, %v", n, err)
	}
	if n, err := b.Read(nil); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

// The limits of pion's own streams.
func TestFactory(t *testing.T) {
	for kind, limit := range map[packetio.BufferPacketType]int{
		packetio.RTPBufferPacket: 1_000_000, packetio.RTCPBufferPacket: 100_000, 3: 1_000_000,
	} {
		b := Factory(nil)(kind, 1).(*Buffer)
		p := make([]byte, 998)
		n := 0
		for err := error(nil); err != packetio.ErrFull; n++ {
			_, err = b.Write(p)
		}
		if n-1 != limit/1000 {
			t.Errorf("kind %d: full after %d packets", kind, n-1)
		}
	}
}

// Without memory packets are dropped, and the queue goes on.
func TestNoMemory(t *testing.T) {
	a := gomemtest.New(t, gomem.WithMaxBytes(256<<10))
	b := NewBuffer(a)
	p := make([]byte, 10_000)
	var err error
	for err == nil {
		_, err = b.Write(p)
	}
	n := b.Count()
	if !errors.Is(err, packetio.ErrFull) || !errors.Is(err, gomem.ErrLimit) || b.Size() != n*(len(p)+framing) {
		t.Fatalf("after %d packets: %v, size %d", n, err, b.Size())
	}
	read(t, b, p)
	write(t, b, p)
	for range n {
		read(t, b, p)
	}
	if n == 0 || a.Stats().Live != 0 {
		t.Errorf("%d packets, %d bytes in use", n, a.Stats().Live)
	}
}

// A queue that nobody reads, closed or not, gives its packets back when it is garbage.
func TestGarbage(t *testing.T) {
	a := gomemtest.New(t)
	for i := range 40 {
		b := NewBuffer(a)
		for range 100 {
			write(t, b, make([]byte, 100))
		}
		if i%2 == 0 {
			_ = b.Close()
		}
		if i%4 == 0 { // a timer of the future keeps no queue
			_ = b.SetReadDeadline(time.Now().Add(time.Hour))
		}
	}
	for end := time.Now().Add(time.Minute); a.Stats().Live > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(a.Stats().Live, "bytes stay in use")
		}
		runtime.GC()
	}
}

// The attributes of a packet are kept by no queue and no pool once it was read.
func TestAttributesAreDropped(t *testing.T) {
	gone := make(chan bool)
	b := NewBuffer(nil)
	func() {
		value := new([100]int)
		runtime.AddCleanup(value, func(int) { close(gone) }, 0)
		_, _ = b.WriteWithAttributes(nil, packetio.Attributes{{Key: 1, Value: value}})
		_, _ = b.Read(nil)
	}()
	for {
		runtime.GC()
		select {
		case <-gone:
			runtime.KeepAlive(b)
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// An entry that had attributes gives a later packet none of them.
func TestAttributesOfOthers(t *testing.T) {
	b := NewBuffer(nil)
	for i := range 3 * perNode {
		want := packetio.Attributes{{Key: "a", Value: i}, {Key: "b", Value: -i}}[:i%3%2+i%3/2]
		if _, err := b.WriteWithAttributes(nil, want); err != nil {
			t.Fatal(err)
		}
		if i%7 < 2 {
			continue
		}
		_, _, _ = b.ReadWithAttributes(nil, nil)
	}
	for b.Count() > 0 {
		_, _ = b.Read(nil)
	}
	for range 3 * perNode {
		write(t, b, nil)
	}
	reuse := make(packetio.Attributes, 2)
	for range 3 * perNode {
		if _, attrs, err := b.ReadWithAttributes(nil, reuse); len(attrs) != 0 || err != nil {
			t.Fatal(attrs, err)
		}
	}
}

// Nodes that are not in use refer to nothing.
func TestNodesAreEmpty(t *testing.T) {
	b := NewBuffer(nil)
	for range perNode + 1 {
		write(t, b, []byte("packet"))
	}
	first, second := b.q.head, b.q.tail
	for range perNode + 1 {
		read(t, b, []byte("packet"))
	}
	for _, n := range []*node{first, second} {
		if n.next != nil || slices.ContainsFunc(n.data[:], func(p []byte) bool { return p != nil }) {
			t.Errorf("%+v", n)
		}
	}
	if first == second || b.q.head != second || b.q.tail != second {
		t.Error("not the last one is kept")
	}
}

func TestConcurrent(t *testing.T) {
	const writers, readers, each = 4, 3, 3000
	a := gomemtest.New(t)
	b := NewBuffer(a)
	b.SetLimitCount(50)
	var writing, reading sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			p := make([]byte, 2000)
			for i := range each {
				p := p[:8+i%1900]
				binary.BigEndian.PutUint32(p, uint32(w))
				binary.BigEndian.PutUint32(p[4:], uint32(i))
				for k := range p[8:] {
					p[8+k] = byte(w + i)
				}
				for {
					if _, err := b.Write(p); err == nil {
						break
					} else if err != packetio.ErrFull {
						t.Error(err)
						return
					}
					runtime.Gosched()
				}
			}
		})
	}
	got := make([][][]int, readers) // of each reader, from each writer
	for r := range readers {
		got[r] = make([][]int, writers)
		reading.Go(func() {
			p := make([]byte, 2000)
			for {
				if r == 0 { // deadlines come and go
					_ = b.SetReadDeadline(time.Now().Add(5 * time.Microsecond))
				}
				n, err := b.Read(p)
				if errors.Is(err, packetio.ErrTimeout) {
					_ = b.SetReadDeadline(time.Time{})
					continue
				}
				if err != nil {
					if err != io.EOF {
						t.Error(err)
					}
					return
				}
				w, i := binary.BigEndian.Uint32(p), int(binary.BigEndian.Uint32(p[4:]))
				if n != 8+i%1900 || slices.ContainsFunc(p[8:n], func(c byte) bool { return c != byte(int(w)+i) }) {
					t.Errorf("packet %d of writer %d, %d bytes, is damaged", i, w, n)
					return
				}
				got[r][w] = append(got[r][w], i)
			}
		})
	}
	writing.Wait()
	_ = b.Close()
	reading.Wait()
	_ = b.SetReadDeadline(time.Time{})
	for w := range writers {
		var all []int
		for r := range readers {
			if !slices.IsSorted(got[r][w]) {
				t.Errorf("reader %d got packets of writer %d in another order", r, w)
			}
			all = append(all, got[r][w]...)
		}
		slices.Sort(all)
		if len(slices.Compact(all)) != each {
			t.Errorf("%d packets of writer %d arrived, of %d", len(all), w, each)
		}
	}
	if n := a.Stats().Live; n != 0 || b.Count() != 0 || b.Size() != 0 {
		t.Errorf("%d bytes in use, %d packets, size %d", n, b.Count(), b.Size())
	}
}
