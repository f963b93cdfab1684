package grpcmem_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/adapter/grpcmem"
	"github.com/gomem-go/gomem/gomemtest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/test/bufconn"
)

// raw is a codec for messages of plain bytes, *[]byte, that takes its buffers from a pool.
type raw struct{ pool mem.BufferPool }

func (raw) Name() string { return "raw" }

func (c raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.Copy(*v.(*[]byte), c.pool)}, nil
}

func (c raw) Unmarshal(data mem.BufferSlice, v any) error {
	b := data.MaterializeToBuffer(c.pool)
	defer b.Free()
	*v.(*[]byte) = append([]byte(nil), b.ReadOnlyData()...)
	return nil
}

// message returns n bytes that check knows again; both ends are in every size class.
func message(n int, seed uint64) []byte {
	b := make([]byte, n)
	for i := 0; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], (seed+uint64(i))*0x9e3779b97f4a7c15)
	}
	return b
}

// streams is a call in both directions.
var streams = &grpc.StreamDesc{StreamName: "call", ClientStreams: true, ServerStreams: true}

const method = "/test/call"

// world is a client and a server whose buffers all come from one allocator in debug mode.
type world struct {
	t      *testing.T
	a      *gomem.ScalableMemoryAllocator
	pool   *grpcmem.Pool
	server *grpc.Server
	client *grpc.ClientConn
}

// newWorld starts a server with handler h, or with none if h is nil. When the test ends it stops both ends and fails
// the test unless every buffer comes back. Debug mode fails it if one is given back twice,
// and guard pages fault at any use of one that was given back, even if it is only read.
func newWorld(t *testing.T, h grpc.StreamHandler) *world {
	t.Helper()
	return worldOn(t, bufconn.Listen(1<<18), h)
}

func worldOn(t *testing.T, l net.Listener, h grpc.StreamHandler) *world {
	t.Helper()
	w := &world{t: t, a: gomemtest.New(t, gomem.WithDebug(gomem.DebugOptions{GuardPages: true}))}
	w.pool = grpcmem.New(w.a)
	opts := []grpc.ServerOption{
		experimental.BufferPool(w.pool),
		grpc.ForceServerCodecV2(raw{w.pool}),
		grpc.WaitForHandlers(true),
	}
	if h != nil {
		opts = append(opts, grpc.UnknownServiceHandler(h))
	}
	w.server = grpc.NewServer(opts...)
	go w.server.Serve(l)

	w.client = newClient(t, l, w.pool)
	t.Cleanup(w.stop)
	return w
}

// newClient returns a client of whoever accepts at l.
func newClient(t *testing.T, l net.Listener, pool mem.BufferPool) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("passthrough:test",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if b, ok := l.(*bufconn.Listener); ok {
				return b.DialContext(ctx)
			}
			return net.Dial("tcp", l.Addr().String())
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		experimental.WithBufferPool(pool),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{pool})))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// stop ends both sides and waits until every buffer has come back.
func (w *world) stop() {
	w.t.Helper()
	w.client.Close()
	w.server.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.pool.Drain(ctx); err != nil {
		w.t.Error(err)
	}
	if live := w.a.Stats().Live; live != 0 {
		w.t.Errorf("%d bytes are live", live)
	}
}

// settle runs collections until nothing of a is live.
func settle(t *testing.T, a *gomem.ScalableMemoryAllocator) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for a.Stats().Live > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes have not come back", a.Stats().Live)
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// open starts a stream.
func (w *world) open(ctx context.Context, opts ...grpc.CallOption) grpc.ClientStream {
	w.t.Helper()
	s, err := w.client.NewStream(ctx, streams, method, opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// echo sends back what arrives.
func echo(_ any, s grpc.ServerStream) error {
	for {
		var b []byte
		if err := s.RecvMsg(&b); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.SendMsg(&b); err != nil {
			return err
		}
	}
}

// flood sends until nobody listens.
func flood(_ any, s grpc.ServerStream) error {
	b := message(100_000, 1)
	for {
		if err := s.SendMsg(&b); err != nil {
			return err
		}
	}
}

// refuse ends the call before it reads anything, as an interceptor that denies access does.
func refuse(_ any, s grpc.ServerStream) error {
	time.Sleep(5 * time.Millisecond) // so that the frames are there
	return fmt.Errorf("refused")
}
