package gomem

import (
	"io"
	"net"
)

// feeder is a source that hands over packets instead of filling a block.
type feeder interface {
	next() (net.Buffers, error) // waits; the list is valid until the next call
	close()
}

// packets is the feeder over a channel of single packets.
type packets struct {
	ch    chan []byte
	one   [1][]byte
	ended bool
}

func packetFeed(ch chan []byte) feeder { return &packets{ch: ch} }

func (p *packets) next() (net.Buffers, error) {
	b, ok := <-p.ch
	if !ok {
		p.ended = true
		return nil, io.EOF
	}
	p.one[0] = b
	return p.one[:], nil
}

// close closes the channel, which its sender may have done before.
func (p *packets) close() {
	if p.ended {
		return
	}
	p.ended = true
	defer func() { _ = recover() }() // closed by the sender: there is no way to ask
	close(p.ch)
}

// lists is the feeder over a channel of packet lists, which its sender closes.
type lists struct{ ch chan net.Buffers }

func buffersFeed(ch chan net.Buffers) feeder { return lists{ch} }

func (l lists) next() (net.Buffers, error) {
	b, ok := <-l.ch
	if !ok {
		return nil, io.EOF
	}
	return b, nil
}

func (lists) close() {}

// morePackets adds the next packet or list of packets to the unread bytes.
func (b *BufReader) morePackets() error {
	if b.feed == nil {
		return ErrRecycled
	}
	if b.Buffered() == 0 {
		b.giveUpFront()
	}
	for {
		list, err := b.feed.next()
		if err != nil {
			return err
		}
		if b.addPackets(list) {
			return nil
		}
	}
}

// addPackets makes each packet that is not empty a block, and reports if any was.
func (b *BufReader) addPackets(list net.Buffers) bool {
	added := false
	for _, p := range list {
		if len(p) == 0 {
			continue
		}
		added = true
		b.total += int64(len(p))
		blk := newBlock(p[:len(p):len(p)], nil, b.shares)
		if b.front == nil {
			b.front, b.buf, b.w = blk, blk.mem, len(p)
			continue
		}
		b.queue.push(segment{blk: blk, w: len(p)})
		b.queued += len(p)
	}
	return added
}
