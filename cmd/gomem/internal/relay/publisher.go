package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
)

// publishTimeout is how long a publisher may be silent in the middle of a
// stream.
const publishTimeout = 30 * time.Second

// publisher reads the tags of one connection. Frames that arrived together are
// passed on together: one lock for each subscriber and batch. The batch never
// waits for more to come.
type publisher struct {
	server *server
	conn   *net.TCPConn
	src    source
	stream *stream
	demux  flv.Demuxer
	batch  []frame
}

// header reads the file header.
func (p *publisher) header() (flv.Header, error) {
	b, err := p.peek(flv.HeaderSize)
	if err != nil {
		return flv.Header{}, p.fault(err, p.src.buffered(), flv.HeaderSize)
	}
	h, err := p.demux.Header(b)
	if err != nil {
		return flv.Header{}, err
	}
	if _, err := p.peek(h.Size + flv.TrailerSize); err != nil {
		return flv.Header{}, p.fault(err, p.src.buffered(), h.Size+flv.TrailerSize)
	}
	return h, p.src.skip(h.Size + flv.TrailerSize)
}

// run passes tags on until the publisher ends at the end of a tag, nil, or
// fails. It keeps no frame.
func (p *publisher) run() error {
	defer p.flush()
	for {
		b, err := p.peek(flv.TagHeaderSize)
		if err != nil {
			have := p.src.buffered()
			if have == 0 && errors.Is(err, io.EOF) {
				return nil
			}
			return p.fault(err, have, flv.TagHeaderSize)
		}
		tag, err := p.demux.Tag(b)
		if err != nil {
			return err
		}
		if b, err = p.peek(tag.KindSize()); err != nil {
			return p.fault(err, p.src.buffered(), tag.Size())
		}
		kind := tag.Kind(b)
		if err := p.ready(tag.Size()); err != nil {
			return err
		}
		f, have, err := p.src.frame(tag.Size())
		if err != nil {
			return p.fault(err, have, tag.Size())
		}
		f.kind = kind
		if err := p.demux.Trailer(tag, f.trailer()); err != nil {
			f.release()
			return err
		}
		if damage := p.server.corrupt; damage != nil {
			damage(f)
		}
		p.add(f)
	}
}

// add queues f for the next flush, which a configuration frame must have to
// itself.
func (p *publisher) add(f frame) {
	config := f.kind.IsConfig()
	if config || len(p.batch) == cap(p.batch) {
		p.flush()
	}
	p.batch = append(p.batch, f)
	if config {
		p.flush()
	}
}

// flush hands the batch to the subscribers.
func (p *publisher) flush() {
	if len(p.batch) == 0 {
		return
	}
	count := &p.server.count
	bytes := 0
	for i := range p.batch {
		bytes += p.batch[i].size
	}
	count.framesIn.Add(int64(len(p.batch)))
	count.bytesIn.Add(int64(bytes))
	count.dropped.Add(int64(p.stream.publish(p.batch)))
	for i := range p.batch {
		p.batch[i].release()
	}
	p.batch = p.batch[:0]
}

// peek is source.peek that flushes before it waits.
func (p *publisher) peek(n int) ([]byte, error) {
	if err := p.ready(n); err != nil {
		return nil, err
	}
	return p.src.peek(n)
}

// ready prepares for a wait if n bytes are not there yet.
func (p *publisher) ready(n int) error {
	if p.src.buffered() >= n {
		return nil
	}
	p.flush()
	return p.conn.SetReadDeadline(time.Now().Add(publishTimeout))
}

// fault says where the publisher failed, have bytes into a piece of want.
func (p *publisher) fault(err error, have, want int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return p.demux.Truncated(have, want)
	}
	return fmt.Errorf("at offset %d: %w", p.demux.Offset()+int64(have), err)
}
