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

// publisher reads the tags of one connection and passes those on together that
// arrived together. A batch never waits for more to come.
type publisher struct {
	server *server
	conn   *net.TCPConn
	src    source
	stream *stream
	demux  flv.Demuxer
	batch  *batch // being filled
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
		if err := p.demux.Trailer(tag, f.trailer()); err != nil {
			f.release()
			return err
		}
		if damage := p.server.corrupt; damage != nil {
			damage(f)
		}
		if !p.batch.accepts(kind) {
			p.flush()
		}
		p.batch.add(f, kind)
	}
}

// flush hands the batch to the subscribers and starts another.
func (p *publisher) flush() {
	b := p.batch
	if len(b.frames) == 0 {
		return
	}
	count := &p.server.count
	count.framesIn.Add(int64(len(b.frames)))
	count.bytesIn.Add(int64(b.bytes))
	count.dropped.Add(int64(p.stream.publish(b)))
	b.release()
	p.batch = newBatch()
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
