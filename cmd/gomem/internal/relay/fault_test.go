package relay

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
)

// bystander is a stream that must not notice what happens beside it.
type bystander struct {
	r   *relayUnderTest
	in  *input
	pub *net.TCPConn
	sub *net.TCPConn
}

func newBystander(r *relayUnderTest, in *input) *bystander {
	return &bystander{r, in, r.publish("bystander", in.preamble), r.pull("bystander")}
}

// finish sends the whole file after the fact and wants it to arrive.
func (b *bystander) finish(t *testing.T) {
	t.Helper()
	until(t, "the bystander's place", func() bool { return b.r.said("publishes bystander") })
	var sending sync.WaitGroup
	sending.Go(func() {
		b.pub.Write(b.in.tags)
		b.pub.CloseWrite()
	})
	wantAll(t, "bystander", b.sub, b.in.preamble, b.in.tags)
	sending.Wait()
}

func TestPublisherDisconnectsMidTag(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func() engine) {
		in := mustInput(t)
		r := startRelay(t, open)
		other := newBystander(r, in)
		third := in.cuts[2].end
		for i, cutAt := range []int{third + 1, third + 10, third + 11, third + 12, in.cuts[3].end - 4, in.cuts[3].end - 1} {
			name := fmt.Sprint("cut", i)
			sub := r.pull(name)
			pub := r.publish(name, in.preamble, in.tags[:cutAt])
			pub.CloseWrite()
			wantAll(t, name, sub, in.preamble, in.tags[:third])
			want := fmt.Sprintf("truncated at offset %d", len(in.preamble)+cutAt)
			until(t, want, func() bool { return r.said(want) })
		}
		// The same with a reset in place of an orderly end.
		sub := r.pull("reset")
		pub := r.publish("reset", in.preamble, in.tags[:third+5])
		if _, err := io.ReadFull(sub, make([]byte, len(in.preamble)+third)); err != nil {
			t.Error(err)
		}
		pub.SetLinger(0)
		pub.Close()
		wantAll(t, "after the reset", sub)
		other.finish(t)
	})
}

func TestPublisherSendsGarbage(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func() engine) {
		in := mustInput(t)
		r := startRelay(t, open)
		other := newBystander(r, in)
		second := in.cuts[0].end
		edit := func(at int, with ...byte) []byte {
			b := append(bytes.Clone(in.preamble), in.tags[:second+400]...)
			copy(b[at:], with)
			return b
		}
		for i, c := range []struct {
			data []byte
			want string
		}{
			{[]byte("FLX and more"), "not FLV at offset 0"},
			{edit(3, 9), "not FLV at offset 3"},
			{edit(5, 0xff, 0xff, 0xff, 0xff), "bad header size at offset 5"},
			{edit(13+second, 0), fmt.Sprintf("unknown tag type at offset %d", 13+second)},
			{edit(13+second+3, 1), fmt.Sprintf("tag and trailer disagree on the size at offset %d", 13+second+12)},
			{edit(13+second+1, 0xff, 0xff, 0xff), fmt.Sprintf("truncated at offset %d", 13+second+400)},
			{edit(13+second-4, 0xff, 0xff, 0xff, 0xff), fmt.Sprintf("tag and trailer disagree on the size at offset %d", 13+second-4)},
			{[]byte("FLV"), "sent away"},
		} {
			pub := r.publish(fmt.Sprint("bad", i), c.data)
			pub.CloseWrite()
			until(t, c.want, func() bool { return r.said(c.want) })
			io.Copy(io.Discard, pub) // until it is closed
		}
		if got := r.count.faults.Load(); got != 8 {
			t.Errorf("%d faults counted, want 8", got)
		}
		other.finish(t)
	})
}

func TestStrangeClients(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func() engine) {
		in := mustInput(t)
		r := startRelay(t, open)
		other := newBystander(r, in)
		r.dial().Close()
		for _, hello := range []string{
			"\x16\x03\x01\x02\x00",               // TLS
			"POST / HTTP/1.1\r\n\r\n",            // no such method here
			"GET /a b\x00c HTTP/1.1\r\n\r\n",     // "/a" by name, and that is fine
			"GET /\xff\xfe HTTP/1.1\r\n\r\n",     // a name that is none
			"GET /" + string(make([]byte, 9000)), // no end
			"PUBLISHER\n",
			"PUBLISH ../../etc passwd\n",
			"FL",
		} {
			conn := r.dial()
			conn.Write([]byte(hello)) // the relay may have hung up already
			conn.CloseWrite()
			io.Copy(io.Discard, conn)
		}
		const seed = 3
		t.Logf("seed %d", seed)
		rnd := rand.New(rand.NewPCG(seed, seed))
		for range 50 {
			b := make([]byte, 4+rnd.IntN(3000))
			for i := range b {
				b[i] = byte(rnd.Uint32())
			}
			if rnd.IntN(2) == 0 {
				copy(b, in.preamble)
			}
			conn := r.dial()
			conn.Write(b)
			conn.CloseWrite()
			io.Copy(io.Discard, conn)
		}
		other.finish(t)
	})
}

// A subscriber that never reads misses frames, which are counted, and holds
// nobody up: neither its publisher nor those who pull the same stream.
func TestSubscriberNeverReads(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func() engine) {
		in := mustInput(t)
		r := startRelay(t, open)
		other := newBystander(r, in)
		stuck := r.pull("x")
		reader := r.pull("x")
		pub := r.publish("x", in.preamble)
		got := newChecker(t, reader, in)
		const rounds = 60 // more than the ring and the socket buffers hold
		for range rounds {
			var sending sync.WaitGroup
			sending.Go(func() { pub.Write(in.tags) })
			for range in.cuts {
				if !got.next() {
					t.Fatal("the stream ended early")
				}
			}
			sending.Wait()
		}
		if got.gaps > 0 {
			t.Errorf("%d gaps for the one that reads", got.gaps)
		}
		until(t, "drops", func() bool { return r.count.dropped.Load() > 0 })
		other.finish(t)

		// It begins to read at last: whole frames, and after a gap a key frame.
		enough := make(chan struct{})
		var rest sync.WaitGroup
		rest.Go(func() { io.Copy(io.Discard, reader) })
		rest.Go(func() {
			defer pub.CloseWrite()
			for {
				select {
				case <-enough:
					return
				default:
					pub.Write(in.tags)
				}
			}
		})
		late := newChecker(t, stuck, in)
		for late.gaps == 0 && late.next() {
		}
		close(enough)
		for late.next() {
		}
		rest.Wait()
		if late.gaps == 0 {
			t.Errorf("no gap in %d frames, want some", late.frames)
		}
	})
}

// One that takes nothing at all is cut off in the end.
func TestStalledSubscriberIsCutOff(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func() engine) {
		in := mustInput(t)
		r := startRelay(t, open)
		r.stall = 150 * time.Millisecond
		r.pull("x")
		pub := r.publish("x", in.preamble)
		until(t, "the cut", func() bool {
			r.send(pub, in.tags)
			return r.said("cut off: took nothing")
		})
		// How much comes in while it is stalled depends on the machine.
		many := r.count.bytesIn.Load()-r.count.bytesOut.Load() > queueBytes+2*writeBytes
		if r.count.faults.Load() != 1 || many && r.count.dropped.Load() == 0 {
			t.Errorf("%d faults, %d frames dropped", r.count.faults.Load(), r.count.dropped.Load())
		}
		until(t, "its departure", func() bool { return r.count.subscribers.Load() == 0 })
	})
}

// A subscriber that leaves is noticed although nothing is sent.
func TestSubscriberLeavesSilently(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func() engine) {
		r := startRelay(t, open)
		for range 3 {
			sub := r.pull("nothing")
			sub.Close()
		}
		until(t, "all to leave", func() bool { return r.count.subscribers.Load() == 0 && r.said("left nothing") })
		until(t, "the stream to go", func() bool {
			r.server.mu.Lock()
			defer r.server.mu.Unlock()
			return len(r.streams) == 0
		})
	})
}

// checker follows a stream that loops over the input and may have gaps.
type checker struct {
	t      *testing.T
	conn   io.Reader
	in     *input
	demux  flv.Demuxer
	index  int // of the tag expected next
	frames int
	gaps   int
	extra  int // configuration repeated after a gap
}

func newChecker(t *testing.T, conn io.Reader, in *input) *checker {
	c := &checker{t: t, conn: conn, in: in}
	preamble := make([]byte, flv.PreambleSize)
	if _, err := io.ReadFull(conn, preamble); err != nil || !bytes.Equal(preamble, in.preamble) {
		t.Fatalf("preamble %x, %v", preamble, err)
	}
	if _, err := c.demux.Header(preamble); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *checker) tag(i int) []byte {
	from := 0
	if i > 0 {
		from = c.in.cuts[i-1].end
	}
	return c.in.tags[from:c.in.cuts[i].end]
}

// next reads a tag; false at the end of the stream.
func (c *checker) next() bool {
	c.t.Helper()
	head := make([]byte, flv.TagHeaderSize)
	if _, err := io.ReadFull(c.conn, head); err == io.EOF {
		return false
	} else if err != nil {
		c.t.Fatal(err)
	}
	tag, err := c.demux.Tag(head)
	if err != nil {
		c.t.Fatal(err)
	}
	got := append(head, make([]byte, tag.Size()-len(head))...)
	if _, err := io.ReadFull(c.conn, got[len(head):]); err != nil {
		c.t.Fatal(err)
	}
	c.frames++
	if bytes.Equal(got, c.tag(c.index)) {
		c.index = (c.index + 1) % len(c.in.cuts)
		return true
	}
	kind := tag.Kind(got)
	if kind.IsConfig() {
		c.extra++
		return true
	}
	if kind != flv.KeyFrame {
		c.t.Fatalf("frame %d: a gap that ends with %v", c.frames, kind)
	}
	c.gaps++
	for i := range c.in.cuts {
		if bytes.Equal(got, c.tag(i)) {
			c.index = (i + 1) % len(c.in.cuts)
			return true
		}
	}
	c.t.Fatalf("frame %d is not in the input", c.frames)
	return false
}
