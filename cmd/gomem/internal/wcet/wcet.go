package wcet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/gomem-go/gomem/cmd/gomem/internal/cli"
)

const intro = `usage: gomem wcet [flags]

Times single operations of a tlsf pool, one by one, in all situations that take
different work, and prints quantiles and histograms. The times include the clock
and whatever else the machine does meanwhile: run it alone, pinned to a processor
if you can. The tests of package tlsf show under the tag gomem_steps that the
number of steps does not depend on the state of the pool; this command shows what
the steps cost.

The exit status is 0, or 1 if something failed or an interrupt came first, or 2 for
wrong flags. The rows measured before an interrupt are printed.

`

// limits of the flags, in MiB where they are sizes.
const (
	maxSamples = 10_000_000 // 80 MB, beside the pool and a quarter of it for tables
	maxEvict   = 1 << 10
	maxPool    = 1 << 10
)

// Run runs the command and returns its exit status: 0, 1 if it failed or was
// cancelled, with the rows until then, 2 if the arguments are wrong.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		cli.Complain(stderr, "wcet", err)
		return 2
	}
	line := cli.NewLine(stderr)
	rows, err := measure(ctx, s, func(done, all int) { line.Show(fmt.Appendf(nil, "%d of %d rows", done, all)) })
	line.Clear()
	if len(rows) > 0 {
		err = errors.Join(err, report(stdout, s, rows))
	}
	if err != nil {
		cli.Complain(stderr, "wcet", err)
		return 1
	}
	return 0
}

// parse reads the flags. The error is flag.ErrHelp if help was asked for, and
// given.
func parse(args []string, stdout io.Writer) (settings, error) {
	flags := flag.NewFlagSet("wcet", flag.ContinueOnError)
	var samples, pool, evict int
	cli.Int(flags, &samples, "samples", 10_000, 1, maxSamples, "`number` of operations timed per row")
	cli.Int(flags, &pool, "pool", 64, 1, maxPool, "size of the pool in `MiB`")
	cli.Int(flags, &evict, "evict", 8, 0, maxEvict, "`MiB` written before each sample of the cold rows; 0 leaves those rows out")
	locked := flags.Bool("lock", false, "lock the pool in memory")
	histogram := flags.Bool("histogram", true, "draw histograms")
	if err := cli.Parse(flags, args, intro, stdout); err != nil {
		return settings{}, err
	}
	if flags.NArg() > 0 {
		return settings{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return settings{
		samples:   samples,
		poolBytes: pool << 20,
		evict:     evict << 20,
		locked:    *locked,
		histogram: *histogram,
	}, nil
}
