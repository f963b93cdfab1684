package rival

import (
	"github.com/bytedance/gopkg/lang/mcache"
	"github.com/dgraph-io/ristretto/v2/z"
	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/internal/trace"
	"modernc.org/memory"
)

// chunkSize is what the allocator under test starts with; it grows by itself.
const chunkSize = 1 << 20

type gomemReplayer struct {
	a      *gomem.ScalableMemoryAllocator
	blocks [][]byte
}

// NewGomem returns the replayer on the allocator under test, made with options.
func NewGomem(blocks int, options ...gomem.Option) Replayer {
	return &gomemReplayer{gomem.NewScalableMemoryAllocator(chunkSize, options...), make([][]byte, blocks)}
}

func (r *gomemReplayer) Name() string { return "gomem" }
func (r *gomemReplayer) Close()       { r.a.Recycle() }

func (r *gomemReplayer) Round(t *trace.Trace) {
	a, blocks, next := r.a, r.blocks, 0
	for _, op := range t.Ops {
		if op&trace.FreeBit != 0 {
			if !a.Free(blocks[op&^trace.FreeBit]) {
				panic("gomem: a free of a live block was refused")
			}
			continue
		}
		b := a.Malloc(int(op))
		b[0] = 1
		blocks[next] = b
		next++
	}
}

type floorReplayer struct {
	block  []byte
	blocks [][]byte
}

func newFloor(blocks int) Replayer {
	return &floorReplayer{make([]byte, 64), make([][]byte, blocks)}
}

func (r *floorReplayer) Name() string { return Floor }
func (r *floorReplayer) Close()       {}

//go:noinline
func (r *floorReplayer) malloc(n int) []byte { return r.block[:1] }

//go:noinline
func (r *floorReplayer) free(b []byte) {}

func (r *floorReplayer) Round(t *trace.Trace) {
	blocks, next := r.blocks, 0
	for _, op := range t.Ops {
		if op&trace.FreeBit != 0 {
			r.free(blocks[op&^trace.FreeBit])
			continue
		}
		b := r.malloc(int(op))
		b[0] = 1
		blocks[next] = b
		next++
	}
}

type mcacheReplayer struct{ blocks [][]byte }

func newMcache(blocks int) Replayer { return &mcacheReplayer{make([][]byte, blocks)} }

func (r *mcacheReplayer) Name() string { return "mcache" }
func (r *mcacheReplayer) Close()       { clear(r.blocks) }

func (r *mcacheReplayer) Round(t *trace.Trace) {
	blocks, next := r.blocks, 0
	for _, op := range t.Ops {
		if op&trace.FreeBit != 0 {
			mcache.Free(blocks[op&^trace.FreeBit])
			continue
		}
		b := mcache.Malloc(int(op))
		b[0] = 1
		blocks[next] = b
		next++
	}
}

type moderncReplayer struct {
	a      memory.Allocator
	blocks [][]byte
}

func newModernc(blocks int) Replayer { return &moderncReplayer{blocks: make([][]byte, blocks)} }

func (r *moderncReplayer) Name() string { return "modernc" }

func (r *moderncReplayer) Close() {
	if err := r.a.Close(); err != nil {
		panic(err)
	}
}

func (r *moderncReplayer) Round(t *trace.Trace) {
	a, blocks, next := &r.a, r.blocks, 0
	for _, op := range t.Ops {
		if op&trace.FreeBit != 0 {
			if err := a.Free(blocks[op&^trace.FreeBit]); err != nil {
				panic(err)
			}
			continue
		}
		b, err := a.Malloc(int(op))
		if err != nil {
			panic(err)
		}
		b[0] = 1
		blocks[next] = b
		next++
	}
}

// ristrettoReplayer uses the allocator of ristretto's z as it is built without
// jemalloc: make, with accounting.
type ristrettoReplayer struct{ blocks [][]byte }

func newRistretto(blocks int) Replayer { return &ristrettoReplayer{make([][]byte, blocks)} }

func (r *ristrettoReplayer) Name() string { return "ristretto" }
func (r *ristrettoReplayer) Close()       { clear(r.blocks) }

func (r *ristrettoReplayer) Round(t *trace.Trace) {
	blocks, next := r.blocks, 0
	for _, op := range t.Ops {
		if op&trace.FreeBit != 0 {
			id := op &^ trace.FreeBit
			z.Free(blocks[id])
			blocks[id] = nil
			continue
		}
		b := z.Calloc(int(op), "")
		b[0] = 1
		blocks[next] = b
		next++
	}
}

// makeReplayer leaves the freeing to the garbage collector.
type makeReplayer struct{ blocks [][]byte }

func newMake(blocks int) Replayer { return &makeReplayer{make([][]byte, blocks)} }

func (r *makeReplayer) Name() string { return "make" }
func (r *makeReplayer) Close()       { clear(r.blocks) }

func (r *makeReplayer) Round(t *trace.Trace) {
	blocks, next := r.blocks, 0
	for _, op := range t.Ops {
		if op&trace.FreeBit != 0 {
			blocks[op&^trace.FreeBit] = nil
			continue
		}
		b := make([]byte, op)
		b[0] = 1
		blocks[next] = b
		next++
	}
}
