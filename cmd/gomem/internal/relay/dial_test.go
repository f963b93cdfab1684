package relay

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// The system takes connections that nobody accepts: who waits there to be served is
// told why not, and does not wait for ever.
func TestDialEndsWithItsReason(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback: ", err)
	}
	defer l.Close()
	full := errors.New("too many of them")
	ctx, giveUp := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { giveUp(full) })
	c := clients{cfg: &config{streams: 1, subscribers: 1}, in: &input{}}
	defer c.hangUp()
	if err := c.dial(ctx, l.Addr().String()); !errors.Is(err, full) {
		t.Errorf("dial: %v, want %v", err, full)
	}
}

// A server that cannot accept says so.
func TestServerTellsThatItCannotAccept(t *testing.T) {
	e := newEngine("gomem")()
	defer e.close()
	srv, err := listen("127.0.0.1:0", e)
	if err != nil {
		t.Skip("no loopback: ", err)
	}
	told := make(chan error, 1)
	srv.refused = func(err error) {
		select {
		case told <- err:
		default:
		}
	}
	if err := srv.listener.SetDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { srv.serve(); close(done) }()
	var timeout net.Error
	if err := <-told; !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("told %v, want that the time is over", err)
	}
	srv.close()
	<-done
}

// An interrupt while the clients connect is no failure, and leaves nothing behind.
func TestMeasureInterruptedBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f, err := measure(ctx, &config{streams: 1, subscribers: 1}, time.Second, mustInput(t), newEngine("gomem")(), newProgress(t.Output()))
	if f != nil || err != nil {
		t.Errorf("measure = %v, %v", f, err)
	}
}
