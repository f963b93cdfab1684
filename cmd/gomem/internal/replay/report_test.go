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
		{[]string{dir}, 1, "gomem replay: open " + dir + ": "},
		{[]string{"-html", good, good}, 1, "gomem replay: the page cannot be written: replace " + good + ": " + errNoPage.Error() + "\n"},
		{[]string{"-html", page, good}, 1, "gomem replay: the page cannot be written: open " + page + ": "},
		{[]string{"-only", "tlsf", good}, 2, `gomem replay: -only tlsf, want a part of one of "size classes, mmap", "`},
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
// of a trace that is not long asks once.
type looks struct {
	context.Context
	n int
}

func (l *looks) Err() error {
	l.n++
	return l.Context.Err()
}

// A trace runs once to record the memory, to warm up once or, if it is short, until the
// lists of the allocator have grown, once for each round and once with a clock.
func TestRunRunsTheRounds(t *testing.T) {
	for _, c := range []struct{ blocks, rounds, warm int }{
		{warmOps / 2, 1, 1}, {warmOps / 2, 2, 1}, {warmOps / 128, 7, 64}, {warmOps/128 + 1, 1, 64}, {warmOps/128 - 1, 1, 65},
	} {
		var ops []uint32
		for id := range uint32(c.blocks) {
			ops = append(ops, 100, trace.FreeBit|id)
		}
		tr, err := trace.New(ops, trace.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		ctx := &looks{Context: t.Context()}
		if _, err := measure(ctx, configs()[0], tr, c.rounds); err != nil {
			t.Fatal(err)
		}
		if want := c.warm + c.rounds + 2; ctx.n != want {
			t.Errorf("%d blocks, %d rounds: the trace ran %d times, want %d", c.blocks, c.rounds, ctx.n, want)
		}
	}
}

// Files that have a name in common are told apart, and no name does anything to a
// terminal, or makes a page that is no UTF-8.
func TestTraceNames(t *testing.T) {
	got := traceNames([]string{"x/a.trace", "y/a.trace", "x/b.trace", "z/\x1b\xff"})
	if want := []string{"x/a.trace", "y/a.trace", "b.trace", `\x1b\xff`}; !slices.Equal(got, want) {
		t.Errorf("the names are %q, want %q", got, want)
	}
}

// The text of an error, and where the page is, are shown as a terminal may show them.
func TestRunPrintsNoEscapes(t *testing.T) {
	dir := t.TempDir()
	good := writeTrace(t, "good", program(2, 100))
	page := filepath.Join(dir, "\x1b[31mpage")
	for _, args := range [][]string{
		{filepath.Join(dir, "\x1b[31mnone")},
		{good, "-\x1b[31m"},
		{"-rounds", "1", "-only", "two trees, heap", "-html", page, good},
	} {
		var out bytes.Buffer
		Run(t.Context(), args, &out, &out)
		if text := out.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, `\x1b[31m`) {
			t.Errorf("%q: printed %q", args, text)
		}
	}
}
