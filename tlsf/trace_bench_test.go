package tlsf_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gomem-go/gomem/internal/trace"
	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/tlsf"
)

// traceDir names the directory of the allocation traces to replay; without it
// BenchmarkTrace has nothing to do.
const traceDir = "GOMEM_TRACES"

// BenchmarkTrace replays recorded programs on a pool, the first byte of each
// block touched, and beside it on the placement alone.
func BenchmarkTrace(b *testing.B) {
	dir := os.Getenv(traceDir)
	if dir == "" {
		b.Skip("set " + traceDir + " to a directory of *.trace.gz")
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.trace.gz"))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		t, err := trace.ReadFile(name, trace.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		short := strings.TrimSuffix(filepath.Base(name), ".trace.gz")
		for _, mode := range []struct {
			name string
			opts []tlsf.Option
		}{{"pool", nil}, {"locked pool", []tlsf.Option{tlsf.WithLock()}}} {
			b.Run(fmt.Sprintf("impl=%s/trace=%s", mode.name, short), func(b *testing.B) {
				p := mustNew(b, 128<<20, append(mode.opts, tlsf.WithMmap())...)
				live := make([][]byte, len(t.Sizes))
				best(b, len(t.Ops), func() { replayPool(b, p, t.Ops, live) })
			})
		}
		b.Run("impl=placement/trace="+short, func(b *testing.B) {
			place := offset.NewTLSF(128<<20, 16)
			live := make([]offset.Block, len(t.Sizes))
			best(b, len(t.Ops), func() { replayPlacement(b, place, t.Ops, live) })
		})
	}
}

// best reports the best round: whatever else the machine does is not in it.
func best(b *testing.B, ops int, round func()) {
	least := time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		round()
		least = min(least, time.Since(start))
	}
	b.ReportMetric(float64(least.Nanoseconds())/float64(ops), "best-ns/event")
	b.ReportMetric(0, "ns/op")
}

// replayPool ends with an empty pool, as it began: a trace frees what it
// allocates.
func replayPool(b *testing.B, p *tlsf.Pool, ops []uint32, live [][]byte) {
	id := 0
	for _, op := range ops {
		if op&trace.FreeBit != 0 {
			if err := p.Free(live[op&^trace.FreeBit]); err != nil {
				b.Fatal(err)
			}
			continue
		}
		mem, err := p.Alloc(int(op))
		if err != nil {
			b.Fatal(err)
		}
		mem[0] = 1
		live[id] = mem
		id++
	}
}

func replayPlacement(b *testing.B, place *offset.TLSF, ops []uint32, live []offset.Block) {
	id := 0
	for _, op := range ops {
		if op&trace.FreeBit != 0 {
			block := live[op&^trace.FreeBit]
			if err := place.Free(block.Start, block.Size()); err != nil {
				b.Fatal(err)
			}
			continue
		}
		size := int(op)
		start := place.Allocate(size)
		if start < 0 {
			b.Fatal("no room")
		}
		live[id] = offset.Block{Start: start, End: start + size}
		id++
	}
}
