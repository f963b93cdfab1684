package replay

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/internal/trace"
)

// Each figure stands in its column.
func TestTableOfFigures(t *testing.T) {
	r := result{
		Name:  "prog.trace",
		Trace: &trace.Trace{Recorded: 9, Sizes: []uint32{100, 300}, TotalBytes: 400, PeakBytes: 4000, PeakBlocks: 7},
		Outcomes: []outcome{
			{Config: "one", NsPerOp: 12.34, P99: 56, Worst: 78, AllocsPerOp: 0.25, Memory: memory{PeakBacking: 6000, Fragmentation: 0.125}},
			{Config: "two", NsPerOp: 1, P99: 2, Worst: 12_345_678, Memory: memory{PeakBacking: 2_000_000, Fragmentation: -1}},
		},
	}
	var out bytes.Buffer
	if err := printTable(&out, r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"prog.trace: 9 operations recorded, 2 blocks, mean 200 B, peak live 4.0 kB in 7 blocks",
		"configuration ns/op p99 worst peak backing / peak live external fragmentation Go allocs/op",
		"one 12.3 56ns 78ns 6.0 kB 1.50 12.5% 0.2500",
		"two 1.0 2ns 12.35ms 2.0 MB 500.00 - 0.0000",
		"",
	}
	if !slices.Equal(got, want) {
		t.Errorf("printed %q, want %q", got, want)
	}
}

// A value that rounds to a thousand of a unit is one of the next.
func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 1_000_000: "1.0 MB",
		999_949_999: "999.9 MB", 999_950_000: "1.00 GB", 1_000_000_000: "1.00 GB", 1_500_000_000_000: "1500.00 GB",
	} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// What cannot be read, or written, is named once and as the user named it.
func TestRunNamesWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	good := writeTrace(t, "good", program(2, 100))
	page := filepath.Join(dir, "none", "x.html")
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{dir}, 1, "gomem replay: read " + dir + ": "},
		{[]string{"-html", good, good}, 1, "gomem replay: the page cannot be written: replace " + good + ": " + errNoPage.Error() + "\n"},
		{[]string{"-html", page, good}, 1, "gomem replay: the page cannot be written: open " + page + ": "},
		{[]string{good, "-rounds", "1"}, 2, "gomem replay: flags come before the files: -rounds"},
	} {
		var stdout, stderr bytes.Buffer
		if status := Run(t.Context(), c.args, &stdout, &stderr); status != c.status || !strings.HasPrefix(stderr.String(), c.want) {
			t.Errorf("%q: status %d, want %d; %q, want %q", c.args, status, c.status, &stderr, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		all  []int
		want int
	}{
		{[]int{7}, 7}, {[]int{1, 2}, 2}, {[]int{2, 1}, 2}, {[]int{1, 2, 3}, 2},
		{[]int{9, 1, 5}, 5}, {[]int{4, 8, 2, 6}, 6}, {[]int{3, 100, 1, 2, 200}, 3},
	} {
		if got := median(slices.Clone(c.all)); got != c.want {
			t.Errorf("median of %v is %d, want %d", c.all, got, c.want)
		}
	}
}

// looks is a context that counts how often it is asked whether it is done: each run
// of a short trace asks once.
type looks struct {
	context.Context
	n int
}

func (l *looks) Err() error {
	l.n++
	return l.Context.Err()
}

// A trace runs once to record the memory, once to warm up, once for each round and
// once with a clock.
func TestRunRunsTheRounds(t *testing.T) {
	tr, err := trace.New(program(4, 100), trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rounds := range []int{1, 2, 7} {
		ctx := &looks{Context: t.Context()}
		if _, err := measure(ctx, configs()[0], tr, rounds); err != nil {
			t.Fatal(err)
		}
		if ctx.n != rounds+3 {
			t.Errorf("%d rounds: the trace ran %d times, want %d", rounds, ctx.n, rounds+3)
		}
	}
}

// A name is shown as it is, unless a terminal would obey it.
func TestPrintable(t *testing.T) {
	for name, want := range map[string]string{"git.trace.gz": "git.trace.gz", "grün.txt": "grün.txt", "a\x1b[2Jb": `"a\x1b[2Jb"`} {
		if got := printable(name); got != want {
			t.Errorf("%q is shown as %s", name, got)
		}
	}
}
