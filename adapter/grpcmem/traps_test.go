package grpcmem_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gomem-go/gomem/adapter/grpcmem"
	"github.com/gomem-go/gomem/gomemtest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// counted counts what reaches a pool.
type counted struct {
	mem.BufferPool
	gets, puts int
}

func (c *counted) Get(n int) *[]byte { c.gets++; return c.BufferPool.Get(n) }
func (c *counted) Put(b *[]byte)     { c.puts++; c.BufferPool.Put(b) }

// mem.NewBuffer never calls Put for 1,024 bytes or less, so a pool must not lend them.
func TestSmallBuffersAreNotPut(t *testing.T) {
	a := gomemtest.New(t)
	p := &counted{BufferPool: grpcmem.New(a)}
	for _, n := range []int{0, 1, 1000, 1024} {
		mem.NewBuffer(p.Get(n), p).Free()
	}
	if p.puts != 0 {
		t.Errorf("%d calls of Put: the documentation says none", p.puts)
	}
	mem.NewBuffer(p.Get(1025), p).Free()
	if p.puts != 1 || a.Stats().Live != 0 {
		t.Errorf("%d calls of Put, %d bytes live", p.puts, a.Stats().Live)
	}
}

// A Buffer passes on the slice as it was shortened; its views and splits are views.
func TestBuffersAndTheirParts(t *testing.T) {
	a := gomemtest.New(t)
	p := grpcmem.New(a)
	data := p.Get(5000)
	*data = (*data)[:12]
	b := mem.NewBuffer(data, p)
	view := b.Slice(2, 5)
	left, right := mem.SplitUnsafe(b, 6)
	for _, part := range []mem.Buffer{left, view, right} {
		if a.Stats().Live != 5000 {
			t.Errorf("%d bytes are live", a.Stats().Live)
		}
		part.Free()
	}
	if a.Stats().Live != 0 {
		t.Errorf("%d bytes are live", a.Stats().Live)
	}
}

// mem.ReadAll uses the whole capacity and puts back what stayed empty itself.
func TestReadAll(t *testing.T) {
	text := strings.Repeat("0123456789", 10_000)
	for name, r := range map[string]io.Reader{
		"one read":      struct{ io.Reader }{strings.NewReader(text)},
		"byte by byte":  iotest.OneByteReader(strings.NewReader(text)),
		"writer to":     strings.NewReader(text),
		"nothing":       struct{ io.Reader }{strings.NewReader("")},
		"error":         iotest.ErrReader(errors.New("broken")),
		"error at last": io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("broken"))),
	} {
		a := gomemtest.New(t)
		got, err := mem.ReadAll(r, grpcmem.New(a))
		if (err != nil) != strings.HasPrefix(name, "error") {
			t.Errorf("%s: %v", name, err)
		}
		if b := got.Materialize(); len(b) > 0 && string(b) != text {
			t.Errorf("%s: %d other bytes", name, len(b))
		}
		got.Free()
		if live := a.Stats().Live; live != 0 {
			t.Errorf("%s: %d bytes are live", name, live)
		}
	}
}

// The codec for protobuf marshals into mem.DefaultBufferPool, whatever the options say.
func TestProtobufUsesTheDefaultPool(t *testing.T) {
	a := gomemtest.New(t)
	pool := &counted{BufferPool: grpcmem.New(a)}
	before := mem.DefaultBufferPool()
	defer experimental.SetDefaultBufferPool(before)

	marshal := func() {
		w := newWorld(t, func(_ any, s grpc.ServerStream) error {
			var b []byte
			return errors.Join(s.RecvMsg(&b), s.SendMsg(&b))
		})
		// The server takes protobuf for plain bytes and sends it back.
		in, out := wrapperspb.Bytes(message(100_000, 1)), new(wrapperspb.BytesValue)
		err := w.client.Invoke(t.Context(), method, in, out, grpc.CallContentSubtype("proto"), grpc.ForceCodecV2(nil))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(in.Value, out.Value) {
			t.Error("changed")
		}
		w.stop()
	}
	marshal()
	if pool.gets != 0 {
		t.Error("used already")
	}
	experimental.SetDefaultBufferPool(pool)
	marshal()
	if pool.gets != 2 || pool.puts != 2 { // one to marshal, one to unmarshal what came in several frames
		t.Errorf("%d buffers taken and %d put", pool.gets, pool.puts)
	}
	if live := a.Stats().Live; live != 0 {
		t.Errorf("%d bytes are live", live)
	}
}

// keeper is a codec that receives without a copy.
type keeper struct {
	raw
	keep func(data mem.BufferSlice)
}

func (k keeper) Unmarshal(data mem.BufferSlice, _ any) error { k.keep(data); return nil }

// received calls a server that echoes, and passes what the client receives to keep.
func received(t *testing.T, in []byte, keep func(data mem.BufferSlice)) *world {
	w := newWorld(t, echo)
	if err := w.client.Invoke(t.Context(), method, &in, nil, grpc.ForceCodecV2(keeper{raw{w.pool}, keep})); err != nil {
		t.Fatal(err)
	}
	return w
}

// Bytes are safe as long as their Buffers are held.
func TestKeptBuffersStay(t *testing.T) {
	in := message(100_000, 9)
	var kept mem.BufferSlice
	w := received(t, in, func(data mem.BufferSlice) {
		data.Ref()
		kept = data
	})
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if !bytes.Equal(kept.Materialize(), in) {
		t.Error("changed while held")
	}
	kept.Free()
	if w.stop(); w.pool.Lost() != 0 {
		t.Error("lost:", w.pool.Lost())
	}
}

// unchanged reports whether b still holds bytes of the message, without a fault.
func unchanged(message, b []byte) (same bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { recover() }()
	return bytes.Contains(message, b)
}

// Bytes whose Buffers are not held go to the next owner; in debug mode they are
// overwritten, or out of reach, at once.
func TestKeptBytesAreGone(t *testing.T) {
	for name, ref := range map[string]bool{"without Ref": false, "with Ref, but the Buffer is dropped": true} {
		t.Run(name, func(t *testing.T) {
			var kept [][]byte
			w := received(t, message(100_000, 9), func(data mem.BufferSlice) {
				if ref {
					data.Ref()
				}
				for _, b := range data {
					kept = append(kept, b.ReadOnlyData())
				}
			})
			w.stop() // a connection holds on to its last frames until then
			for _, b := range kept {
				if len(b) > 1024 && unchanged(message(100_000, 9), b) {
					t.Errorf("%d bytes are as they were: the documentation says otherwise", len(b))
				}
			}
		})
	}
}
