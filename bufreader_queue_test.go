package gomem

import (
	"bytes"
	"net"
	"testing"
)

// TestManySmallPackets: what a stream costs grows with its length, however small
// the packets are that it comes in. If each packet costs what all before it do, this
// takes longer than a test may.
func TestManySmallPackets(t *testing.T) {
	packets := 1 << 18
	if testing.Short() {
		packets = 1 << 16
	}
	text := bytes.Repeat([]byte("\n"), packets)
	text[packets-2] = '\r'
	var list net.Buffers
	for i := range text {
		list = append(list, text[i:i+1])
	}
	whole := func() *BufReader {
		feed := make(chan net.Buffers, 1)
		feed <- list
		close(feed)
		b := NewBufReaderBuffersChan(feed)
		b.MaxLineBytes = -1
		return b
	}
	single := func() *BufReader {
		feed := make(chan []byte, packets)
		for _, p := range list {
			feed <- p
		}
		close(feed)
		b := NewBufReaderChan(feed)
		b.MaxLineBytes = -1
		return b
	}
	for name, open := range map[string]func() *BufReader{"a list": whole, "one by one": single} {
		for call, read := range map[string]func(b *BufReader) (int, error){
			"ReadByte": func(b *BufReader) (n int, err error) {
				for ; n < packets && err == nil; n++ {
					_, err = b.ReadByte()
				}
				return n, err
			},
			"ReadBytes": func(b *BufReader) (int, error) {
				m, err := b.ReadBytes(packets)
				return m.Size, err
			},
			"ReadSlice": func(b *BufReader) (int, error) {
				p, err := b.ReadSlice('\r')
				return len(p) + 1, err
			},
			"ReadUntil": func(b *BufReader) (int, error) {
				p, err := b.ReadUntil([]byte("\n\r\n"), 0)
				return len(p), err
			},
		} {
			b := open()
			n, err := read(b)
			expectRead(t, call+" of "+name, n, err, packets, nil)
			b.Recycle()
		}
	}
}

// TestQueueOfBlocks: blocks leave the queue in the order in which they came, and those
// that are popped are not kept alive.
func TestQueueOfBlocks(t *testing.T) {
	var q segments
	next, last := 0, 0
	step := func(push, pop int) {
		for range push {
			q.push(segment{w: last})
			last++
		}
		for range pop {
			s := q.pop()
			if s.w != next {
				t.Fatalf("popped %d, want %d", s.w, next)
			}
			next++
		}
		if got := len(q.list()); got != last-next || q.empty() != (got == 0) {
			t.Fatalf("%d wait, want %d", got, last-next)
		}
		for _, s := range q.all[:q.head] {
			if s != (segment{}) {
				t.Fatal("a popped segment is still there")
			}
		}
	}
	for range 3 {
		for n := range 40 {
			step(n, n/2)
			step(3, 5*n/8)
		}
		step(0, last-next)
	}
	if cap(q.all) > 1024 {
		t.Errorf("room for %d segments", cap(q.all))
	}
	step(4, 2)
	q.push(segment{w: 99})
	q.dropLast()
	step(0, 2)
}
