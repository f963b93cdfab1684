package soak

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/cmd/gomem/internal/cli"
)

const intro = `usage: gomem soak [flags]

Loads an allocator with blocks of all sizes from many goroutines at a time, for as
long as you like, and meanwhile checks everything it promises. At the first broken
promise it ends and prints the seed and the operation.

The exit status is 0 if no promise was broken, or 1 if one was, or 2 for wrong flags.
An interrupt is an early end, and no error.

`

var placements = map[string]gomem.Placement{
	"sizeclasses": gomem.SizeClasses,
	"tlsf":        gomem.TLSF,
	"singletree":  gomem.SingleTree,
	"twotree":     gomem.TwoTree,
}

var backings = map[string]func() backing.Source{
	"heap": backing.Heap,
	"mmap": func() backing.Source { return backing.Mmap() },
}

// settings is what the flags say.
type settings struct {
	duration           time.Duration
	goroutines         int
	seed               uint64
	placement, backing string
	live               int // bytes to have live in a plateau
	debug, sample      bool
}

const (
	maxGoroutines = 100_000
	maxLive       = min(1<<14, math.MaxInt>>20) // MiB
)

// Run runs the command and returns its exit status: 0, 1 if a promise was
// broken, 2 if the arguments are wrong. A load that is cancelled ends with what
// it has found until then.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		cli.Complain(stderr, "soak", err)
		return 2
	}
	fmt.Fprintf(stdout, "seed %d, %v, up to %d goroutines, %s over %s\n", s.seed, s.duration, s.goroutines, s.placement, s.backing)
	l := newLoad(s)
	err = l.run(ctx, stderr)
	l.report(stdout)
	if err != nil {
		cli.Complain(stderr, "soak", err)
		return 1
	}
	return 0
}

// parse reads the flags. The error is flag.ErrHelp if help was asked for, and
// given.
func parse(args []string, stdout io.Writer) (settings, error) {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	var s settings
	cli.Duration(flags, &s.duration, "duration", time.Minute, time.Millisecond, "`time` to run")
	cli.Int(flags, &s.goroutines, "goroutines", 1000, 1, maxGoroutines, "maximum `number` of goroutines at a time")
	flags.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "`number` that decides every operation; the default is the time")
	flags.StringVar(&s.placement, "placement", "sizeclasses", "`name` of the placement: "+names(placements))
	flags.StringVar(&s.backing, "backing", "mmap", "`name` of the backing: "+names(backings))
	cli.Int(flags, &s.live, "live", 64, 1, maxLive, "`MiB` to keep live in a plateau; on top come about 4, on their way from one goroutine\nto another, and a few KiB of each goroutine")
	flags.BoolVar(&s.debug, "debug", false, "put the allocator into debug mode")
	flags.BoolVar(&s.sample, "sample", false, "put some blocks between guard pages")
	flags.Lookup("seed").DefValue = "0" // not worth printing
	if err := cli.Parse(flags, args, intro, stdout); err != nil {
		return s, err
	}
	var err error
	_, placed := placements[s.placement]
	switch {
	case !placed:
		err = cli.BadValue("placement", s.placement, names(placements))
	case backings[s.backing] == nil:
		err = cli.BadValue("backing", s.backing, names(backings))
	case s.debug && s.sample:
		err = errors.New("-debug and -sample exclude each other: debug mode watches every block")
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	s.live <<= 20
	return s, err
}

// names are those of a choice, of two or more.
func names[T any](choice map[string]T) string {
	list := slices.Sorted(maps.Keys(choice))
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}
