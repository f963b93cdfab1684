package gomem

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net"
	"runtime"
	"testing"
	"weak"
)

// kept is what the blocks of a reader that wait cost: their memory, their headers and
// their places in the queue.
func kept(b *BufReader) int {
	const header, place = 768, 24
	total := cap(b.queue.all)*place + header + len(b.buf)
	for _, s := range b.queue.list() {
		total += header + len(s.blk.mem)
	}
	return total
}

// TestSmallPacketsWait: packets that wait cost a small multiple of their bytes,
// however small they are, and what is read is what was sent.
func TestSmallPacketsWait(t *testing.T) {
	for name, row := range map[string]struct {
		sizes []int
		most  float64
	}{
		"single bytes":         {[]int{1}, 2},
		"few bytes":            {[]int{3, 100, 7}, 2},
		"small ones that fill": {[]int{smallPacket}, 2},
		"no room by a byte":    {[]int{smallPacket, smallPacket - 1, smallPacket, smallPacket, 2}, 2},
		"between large ones":   {[]int{smallPacket + 1, 1}, 9},
		"large ones":           {[]int{1200}, 2},
	} {
		for _, shares := range []bool{false, true} {
			var list net.Buffers
			sent := noise(100_000)
			for at := 0; at < len(sent); {
				n := min(row.sizes[len(list)%len(row.sizes)], len(sent)-at)
				list = append(list, bytes.Clone(sent[at:at+n]))
				at += n
			}
			feed := make(chan []byte, len(list))
			for _, p := range list {
				feed <- p
			}
			close(feed)
			b := NewBufReaderChan(feed)
			b.Allocator = NewScalableMemoryAllocator(1 << 16)
			b.shares = shares
			if _, err := b.Peek(1); err != nil {
				t.Fatal(err)
			}
			if err := b.want("all", len(sent)); err != nil {
				t.Fatal(err)
			}
			if got := kept(b); float64(got) > row.most*float64(len(sent)) {
				t.Errorf("%s: %d bytes cost %d", name, len(sent), got)
			}
			got, err := io.ReadAll(b)
			if err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%s: read %d of %d bytes, %v, or others", name, len(got), len(sent), err)
			}
			b.Recycle()
			if s := b.Allocator.Stats(); s.Live != 0 || s.Refused != 0 {
				t.Errorf("%s: %+v after Recycle", name, s)
			}
		}
	}
}

// TestSmallPacketsWithoutMemory: what there is no memory for waits as it came.
func TestSmallPacketsWithoutMemory(t *testing.T) {
	feed := make(chan net.Buffers, 1)
	feed <- net.Buffers{[]byte("a"), []byte("b"), []byte("cd")}
	close(feed)
	b := NewBufReaderBuffersChan(feed)
	b.Allocator = NewScalableMemoryAllocator(1<<16, WithMaxBytes(gatherLen-1))
	s, err := b.ReadString(4)
	expectRead(t, "ReadString", s, err, "abcd", nil)
	b.Recycle()
}

// TestNoPacketKeptByShorterCalls: packets that were read out are not kept by the list
// of views of a call before the last.
func TestNoPacketKeptByShorterCalls(t *testing.T) {
	for _, hold := range []bool{false, true} {
		list := make(net.Buffers, 20)
		for i := range list {
			list[i] = noise(1000)
		}
		feed := make(chan net.Buffers, 1)
		feed <- list
		b := NewBufReaderBuffersChan(feed)
		b.BufLen, b.HoldViews = 1000, hold
		for _, n := range []int{18_500, 1, 1100, 399} {
			m, err := b.ReadBytes(n)
			expectError(t, err, nil)
			if m.Size != n {
				t.Fatalf("%d bytes, want %d", m.Size, n)
			}
		}
		b.Recycle()
		for i, v := range b.views[:cap(b.views)] {
			if v != nil {
				t.Errorf("hold %v: view %d is still there after Recycle", hold, i)
			}
		}
	}
}

// TestWaitKeepsNoPacket: a packet that was read out is not kept from the garbage
// collector while the reader waits for the next one, whichever call waits. The end of
// the stream is where such a wait can be looked at.
func TestWaitKeepsNoPacket(t *testing.T) {
	const n = 1 << 16
	reads := maps.Clone(readers)
	reads["Skip to the end"] = func(b *BufReader) error { return b.Skip(1 << 20) }
	for name, read := range reads {
		for _, lists := range []bool{false, true} {
			for _, hold := range []bool{false, true} {
				p := make([]byte, n)
				packet := weak.Make(&p[0])
				var b *BufReader
				if lists {
					feed := make(chan net.Buffers, 1)
					feed <- net.Buffers{p}
					close(feed)
					b = NewBufReaderBuffersChan(feed)
				} else {
					feed := make(chan []byte, 1)
					feed <- p
					close(feed)
					b = NewBufReaderChan(feed)
				}
				b.HoldViews = hold
				seen := n
				if !hold && (name == "stream" || name == "WriteTo" || name == "Skip to the end") {
					seen = n / 2 // and the call itself reads out the rest
				}
				_, err := b.Next(seen)
				expectError(t, errors.Join(err, b.Release(nil)), nil)
				if err := read(b); err != nil && err != io.ErrUnexpectedEOF {
					expectError(t, err, io.EOF)
				}
				runtime.GC()
				if packet.Value() != nil {
					t.Errorf("%s, lists %v, hold %v: the packet is kept", name, lists, hold)
				}
				b.Recycle()
			}
		}
	}
}
