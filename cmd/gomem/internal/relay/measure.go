package relay

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// warmUp is the part of a run before the figures count: queues, lists and the
// allocator grow to the load.
func warmUp(total time.Duration) time.Duration { return min(total/4, 500*time.Millisecond) }

// At the speed of a recording few frames pass in that time, and the handle of a frame
// serves again after 1,024 others. So warmFrames pass before it, so close that they still
// arrive one by one.
const (
	warmFrames = 2048
	warmStep   = time.Millisecond // between two of a publisher
)

// measure runs one engine for a while between its own publishers and subscribers on
// loopback. The error is non-nil if a subscriber did not get exactly what was
// published or memory is left over; the figures are there unless the run could
// not begin or ctx was done before the warm-up was.
func measure(ctx context.Context, cfg *config, length time.Duration, in *input, e engine, show *progress) (f *figures, err error) {
	debug.FreeOSMemory() // neither engine starts with the garbage of the other
	srv, err := listen("127.0.0.1:0", e)
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	srv.wait, srv.quiet = true, greetTimeout // all its clients say what they want
	srv.corrupt = cfg.corrupt
	srv.report = func(format string, args ...any) {
		if srv.count.faults.Load() > 0 {
			show.say("relay: "+format, args...)
		}
	}
	dialing, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	srv.refused = giveUp
	var accepting sync.WaitGroup
	accepting.Go(srv.serve)
	defer func() {
		srv.close()
		accepting.Wait()
		err = errors.Join(err, e.close())
	}()

	l := clients{cfg: cfg, in: in}
	if err := l.dial(dialing, srv.listener.Addr().String()); err != nil {
		l.hangUp()
		if ctx.Err() != nil {
			err = nil // an interrupt is no failure of the engine
		}
		return nil, err
	}
	publishing, stop := context.WithCancel(ctx)
	defer stop()
	settling, settled := context.WithCancel(publishing)
	defer settled()
	l.start(publishing, settled)

	watch := newSampler(srv)
	defer watch.rss.close()
	show.reset()
	phase(settling, e.name(), "warming up", 0, watch, show)
	warm := warmUp(length)
	phase(publishing, e.name(), "warming up", warm, watch, show)
	if ctx.Err() == nil {
		watch.begin()
		phase(publishing, e.name(), "measuring", length-warm, watch, show)
		f = watch.end()
	}
	stop()
	err = l.wait()
	show.clear()
	return f, err
}

// phase lets the run go on for a while, or until ctx is done.
func phase(ctx context.Context, engine, what string, length time.Duration, watch *sampler, show *progress) {
	begin := time.Now()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	var timeout <-chan time.Time
	if length > 0 {
		end := time.NewTimer(length)
		defer end.Stop()
		timeout = end.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timeout:
			return
		case <-ticks.C:
			watch.sample()
			show.show(engine, what, time.Since(begin), length, &watch.srv.count)
		}
	}
}

// clients are the publishers and subscribers of a measured run.
type clients struct {
	cfg  *config
	in   *input
	pubs []*testPublisher
	subs []*testSubscriber // cfg.subscribers for each publisher

	wg       sync.WaitGroup
	settling sync.WaitGroup // publishers that have not sent their first tags
	mu       sync.Mutex
	err      []error
}

// dial connects everybody, unless ctx is done before. Subscribers come first: they
// are to get every frame.
func (l *clients) dial(ctx context.Context, addr string) error {
	for i := range l.cfg.streams {
		name := fmt.Sprint("s", i+1)
		for range l.cfg.subscribers {
			s, err := dialSubscriber(ctx, addr, name)
			if err != nil {
				return fmt.Errorf("subscriber of %s: %w", name, reason(ctx, err))
			}
			l.subs = append(l.subs, s)
		}
		p, err := dialPublisher(ctx, addr, name, l.in)
		if err != nil {
			return fmt.Errorf("publisher of %s: %w", name, reason(ctx, err))
		}
		l.pubs = append(l.pubs, p)
	}
	return nil
}

// reason is why ctx was done, if it was, and else err.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (l *clients) hangUp() {
	for _, p := range l.pubs {
		p.conn.Close()
	}
	for _, s := range l.subs {
		s.conn.Close()
	}
}

// start lets everybody run; publishers stop when ctx is done, and subscribers
// when their stream ends. It calls settled when all have sent their first tags.
func (l *clients) start(ctx context.Context, settled func()) {
	first := 0
	if l.cfg.realtime {
		first = (warmFrames + len(l.pubs) - 1) / len(l.pubs)
	}
	for i, s := range l.subs {
		l.wg.Go(func() { l.note("subscriber", i, s.run(l.in.preamble)) })
	}
	for i, p := range l.pubs {
		l.settling.Add(1)
		l.wg.Go(func() { l.note("publisher", i, p.run(ctx, l.cfg.realtime, first, l.settling.Done)) })
	}
	l.wg.Go(func() { l.settling.Wait(); settled() })
}

func (l *clients) note(who string, i int, err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = append(l.err, fmt.Errorf("%s %d: %w", who, i+1, err))
}

// wait returns when everybody is done, and what went wrong.
func (l *clients) wait() error {
	l.wg.Wait()
	for i, s := range l.subs {
		stream := i / l.cfg.subscribers
		if sent := l.pubs[stream].sent; s.got != sent {
			l.err = append(l.err, fmt.Errorf("subscriber %d of stream %d got %v; published were %v",
				i%l.cfg.subscribers+1, stream+1, s.got, sent))
		}
	}
	return errors.Join(l.err...)
}
