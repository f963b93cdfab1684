package rival

import (
	"github.com/gomem-go/gomem/internal/trace"
	"github.com/gomem-go/gomem/tlsf"
)

// TLSF is the name of the replayer on a pool of GoMem's package tlsf.
const TLSF = "gomem-tlsf"

// poolSize is more than any trace holds. Of a mapping only the pages that are
// touched cost anything.
const poolSize = 512 << 20

type tlsfReplayer struct {
	pool   *tlsf.Pool
	blocks [][]byte
}

func newTLSF(blocks int) Replayer {
	pool, err := tlsf.New(poolSize, tlsf.WithMmap())
	if err != nil {
		panic(err)
	}
	return &tlsfReplayer{pool, make([][]byte, blocks)}
}

func (r *tlsfReplayer) Name() string { return TLSF }

func (r *tlsfReplayer) Close() {
	if err := r.pool.Close(); err != nil {
		panic(err)
	}
}

func (r *tlsfReplayer) Round(t *trace.Trace) {
	pool, blocks, next := r.pool, r.blocks, 0
	for _, op := range t.Ops {
		if op&trace.FreeBit != 0 {
			if err := pool.Free(blocks[op&^trace.FreeBit]); err != nil {
				panic(err)
			}
			continue
		}
		b, err := pool.Alloc(int(op))
		if err != nil {
			panic(err)
		}
		b[0] = 1
		blocks[next] = b
		next++
	}
}
