package offset

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// traceDir names the directory of the allocation traces to replay; without it
// BenchmarkTLSFTrace has nothing to do.
const traceDir = "GOMEM_TRACES"

// readTrace is the operations of a trace: a size to allocate, which gets the
// next id, or an id to free with the top bit set.
func readTrace(tb testing.TB, name string) []uint32 {
	tb.Helper()
	f, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	ops := make([]uint32, len(raw)/4)
	for i := range ops {
		ops[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return ops
}

// BenchmarkTLSFTrace replays recorded programs, offsets only.
func BenchmarkTLSFTrace(b *testing.B) {
	dir := os.Getenv(traceDir)
	if dir == "" {
		b.Skip("set " + traceDir + " to a directory of *.trace.gz")
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*.trace.gz"))
	for _, name := range names {
		ops := readTrace(b, name)
		ids := 0
		for _, op := range ops {
			ids += int(1 - op>>31)
		}
		type block struct{ start, size int }
		live := make([]block, ids)
		b.Run("placement=tlsf/op=trace/trace="+strings.TrimSuffix(filepath.Base(name), ".trace.gz"), func(b *testing.B) {
			a := NewTLSF(128<<20, 16)
			best := time.Duration(1 << 62)
			for b.Loop() {
				began := time.Now()
				id := 0
				for _, op := range ops {
					if op>>31 == 0 {
						size := max(int(op), 1)
						start := a.Allocate(size)
						if start < 0 {
							b.Fatal("no room")
						}
						live[id] = block{start, size}
						id++
						continue
					}
					l := &live[op&^(1<<31)]
					if a.Free(l.start, l.size) != nil {
						b.Fatal("refused")
					}
					l.size = 0
				}
				best = min(best, time.Since(began))
				b.StopTimer()
				for _, l := range live {
					if l.size > 0 {
						a.Free(l.start, l.size)
					}
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(best)/float64(len(ops)), "ns/traceop")
		})
	}
}
