package grpcmem_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/test/bufconn"
)

// sizes are on both sides of the size from which gRPC pools, of that of a frame, of a
// buffer of mem.ReadAll, and several frames.
var sizes = []int{0, 1, 1023, 1024, 1025, 16 << 10, 16<<10 + 1, 32 << 10, 100_000, 1 << 20}

func TestCallsThatEndWell(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		l    net.Listener
		opts []grpc.CallOption
	}{
		{"plain", bufconn.Listen(1 << 18), nil},
		{"gzip", bufconn.Listen(1 << 18), []grpc.CallOption{grpc.UseCompressor(gzip.Name)}},
		{"tcp", tcp, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := worldOn(t, c.l, echo)
			for _, n := range sizes {
				if n > 100_000 && c.opts != nil {
					continue // slow under the race detector, and nothing new
				}
				in, out := message(n, uint64(n)), []byte(nil)
				if err := w.client.Invoke(t.Context(), method, &in, &out, c.opts...); err != nil {
					t.Fatalf("%d bytes: %v", n, err)
				}
				if !bytes.Equal(in, out) {
					t.Fatalf("%d bytes came back changed", n)
				}
			}
			w.stop()
			if lost := w.pool.Lost(); lost != 0 {
				t.Errorf("gRPC dropped %d buffers", lost)
			}
			if w.a.Stats().Malloced == 0 {
				t.Error("nothing came from the allocator")
			}
		})
	}
}

func TestManyStreamsAtOnce(t *testing.T) {
	w := newWorld(t, echo)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := w.client.NewStream(t.Context(), streams, method, grpc.UseCompressor([]string{"identity", gzip.Name}[i%2]))
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 12 {
				in, out := message(sizes[(i+j)%(len(sizes)-2)], uint64(i*100+j)), []byte(nil)
				if err := s.SendMsg(&in); err != nil {
					t.Error(err)
				}
				if err := s.RecvMsg(&out); err != nil || !bytes.Equal(in, out) {
					t.Errorf("stream %d, message %d: %d bytes of %d, %v", i, j, len(out), len(in), err)
				}
			}
			s.CloseSend()
			if err := s.RecvMsg(new([]byte)); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// A stream that is fed one byte a frame makes gRPC gather the frames in a buffer of the
// pool.
func TestManyTinyMessages(t *testing.T) {
	arrived := make(chan struct{})
	w := newWorld(t, func(_ any, s grpc.ServerStream) error {
		<-arrived
		return echo(nil, s)
	})
	s := w.open(t.Context())
	for i := range 3000 {
		in := []byte{byte(i)}
		if err := s.SendMsg(&in); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); w.a.Stats().Malloced == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("gRPC gathered nothing")
		}
	}
	close(arrived)
	s.CloseSend()
	for i := range 3000 {
		var out []byte
		if err := s.RecvMsg(&out); err != nil || len(out) != 1 || out[0] != byte(i) {
			t.Fatalf("message %d: %v, %v", i, out, err)
		}
	}
}

// gRPC drops buffers on all of these paths; newWorld sees that each comes back, and the
// allocator that none is used after that.
func TestCallsThatEndBadly(t *testing.T) {
	send := message(60_000, 7)
	for _, c := range []struct {
		name    string
		handler grpc.StreamHandler
		call    func(w *world) error
		lost    bool // the call can be repeated, and gRPC drops buffers, so Lost must tell
	}{
		{"handler returns before it reads", refuse, func(w *world) error {
			return w.client.Invoke(w.t.Context(), method, &send, new([]byte))
		}, true},
		{"method is unknown", nil, func(w *world) error {
			return w.client.Invoke(w.t.Context(), method, &send, new([]byte))
		}, true},
		{"message too large", echo, func(w *world) error {
			huge := message(5<<20, 1)
			return w.client.Invoke(w.t.Context(), method, &huge, new([]byte))
		}, true},
		{"compressed message too large", echo, func(w *world) error {
			huge := make([]byte, 5<<20)
			return w.client.Invoke(w.t.Context(), method, &huge, new([]byte), grpc.UseCompressor(gzip.Name))
		}, false},
		{"client cancels while it is sent to", flood, func(w *world) error {
			ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Millisecond)
			defer cancel()
			s := w.open(ctx)
			err := s.RecvMsg(new([]byte))
			<-ctx.Done()
			return errors.Join(err, ctx.Err())
		}, true},
		{"client cancels while it sends", func(_ any, s grpc.ServerStream) error {
			<-s.Context().Done()
			return nil
		}, func(w *world) error {
			ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Millisecond)
			defer cancel()
			s := w.open(ctx)
			for {
				if err := s.SendMsg(&send); err != nil {
					return err
				}
			}
		}, true},
		{"client is closed", flood, func(w *world) error {
			s := w.open(w.t.Context())
			err := s.RecvMsg(new([]byte))
			time.Sleep(5 * time.Millisecond)
			w.client.Close()
			return errors.Join(err, errors.New("closed"))
		}, false},
		{"server stops", flood, func(w *world) error {
			s := w.open(w.t.Context())
			if err := s.RecvMsg(new([]byte)); err != nil {
				w.t.Fatal(err)
			}
			w.server.Stop()
			for {
				if err := s.RecvMsg(new([]byte)); err != nil {
					return err
				}
			}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.handler)
			if err := c.call(w); err == nil {
				t.Error("no error")
			}
			for deadline := time.Now().Add(10 * time.Second); c.lost && w.pool.Lost() == 0; runtime.GC() {
				if time.Now().After(deadline) {
					t.Fatal("gRPC gave everything back: the documentation says otherwise")
				}
				c.call(w) // it depends on how far the frames had come
			}
		})
	}
}

// Through ServeHTTP, gRPC reads each body into buffers of the pool, and drops them as well.
func TestServeHTTP(t *testing.T) {
	w := newWorld(t, func(_ any, s grpc.ServerStream) error {
		time.Sleep(5 * time.Millisecond)
		return echo(nil, s)
	})
	l := bufconn.Listen(1 << 18)
	h := &http.Server{Handler: w.server, Protocols: new(http.Protocols)}
	h.Protocols.SetUnencryptedHTTP2(true)
	go h.Serve(l)
	w.client.Close()
	w.client = newClient(t, l, w.pool)
	defer h.Close()

	in, out := message(100_000, 3), []byte(nil)
	if err := w.client.Invoke(t.Context(), method, &in, &out); err != nil || !bytes.Equal(in, out) {
		t.Fatal(err, len(out))
	}
	for deadline := time.Now().Add(10 * time.Second); w.pool.Lost() == 0; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("gRPC gave everything back: the documentation says otherwise")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		s := w.open(ctx)
		for s.SendMsg(&in) == nil { // nobody receives what comes back
		}
		cancel()
	}
}
