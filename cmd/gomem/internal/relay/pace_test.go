package relay

import (
	"context"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Who takes nothing for the time that is promised is cut off then, also if something was
// taken a little after the write began; who takes a byte now and then is not.
func TestStallCountsFromTheLastByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		s := newSubscriber(near, false, stallTimeout)
		begin := time.Now()
		var last time.Time
		go func() {
			for range 5 {
				time.Sleep(stallTimeout * 3 / 4)
				if _, err := io.ReadFull(far, make([]byte, 1)); err != nil {
					t.Errorf("cut off after %v: %v", time.Since(begin), err)
				}
				last = time.Now()
			}
		}()
		s.list = net.Buffers{make([]byte, 3), make([]byte, 100)}
		if err := s.flush(); !os.IsTimeout(err) {
			t.Errorf("flush: %v", err)
		}
		synctest.Wait()
		if d := time.Since(last); d < stallTimeout || d > stallTimeout+stallTimeout/looks {
			t.Errorf("cut off %v after the last byte, want %v", d, stallTimeout)
		}
	})
}

// The first tags of a paced publisher go ahead of their time, all others with it.
func TestPublisherWarmsUpBeforeItPaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := mustInput(t)
		near, far := net.Pipe()
		var got atomic.Int64
		go func() {
			b := make([]byte, 64<<10)
			for {
				n, err := far.Read(b)
				got.Add(int64(n))
				if err != nil {
					return
				}
			}
		}()
		const first, later = 100, 2 * time.Second
		p := &testPublisher{conn: near, in: in}
		ctx, stop := context.WithCancel(t.Context())
		begin, settled := time.Now(), time.Duration(-1)
		done := make(chan error, 1)
		go func() { done <- p.run(ctx, true, first, func() { settled = time.Since(begin) }) }()
		for _, c := range []struct{ after, due time.Duration }{
			{first * warmStep, in.cuts[first-1].due},
			{first*warmStep + later, in.cuts[first-1].due + later},
		} {
			time.Sleep(c.after - time.Since(begin))
			synctest.Wait()
			want := len(in.preamble)
			for i, cut := range in.cuts {
				if i < first || cut.due <= c.due {
					want = len(in.preamble) + cut.end
				}
			}
			if n := got.Load(); n != int64(want) || settled != first*warmStep {
				t.Errorf("after %v %d bytes are sent, want %d; settled after %v", c.after, n, want, settled)
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
