// Package relay is the command "gomem relay": it receives FLV streams over TCP
// and sends each frame to many subscribers, once with the frames of this
// module and once in the ordinary way, and says what each cost.
package relay

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gomem-go/gomem/cmd/gomem/internal/cli"
)

const usage = `usage: gomem relay [flags]

Publishes an FLV file over loopback TCP, relays each frame to every subscriber over
a TCP connection of its own, checks that all of them received exactly what was
published, and prints the cost: once with frames that are reference-counted views
of the blocks the kernel wrote (gomem), and once with bufio and a make per frame
(std). All other code is the same, writev included. Subscribers join before their
publisher and nothing is dropped: a full queue makes the publisher wait.

With -listen it is a relay for other programs, until interrupted. On one port

  a client that sends FLV             publishes the stream "live" (then live2, …)
  a client that sends "PUBLISH x\n"   and then FLV publishes the stream "x"
  a client that sends nothing         pulls "live" as FLV, after 300 ms
  a client that sends "GET /x"        pulls "x" as FLV over HTTP

for example

  gomem relay -listen 127.0.0.1:1985
  ffmpeg -re -i FILE -c copy -f flv tcp://127.0.0.1:1985
  ffplay -f flv tcp://127.0.0.1:1985
  ffplay http://127.0.0.1:1985/live.flv

A subscriber may connect before its publisher. One that connects later gets the
metadata and the codec configuration, then the stream from the next key frame on.
One that is too slow misses whole frames up to the next key frame, which are
counted, and delays nobody else; one that takes nothing for 10 s is disconnected.

The exit status is 0 if every byte arrived and all memory came back, or 1 if not, or 2
for wrong flags. An interrupt is an early end, and no error unless nothing was measured
before it.

`

// config is what the flags say.
type config struct {
	streams, subscribers int
	duration             time.Duration
	input                string
	engine               string
	listen               string
	realtime             bool

	corrupt func(f frame) // for tests: damages a frame on its way
}

// newEngine returns how to make the engine of that name, nil if there is none.
func newEngine(name string) func() engine {
	switch name {
	case "gomem":
		return newGomemEngine
	case "std":
		return newStdEngine
	}
	return nil
}

// Run is the command. It returns the exit status: 0 if every byte arrived and all
// memory came back, 1 if not, 2 for wrong flags. Canceling ctx ends it early, with 1 if
// nothing was measured until then.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		cli.Complain(stderr, "relay", err)
		return 2
	}
	if err := run(ctx, cfg, stdout, stderr); err != nil {
		cli.Complain(stderr, "relay", err)
		return 1
	}
	return 0
}

func parse(args []string, stdout io.Writer) (*config, error) {
	var cfg config
	flags := flag.NewFlagSet("relay", flag.ContinueOnError)
	const most = 1000
	cli.Int(flags, &cfg.streams, "streams", 2, 1, most, "`number` of publishers")
	cli.Int(flags, &cfg.subscribers, "subscribers", 8, 1, most, "`number` of subscribers of each stream")
	cli.Duration(flags, &cfg.duration, "duration", 4800*time.Millisecond, 100*time.Millisecond,
		"`time` to run each engine; with -listen, to serve, which has no end unless this is set")
	flags.StringVar(&cfg.input, "input", "", "FLV `file` to publish (default a built-in recording)")
	flags.StringVar(&cfg.engine, "engine", "both", "`name` of the engine: gomem, std or both; with -listen the default is gomem")
	flags.StringVar(&cfg.listen, "listen", "", "`address` to serve other programs on, such as 127.0.0.1:1985")
	flags.BoolVar(&cfg.realtime, "realtime", false, "pace the publishers by the timestamps of the file, once 2,048 frames have passed")
	if err := cli.Parse(flags, args, usage, stdout); err != nil {
		return nil, err
	}
	set := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	if cfg.listen != "" {
		if !set["duration"] {
			cfg.duration = 0
		}
		if !set["engine"] {
			cfg.engine = "gomem"
		}
	}
	return &cfg, cfg.check(flags, set)
}

func (cfg *config) check(flags *flag.FlagSet, set map[string]bool) error {
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case set["input"] && cfg.input == "":
		return cli.BadValue("input", cfg.input, "the name of a file")
	case set["listen"] && cfg.listen == "":
		return cli.BadValue("listen", cfg.listen, "an address such as 127.0.0.1:1985")
	case cfg.engine != "both" && newEngine(cfg.engine) == nil:
		return cli.BadValue("engine", cfg.engine, "gomem, std or both")
	case cfg.listen == "":
		return nil
	case cfg.engine == "both":
		return cli.BadValue("engine", cfg.engine, "gomem or std with -listen")
	}
	for _, name := range []string{"streams", "subscribers", "input", "realtime"} {
		if set[name] {
			return fmt.Errorf("-%s and -listen exclude each other", name)
		}
	}
	return nil
}

func run(ctx context.Context, cfg *config, stdout, stderr io.Writer) error {
	show := newProgress(stderr)
	if cfg.listen != "" {
		return serve(ctx, cfg, stdout, show)
	}
	in, err := load(ctx, cfg.input)
	if err != nil {
		return err
	}
	speed := "full speed"
	if cfg.realtime {
		speed = "the speed of the recording"
	}
	fmt.Fprintf(stdout, "%s (%d tags, %d bytes) at %s: %d streams, %d subscribers each, %v per engine\n",
		cli.Printable(in.name), len(in.cuts), len(in.tags), speed, cfg.streams, cfg.subscribers, cfg.duration)
	all, failed := measureAll(ctx, cfg, in, show)
	interrupt := context.Cause(ctx)
	switch {
	case len(all) > 0:
		printTable(stdout, all)
		if interrupt != nil {
			fmt.Fprintf(stderr, "gomem relay: %v; the figures are of the time until then\n", interrupt)
		}
	case failed == nil:
		failed = interrupt
	}
	if failed == nil {
		fmt.Fprintln(stdout, "every subscriber received exactly what was published; no memory is left in use")
	}
	return failed
}

// measureAll gives each engine that cfg asks for its time. Two of them take turns,
// the second in reverse order, so that whatever else the machine does meets both.
func measureAll(ctx context.Context, cfg *config, in *input, show *progress) (all []*figures, failed error) {
	turns := []string{cfg.engine}
	length := cfg.duration
	if cfg.engine == "both" {
		turns = []string{"gomem", "std", "std", "gomem"}
		length /= 2
	}
	for _, name := range turns {
		if ctx.Err() != nil {
			break
		}
		f, err := measure(ctx, cfg, length, in, newEngine(name)(), show)
		if err != nil {
			failed = errors.Join(failed, prefixLines(name, err))
		}
		if f == nil {
			continue
		}
		if i := slices.IndexFunc(all, func(o *figures) bool { return o.engine == name }); i >= 0 {
			all[i].add(f)
		} else {
			all = append(all, f)
		}
	}
	return all, failed
}

// prefixLines puts the engine's name before each line of err.
func prefixLines(engine string, err error) error {
	return errors.New(engine + ": " + strings.ReplaceAll(err.Error(), "\n", "\n"+engine+": "))
}

// serve is the relay for other programs.
func serve(ctx context.Context, cfg *config, stdout io.Writer, show *progress) (err error) {
	e := newEngine(cfg.engine)()
	srv, err := listen(cfg.listen, e)
	if err != nil {
		return errors.Join(fmt.Errorf("-listen %s: %w", cfg.listen, err), e.close())
	}
	srv.report = show.say
	var accepting sync.WaitGroup
	accepting.Go(srv.serve)
	show.say("listening on %v; interrupt to end", srv.listener.Addr())
	watch := newSampler(srv)
	defer watch.rss.close()
	show.reset()
	phase(ctx, e.name(), "listening for", cfg.duration, watch, show)
	f := watch.end()
	srv.close()
	accepting.Wait()
	show.clear()
	printTable(stdout, []*figures{f})
	if n := srv.count.faults.Load(); n > 0 {
		fmt.Fprintf(stdout, "%d clients were sent away or cut off\n", n)
	}
	return e.close()
}
