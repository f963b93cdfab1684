package wcet

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Each figure stands in its column, and each sample in its bucket.
func TestReportOfFigures(t *testing.T) {
	figures := func(from time.Duration, bucket, n int) (s summary) {
		for i := range s.quantiles {
			s.quantiles[i] = from + time.Duration(i)
		}
		s.counts[bucket], s.counts[bucket+2] = n, 1
		return s
	}
	rows := []row{
		{"get", 64, false, figures(10, 5, 100)},
		{"get", 256, false, figures(20, 5, 100)},
		{"put", 0, true, figures(30, 7, 3)},
	}
	var out strings.Builder
	printHead(&out, settings{samples: 101, poolBytes: 3 << 20, evict: 2 << 20})
	printHead(&out, settings{samples: 7, poolBytes: 1 << 20})
	if err := printTable(&out, rows); err != nil {
		t.Fatal(err)
	}
	printHistograms(&out, rows)
	head := func(samples, pool int) string {
		return fmt.Sprintf("%d samples per row, pool of %d MiB, GC off, thread locked, %s/%s, %d CPUs, %s\n",
			samples, pool, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()) +
			"One operation per sample, in ns; each includes one reading of the clock.\n"
	}
	want := head(101, 3) + "Cold: 2 MiB are written between two samples.\n" + head(7, 1) +
		"cache bytes p50 p90 p99 p99.9 max operation\n" +
		"warm 64 10 11 12 13 14 get\nwarm 256 20 21 22 23 24 get\ncold - 30 31 32 33 34 put\n" +
		"get, warm\nbelow 32ns 200 " + strings.Repeat("#", barWidth) + "\nbelow 64ns 0\nbelow 128ns 2 #\n" +
		"put, cold\nbelow 128ns 3 " + strings.Repeat("#", barWidth) + "\nbelow 256ns 0\nbelow 512ns 1 " + strings.Repeat("#", 17) + "\n"
	var got strings.Builder // without padding and empty lines
	for line := range strings.Lines(out.String()) {
		if words := strings.Fields(line); len(words) > 0 {
			fmt.Fprintln(&got, strings.Join(words, " "))
		}
	}
	if got.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", got.String(), want)
	}
}
