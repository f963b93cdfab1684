package rival

import (
	"github.com/bytedance/gopkg/lang/mcache"
	"github.com/dgraph-io/ristretto/v2/z"
	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/internal/trace"
	"modernc.org/memory"
)

type gomemReplayer struct {
	a      *gomem.ScalableMemoryAllocator
	blocks [][]byte
}

// NewGomem returns the replayer for t on the allocator under test, made with options.
func NewGomem(t *trace.Trace, options ...gomem.Option) Replayer {
	return &gomemReplayer{gomem.NewScalableMemoryAllocator(t.FirstChunk(), options...), places[[]byte](t)}
}

func (r *gomemReplayer) Name() string { return "gomem" }
func (r *gomemReplayer) Close()       { r.a.Recycle() }

func (r *gomemReplayer) Round(t *trace.Trace) {
	a, blocks := r.a, tableOf(r.blocks)
	for w := over(t); w.more(); {
		op := w.next()
		if isFree(op) {
			if !a.Free(*blocks.of(op)) {
				panic("gomem: a free of a live block was refused")
			}
			continue
		}
		b := a.Malloc(int(op))
		b[0] = 1
		blocks.add(b)
	}
}

type floorReplayer struct {
	block  []byte
	blocks [][]byte
}

func newFloor(t *trace.Trace) Replayer {
	return &floorReplayer{make([]byte, 64), places[[]byte](t)}
}

func (r *floorReplayer) Name() string { return Floor }
func (r *floorReplayer) Close()       {}

//go:noinline
func (r *floorReplayer) malloc(n int) []byte { return r.block[:1] }

//go:noinline
func (r *floorReplayer) free(b []byte) {}

func (r *floorReplayer) Round(t *trace.Trace) {
	blocks := tableOf(r.blocks)
	for w := over(t); w.more(); {
		op := w.next()
		if isFree(op) {
			r.free(*blocks.of(op))
			continue
		}
		b := r.malloc(int(op))
		b[0] = 1
		blocks.add(b)
	}
}

type mcacheReplayer struct{ blocks [][]byte }

func newMcache(t *trace.Trace) Replayer { return &mcacheReplayer{places[[]byte](t)} }

func (r *mcacheReplayer) Name() string { return "mcache" }
func (r *mcacheReplayer) Close()       { clear(r.blocks) }

func (r *mcacheReplayer) Round(t *trace.Trace) {
	blocks := tableOf(r.blocks)
	for w := over(t); w.more(); {
		op := w.next()
		if isFree(op) {
			mcache.Free(*blocks.of(op))
			continue
		}
		b := mcache.Malloc(int(op))
		b[0] = 1
		blocks.add(b)
	}
}

type moderncReplayer struct {
	a      memory.Allocator
	blocks [][]byte
}

func newModernc(t *trace.Trace) Replayer { return &moderncReplayer{blocks: places[[]byte](t)} }

func (r *moderncReplayer) Name() string { return "modernc" }

func (r *moderncReplayer) Close() {
	if err := r.a.Close(); err != nil {
		panic(err)
	}
}

func (r *moderncReplayer) Round(t *trace.Trace) {
	a, blocks := &r.a, tableOf(r.blocks)
	for w := over(t); w.more(); {
		op := w.next()
		if isFree(op) {
			if err := a.Free(*blocks.of(op)); err != nil {
				panic(err)
			}
			continue
		}
		b, err := a.Malloc(int(op))
		if err != nil {
			panic(err)
		}
		b[0] = 1
		blocks.add(b)
	}
}

// ristrettoReplayer uses the allocator of ristretto's z as it is built without
// jemalloc: make, with accounting.
type ristrettoReplayer struct{ blocks [][]byte }

func newRistretto(t *trace.Trace) Replayer { return &ristrettoReplayer{places[[]byte](t)} }

func (r *ristrettoReplayer) Name() string { return "ristretto" }
func (r *ristrettoReplayer) Close()       { clear(r.blocks) }

func (r *ristrettoReplayer) Round(t *trace.Trace) {
	blocks := tableOf(r.blocks)
	for w := over(t); w.more(); {
		op := w.next()
		if isFree(op) {
			b := blocks.of(op)
			z.Free(*b)
			*b = nil
			continue
		}
		b := z.Calloc(int(op), "")
		b[0] = 1
		blocks.add(b)
	}
}

// makeReplayer leaves the freeing to the garbage collector.
type makeReplayer struct{ blocks [][]byte }

func newMake(t *trace.Trace) Replayer { return &makeReplayer{places[[]byte](t)} }

func (r *makeReplayer) Name() string { return "make" }
func (r *makeReplayer) Close()       { clear(r.blocks) }

func (r *makeReplayer) Round(t *trace.Trace) {
	blocks := tableOf(r.blocks)
	for w := over(t); w.more(); {
		op := w.next()
		if isFree(op) {
			*blocks.of(op) = nil
			continue
		}
		b := make([]byte, op)
		b[0] = 1
		blocks.add(b)
	}
}
