package relay

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Each figure stands in its row, and those of two runs are added up, but for the peaks.
func TestFiguresOfTwoRuns(t *testing.T) {
	f := &figures{
		engine: "gomem", elapsed: time.Second, framesIn: 100, framesOut: 1000, bytesOut: 3_000_000, dropped: 4,
		allocs: 50, allocBytes: 700, gcs: 8, gcPause: 9 * time.Millisecond, gcWorst: 10 * time.Millisecond,
		heap: 11 << 20, offHeap: 12 << 20, rss: 13 << 20,
	}
	f.add(&figures{
		elapsed: time.Second, framesIn: 300, framesOut: 2000, bytesOut: 4_000_000, dropped: 1,
		allocs: 150, allocBytes: 100, gcs: 1, gcPause: time.Millisecond, gcWorst: 20 * time.Millisecond,
		heap: 1 << 20, offHeap: 22 << 20, rss: 1 << 20,
	})
	var out bytes.Buffer
	printTable(&out, []*figures{f})
	var got strings.Builder
	for line := range strings.Lines(out.String()) {
		got.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	const want = `gomem
frames received/s 200
frames delivered/s 1,500
MB delivered/s 3.5
frames dropped 5
allocations 200
allocations per frame received 0.500
bytes allocated per frame 2.0
GC cycles 9
GC pause, total 10ms
GC pause, worst 20ms
Go heap, peak 11.0 MiB
off-heap memory, peak 22.0 MiB
RSS, peak 13.0 MiB
`
	if got.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &got, want)
	}
}
