// Package replay is the command that replays a recorded allocation trace
// against every placement and backing, so that a user records an application
// once and sees which configuration fits.
package replay

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gomem-go/gomem/cmd/gomem/internal/cli"
	"github.com/gomem-go/gomem/internal/trace"
)

const usage = `usage: gomem replay [flags] FILE...

Replays allocation traces on every placement, over mmap, over huge pages and over
the Go heap, and with make, and prints what each costs in time and memory. All files
are checked before the first is replayed.

A trace is a file of little-endian uint32, one per operation. A value below 2^31
means "allocate that many bytes"; the block gets the next id 0, 1, 2... With the
top bit set it means "free the id in the other 31 bits". Or the file is text, with
one operation per line:

    # comment
    malloc 0 4096
    free 0

in which the ids count up from 0. Either may be compressed with gzip. A program
records a trace with gomem.WithTrace. The FILE - is standard input.

Peak backing is the most bytes that were mapped, from a first chunk of 1 MiB, or of 64
KiB where less than 1 MiB is live at any time, and external fragmentation the share
of the free bytes outside the largest gap, when most was live.

The exit status is 0, or 1 if a trace or a measurement failed or an interrupt came
first, or 2 for wrong flags. What was measured before an interrupt is printed.

`

// options is what the command line says.
type options struct {
	files   []string
	html    string
	page    bool // -html is given
	only    string
	rounds  int
	maxOps  int
	maxLive int64
}

// Run runs the command and returns the exit status: 0, 1 for a trace or a
// measurement that failed or was cancelled, with the configurations until then, 2 for a
// command line that makes no sense.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		cli.Complain(stderr, "replay", err)
		return 2
	}
	if err := run(ctx, o, stdout, stderr); err != nil {
		cli.Complain(stderr, "replay", err)
		return 1
	}
	return 0
}

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.StringVar(&o.html, "html", "", "write a page with charts to `FILE`, in place of an older page")
	flags.StringVar(&o.only, "only", "", "measure only the configurations whose name contains `TEXT`, of\n"+configNames("\n"))
	cli.Int(flags, &o.rounds, "rounds", 5, 1, maxRounds, "`number` of timed rounds; the median counts")
	cli.Int(flags, &o.maxOps, "max-ops", defaultMaxOps, 1, math.MaxInt, "refuse a trace of more than `N` operations, each of which may take 150 bytes of memory")
	cli.Int(flags, &o.maxLive, "max-live", defaultMaxLive(), 1, math.MaxInt64, "refuse a trace that has more than `BYTES` live at once")
	if err := cli.Parse(flags, args, usage, stdout); err != nil {
		return o, err
	}
	o.files = flags.Args()
	flags.Visit(func(f *flag.Flag) { o.page = o.page || f.Name == "html" })
	switch {
	case slices.ContainsFunc(o.files, misplacedFlag):
		return o, fmt.Errorf("flags come before the files: %s", o.files[slices.IndexFunc(o.files, misplacedFlag)])
	case len(o.files) == 0:
		return o, errors.New("no trace given; \"gomem replay -h\" explains")
	case o.page && o.html == "":
		return o, cli.BadValue("html", o.html, "the name of a file")
	case len(selected(o.only)) == 0:
		return o, cli.BadValue("only", o.only, "a part of one of "+configNames(" "))
	}
	if first := slices.Index(o.files, stdin); slices.Contains(o.files[first+1:], stdin) && first >= 0 {
		return o, errors.New("the file -, standard input, is named twice")
	}
	return o, nil
}

// stdin is the file that stands for standard input.
const stdin = "-"

// title is what an error calls a file.
func title(file string) string {
	if file == stdin {
		return "standard input"
	}
	return file
}

// misplacedFlag reports that arg looks like a flag and is no file.
func misplacedFlag(arg string) bool {
	if !strings.HasPrefix(arg, "-") || arg == stdin {
		return false
	}
	_, err := os.Lstat(arg)
	return errors.Is(err, fs.ErrNotExist)
}

// maxRounds bounds the list of times.
const maxRounds = 1_000_000

// defaultMaxOps bounds what the operations of a trace take, beside the bytes of its
// blocks, to 3 GB: what they are, while it is read, and the table of blocks and what is
// measured of each, while it is replayed.
const defaultMaxOps = 20_000_000

// result is one trace with what was measured on it.
type result struct {
	Name     string
	Trace    *trace.Trace
	Outcomes []outcome
}

func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	var page *pageFile
	if o.html != "" {
		// Before the measurements, which may take long.
		var err error
		if page, err = openPage(ctx, o.html); err != nil {
			return fmt.Errorf("the page cannot be written: %w", err)
		}
		defer page.close()
	}
	var results []result
	names := traceNames(o.files)
	for i, file := range o.files {
		t, err := readTrace(ctx, file, trace.Limits{Ops: o.maxOps, Live: o.maxLive})
		if err != nil {
			return err
		}
		if len(t.Ops) == 0 {
			return fmt.Errorf("%s: the trace is empty", title(file))
		}
		results = append(results, result{Name: names[i], Trace: t})
	}
	progress := &progress{Line: cli.NewLine(stderr), total: len(results) * len(selected(o.only))}
	for i := range results {
		err := results[i].measure(ctx, o, progress)
		progress.Clear()
		if len(results[i].Outcomes) > 0 {
			err = errors.Join(err, printTable(stdout, results[i]))
		}
		if err != nil {
			return err
		}
	}
	if page == nil {
		return nil
	}
	if err := page.write(func(w io.Writer) error { return writePage(w, results) }); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	fmt.Fprintf(stdout, "charts: %s\n", cli.Printable(o.html))
	return nil
}

// measure runs the trace on each configuration, until one fails.
func (r *result) measure(ctx context.Context, o options, progress *progress) error {
	for _, c := range selected(o.only) {
		progress.step(r.Name + ", " + c.name)
		out, err := measure(ctx, c, r.Trace, o.rounds)
		if err != nil {
			return fmt.Errorf("%s on %s: %w", r.Name, c.name, err)
		}
		r.Outcomes = append(r.Outcomes, out)
	}
	return nil
}

// traceNames are what tells the files apart: their names, or the paths of those that have
// a name in common.
func traceNames(files []string) []string {
	count := map[string]int{}
	for _, file := range files {
		count[filepath.Base(file)]++
	}
	names := slices.Clone(files)
	for i, file := range files {
		switch base := filepath.Base(file); {
		case file == stdin:
			names[i] = title(file)
		case count[base] == 1:
			names[i] = base
		}
		names[i] = cli.Printable(names[i])
	}
	return names
}

// readTrace reads a file until ctx is done.
func readTrace(ctx context.Context, path string, limits trace.Limits) (*trace.Trace, error) {
	var in io.Reader
	var stop func() bool
	if path == stdin {
		in, stop = cli.Stdin(ctx)
	} else {
		f, err := cli.Open(ctx, path, os.O_RDONLY)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, stop = cli.ReadFrom(ctx, f)
	}
	defer stop()
	t, err := trace.Decode(in, limits)
	if system, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, system // names the file, and is not about an operation
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(path), err)
	}
	return t, nil
}

// defaultMaxLive is half of the machine's memory where that can be read, and
// 4 GiB, or 1 GiB for a 32-bit program, elsewhere.
func defaultMaxLive() int64 {
	const gib = 1 << 30
	most := int64(4 * gib)
	if ^uint(0)>>32 == 0 {
		return gib
	}
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return most
	}
	for line := range strings.Lines(string(info)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kib); n == 1 && kib > 0 {
			return kib << 10 / 2
		}
	}
	return most
}
