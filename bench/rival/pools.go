package rival

import (
	"math/bits"
	"sync"

	"github.com/gomem-go/gomem/internal/trace"
	"github.com/valyala/bytebufferpool"
	"google.golang.org/grpc/mem"
)

// syncPools is the pool that most Go programs write themselves: one sync.Pool
// for each power of two.
type syncPools [32]sync.Pool

func (p *syncPools) get(n int) *[]byte {
	class := bits.Len(uint(n - 1))
	if b, ok := p[class].Get().(*[]byte); ok {
		*b = (*b)[:n]
		return b
	}
	b := make([]byte, n, 1<<class)
	return &b
}

func (p *syncPools) put(b *[]byte) { p[bits.Len(uint(cap(*b)-1))].Put(b) }

type syncPoolReplayer struct {
	pools  syncPools
	blocks []*[]byte
}

func newSyncPool(t *trace.Trace) Replayer { return &syncPoolReplayer{blocks: places[*[]byte](t)} }

func (r *syncPoolReplayer) Name() string { return "syncpool" }
func (r *syncPoolReplayer) Close()       { clear(r.blocks) }

func (r *syncPoolReplayer) Round(t *trace.Trace) {
	pools, blocks := &r.pools, tableOf(r.blocks)
	for w := over(t); w.more(); {
		op := w.next()
		if isFree(op) {
			pools.put(*blocks.of(op))
			continue
		}
		b := pools.get(int(op))
		(*b)[0] = 1
		blocks.add(b)
	}
}

type grpcReplayer struct {
	pool   mem.BufferPool
	blocks []*[]byte
}

func newGRPC(t *trace.Trace) Replayer {
	return &grpcReplayer{mem.DefaultBufferPool(), places[*[]byte](t)}
}

func (r *grpcReplayer) Name() string { return "grpc" }
func (r *grpcReplayer) Close()       { clear(r.blocks) }

func (r *grpcReplayer) Round(t *trace.Trace) {
	pool, blocks := r.pool, tableOf(r.blocks)
	for w := over(t); w.more(); {
		op := w.next()
		if isFree(op) {
			pool.Put(*blocks.of(op))
			continue
		}
		b := pool.Get(int(op))
		(*b)[0] = 1
		blocks.add(b)
	}
}

// byteBufferReplayer uses a pool that knows no sizes: a buffer that comes back
// too small is grown by make.
type byteBufferReplayer struct {
	pool   bytebufferpool.Pool
	blocks []*bytebufferpool.ByteBuffer
}

func newByteBufferPool(t *trace.Trace) Replayer {
	return &byteBufferReplayer{blocks: places[*bytebufferpool.ByteBuffer](t)}
}

func (r *byteBufferReplayer) Name() string { return "bytebufferpool" }
func (r *byteBufferReplayer) Close()       { clear(r.blocks) }

func (r *byteBufferReplayer) Round(t *trace.Trace) {
	pool, blocks := &r.pool, tableOf(r.blocks)
	for w := over(t); w.more(); {
		op := w.next()
		if isFree(op) {
			pool.Put(*blocks.of(op))
			continue
		}
		b := pool.Get()
		if cap(b.B) < int(op) {
			b.B = make([]byte, op)
		} else {
			b.B = b.B[:op]
		}
		b.B[0] = 1
		blocks.add(b)
	}
}
