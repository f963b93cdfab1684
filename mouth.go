package gomem

import (
	"io"
	"net"
)

const (
	// smallPacket is the largest packet that is copied if it waits behind others: what
	// keeps a block of its own costs the header of a block and a place in the queue,
	// hundreds of times a packet of a few bytes.
	smallPacket = 512
	// gatherLen is the size of the blocks that small packets are copied into. Each is
	// filled, but for less than smallPacket, or followed by a packet that is larger.
	gatherLen = 2 << 10
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
	p.one[0] = nil // read out, maybe: the wait must not keep it
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

// Feed sends packet to Mouth without waiting. True means that it was sent, and so
// given away; false that Mouth is full or closed, or that there is none. Another
// goroutine may read meanwhile. O(1), never allocates.
//
// Feed must not run at the same time as Recycle or Reset: that is a data race. A Feed
// after them returns false. Stop the producer before, or let it close Mouth when it has
// sent all, and read up to [io.EOF].
func (b *BufReader) Feed(packet []byte) (sent bool) {
	mouth := b.Mouth
	defer func() { _ = recover() }() // closed: there is no way to ask
	select {
	case mouth <- packet:
		return true
	default:
		return false
	}
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

// addPackets makes each packet a block, but for empty ones and for small ones that
// wait behind others, and reports if any was not empty.
func (b *BufReader) addPackets(list net.Buffers) bool {
	added := false
	for _, p := range list {
		if len(p) == 0 {
			continue
		}
		added = true
		b.total += int64(len(p))
		switch {
		case b.front == nil:
			b.front, b.buf, b.w = newBlock(p, nil, b.shares), p, len(p)
		case len(p) > smallPacket || !b.gather(p):
			b.queue.push(segment{blk: newBlock(p, nil, b.shares), w: len(p)})
			b.queued += len(p)
		}
	}
	return added
}

// gather copies a small packet behind others in the last block of the queue, if that
// has room, or into one that is made to have it. False means that there is no memory.
func (b *BufReader) gather(p []byte) bool {
	if b.queue.empty() || len(b.queue.last().blk.mem)-b.queue.last().w < len(p) {
		mem := b.Allocator.Malloc(gatherLen)
		if mem == nil {
			return false
		}
		b.queue.push(segment{blk: newBlock(mem, b.Allocator, b.shares)})
	}
	last := b.queue.last()
	last.w += copy(last.blk.mem[last.w:], p)
	b.queued += len(p)
	return true
}
