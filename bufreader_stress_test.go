package gomem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// parser is a reader, and what is known of its stream.
type parser struct {
	*sharing
	b        *BufReader
	rng      *rand.Rand
	stream   uint32
	at, size int
	behind   bool // the byte before at can be unread
	lent     []lent
}

// lent is a view that HoldViews keeps.
type lent struct {
	p  []byte
	at int
}

// open begins a stream, from one of the sources that there are.
func (r *parser) open(stream uint32) {
	bufLen := []int{16, 100, 1000, 4096, 5000, DefaultBufLen, 70_000}[r.rng.IntN(7)]
	r.stream, r.at, r.behind, r.size = stream, 0, false, r.rng.IntN(min(10*bufLen, 200_000))
	piece := 1 + r.rng.IntN(2*bufLen)
	if r.rng.IntN(2) == 0 {
		r.b.Reset(&moody{rng: r.rng, stream: stream, size: r.size, piece: piece, often: 1 + r.rng.IntN(50)})
	} else {
		r.b.Recycle()
		r.b = r.packets(piece)
	}
	r.b.Allocator, r.b.BufLen, r.b.HoldViews = r.mem, bufLen, r.rng.IntN(4) == 0
	r.b.MaxFrameBytes = []int{0, -1, bufLen, 2 * bufLen}[r.rng.IntN(4)]
}

// packets is a reader over the stream in packets, or in lists of them.
func (r *parser) packets(most int) *BufReader {
	var all net.Buffers
	for at := 0; at < r.size; {
		p := make([]byte, min(r.size-at, r.rng.IntN(most+1)))
		fillFrom(p, r.stream, at)
		all = append(all, p)
		at += len(p)
	}
	if r.rng.IntN(2) == 0 {
		feed := make(chan []byte, len(all))
		for _, p := range all {
			feed <- p
		}
		close(feed)
		return NewBufReaderChan(feed)
	}
	feed := make(chan net.Buffers, len(all))
	for len(all) > 0 {
		n := 1 + r.rng.IntN(len(all))
		feed <- all[:n]
		all = all[n:]
	}
	close(feed)
	return NewBufReaderBuffersChan(feed)
}

// judge sees that err is one there may be for n bytes, of which done were consumed.
func (r *parser) judge(n, done int, err error) error {
	switch most := r.b.MaxFrameBytes; {
	case err == nil && r.at+n <= r.size:
	case err == io.EOF && r.at == r.size && n > 0:
	case err == io.ErrUnexpectedEOF && r.at < r.size && r.at+n > r.size:
	case err == errReset, err == io.ErrNoProgress, errors.Is(err, ErrLimit):
	case errors.Is(err, ErrTooLong) && most > 0 && n > most:
	default:
		return fmt.Errorf("%d bytes at %d of %d with MaxFrameBytes %d: %w", n, r.at, r.size, most, err)
	}
	r.at += done
	r.behind = err == nil && done > 0
	if at := int(r.b.TotalRead()) - r.b.Buffered(); at != r.at {
		return fmt.Errorf("at %d after a call for %d bytes, want %d; it said %v", at, n, r.at, err)
	}
	return nil
}

// look compares views of the bytes from at on, and writes to them as their holder
// may, but to none that UnreadByte gives to the next one.
func (r *parser) look(at int, views ...[]byte) error {
	for _, p := range views {
		if err := differs(p, r.stream, at); err != nil {
			return err
		}
		if r.b.HoldViews {
			r.lent = append(r.lent, lent{p, at})
		} else if len(p) > 2 {
			clear(p[1 : len(p)-1])
		}
		at += len(p)
	}
	return nil
}

// returned ends the views of HoldViews, which must be as they were.
func (r *parser) returned() error {
	var err error
	for _, v := range r.lent {
		err = errors.Join(err, differs(v.p, r.stream, v.at))
	}
	r.lent, r.behind = r.lent[:0], false
	return errors.Join(err, r.b.Release(nil))
}

// step makes one call, or several that belong together.
func (r *parser) step() error {
	b, at, views := r.b, r.at, [][]byte(nil)
	n := r.rng.IntN(min(b.blockLen(), 1500))
	if r.rng.IntN(8) == 0 {
		n = r.rng.IntN(3 * b.blockLen())
	}
	switch r.rng.IntN(20) {
	case 0, 1:
		p, err := b.Peek(n)
		switch {
		case err == nil && len(p) != n, err == io.EOF && len(p) != r.size-at:
			return fmt.Errorf("Peek(%d) at %d of %d gave %d bytes, %v", n, at, r.size, len(p), err)
		case err == io.EOF && at < r.size:
			err = io.ErrUnexpectedEOF
		}
		return errors.Join(r.judge(n, 0, err), differs(p, r.stream, at))
	case 2:
		p, err := b.Next(n)
		return errors.Join(r.judge(n, len(p), err), r.look(at, p))
	case 3:
		m, err := b.ReadBytes(n)
		return errors.Join(r.judge(n, m.Size, err), r.look(at, m.Buffers...))
	case 4:
		err := b.ReadRange(n, func(p []byte) { views = append(views, bytes.Clone(p)) })
		p := bytes.Join(views, nil)
		return errors.Join(r.judge(n, len(p), err), differs(p, r.stream, at))
	case 5:
		p := make([]byte, n)
		if err := b.ReadNto(n, p); err != nil {
			return r.judge(n, 0, err)
		}
		err := errors.Join(r.judge(n, n, nil), differs(p, r.stream, at))
		r.behind = n > 0 && n < b.blockLen()
		return err
	case 6:
		err := b.Skip(n)
		return r.judge(n, int(b.TotalRead())-b.Buffered()-at, err)
	case 7:
		c, err := b.ReadByte()
		if err != nil {
			return r.judge(1, 0, err)
		}
		return errors.Join(r.judge(1, 1, nil), differs([]byte{c}, r.stream, at))
	case 8, 9:
		if !r.behind {
			return nil
		}
		return errors.Join(b.UnreadByte(), r.judge(0, -1, nil))
	case 10:
		return r.returned()
	default:
		return r.share(n)
	}
}

// share reads a frame and gives it to some of the others.
func (r *parser) share(n int) error {
	s, err := r.frame(n)
	if err != nil {
		return r.judge(n, 0, err)
	}
	k := ticket{s, r.stream, r.at, n, new(atomic.Int32)}
	others := int32(r.rng.IntN(3))
	k.holders.Store(1 + others)
	for range others {
		err = errors.Join(err, s.Retain())
	}
	for range others {
		r.out <- k
	}
	err = errors.Join(err, r.judge(n, n, nil))
	if r.rng.IntN(3) > 0 {
		r.out <- k
		return err
	}
	return errors.Join(err, k.check(), r.release(k, r.rng.IntN(30) == 0))
}

func (r *parser) frame(n int) (*SharedMemory, error) {
	r.rest.RLock()
	defer r.rest.RUnlock() // also if the source panics
	return r.b.ReadShared(n)
}

// read goes through streams, some of them not to the end.
func (r *parser) read(steps int, next func() uint32) error {
	r.b = NewBufReader(nil)
	for r.open(next()); steps > 0; steps-- {
		panicked, err := r.surely()
		if err == nil && (panicked || r.at == r.size || r.rng.IntN(100) == 0) {
			err = r.returned()
			r.open(next())
		}
		if err != nil {
			return fmt.Errorf("stream %d, blocks of %d, %T: %w", r.stream, r.b.BufLen, r.b.src, err)
		}
	}
	err := r.returned()
	r.b.Recycle()
	return err
}

// surely is step over a source that may panic, which ends all views.
func (r *parser) surely() (panicked bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			if v != errReset {
				panic(v)
			}
			panicked, r.lent = true, r.lent[:0]
		}
	}()
	return false, r.step()
}

// TestReadersShareAnAllocator: whatever readers over one allocator are asked for, and
// whatever their sources do, frames stay as they were read until the last who keeps
// them lets go, and then all memory is back.
func TestReadersShareAnAllocator(t *testing.T) {
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	for name, options := range map[string][]Option{
		"size classes": nil,
		"TLSF":         {WithPlacement(TLSF)},
		"a limit":      {WithMaxBytes(2 << 20)},
	} {
		t.Run(name, func(t *testing.T) {
			options = append(options, WithMisuse(func(error) {})) // counted
			mem := NewScalableMemoryAllocator(1<<16, options...)
			defer mem.Close()
			share := &sharing{mem: mem, out: make(chan ticket, 8)}
			var streams atomic.Uint32
			var readers, consumers sync.WaitGroup
			report := func(err error) {
				if err != nil {
					t.Error(err)
				}
			}
			for i := range 3 {
				consumers.Go(func() {
					report(share.consume(rand.New(rand.NewPCG(seed, uint64(i)))))
					for range share.out { // after an error: nobody shall wait for it
					}
				})
				readers.Go(func() {
					r := &parser{sharing: share, rng: rand.New(rand.NewPCG(seed, uint64(100+i)))}
					report(r.read(500+2500/byteStep, func() uint32 { return streams.Add(1) }))
				})
			}
			readers.Wait()
			close(share.out)
			consumers.Wait()
			report(mem.Verify())
			refused := uint64(0) // but for frames, if they are not of packets of somebody else
			if mem.engine().Watched() {
				refused = share.late.Load()
			}
			if s := mem.Stats(); s.Live != 0 || s.Refused > refused {
				t.Errorf("%d bytes are taken, %d frees were refused, want at most %d", s.Live, s.Refused, refused)
			}
		})
	}
}
