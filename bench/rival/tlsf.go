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

func newTLSF(t *trace.Trace) Replayer {
	pool, err := tlsf.New(poolSize, tlsf.WithMmap())
	if err != nil {
		panic(err)
	}
	return &tlsfReplayer{pool, places[[]byte](t)}
}

func (r *tlsfReplayer) Name() string { return TLSF }

func (r *tlsfReplayer) Close() {
	if err := r.pool.Close(); err != nil {
		panic(err)
	}
}

func (r *tlsfReplayer) Round(t *trace.Trace) {
	pool, blocks := r.pool, tableOf(r.blocks)
	for w := over(t); w.more(); {
		op := w.next()
		if isFree(op) {
			if err := pool.Free(*blocks.of(op)); err != nil {
				panic(err)
			}
			continue
		}
		b, err := pool.Alloc(int(op))
		if err != nil {
			panic(err)
		}
		b[0] = 1
		blocks.add(b)
	}
}
