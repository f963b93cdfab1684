// Command gomem shows how this module performs on real work.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/gomem-go/gomem/cmd/gomem/internal/cli"
	"github.com/gomem-go/gomem/cmd/gomem/internal/relay"
	"github.com/gomem-go/gomem/cmd/gomem/internal/replay"
	"github.com/gomem-go/gomem/cmd/gomem/internal/soak"
	"github.com/gomem-go/gomem/cmd/gomem/internal/wcet"
)

// command is one thing the program can do.
type command struct {
	name, help string
	run        func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

var commands = []command{
	{"relay", "send FLV streams to many TCP subscribers without copying, and compare with bufio", relay.Run},
	{"replay", "replay an allocation trace on every placement, over mmap, huge pages and the Go heap", replay.Run},
	{"soak", "load an allocator from many goroutines and check everything it promises", soak.Run},
	{"wcet", "time single operations of the real-time pool, up to the worst case", wcet.Run},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// endings are the signals at which a command stops early and prints what it has: an
// interrupt, a kill and, where there is one, the end of the terminal, unless who started
// the program has that ignored: nohup does, and a shell for what it runs in the background.
func endings() []os.Signal {
	list := append([]os.Signal{os.Interrupt, syscall.SIGTERM}, hangup...)
	return slices.DeleteFunc(list, signal.Ignored)
}

// run returns the exit status: that of the command, 2 if there is no such command,
// or 1 if output was lost, which an error says like those of the command.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &output{w: stdout}
	status := dispatch(ctx, args, out, stderr)
	if status == 0 && out.err != nil {
		name := args[0]
		if isHelp(name) {
			name = "help"
		}
		cli.Complain(stderr, name, out.err)
		return 1
	}
	return status
}

// output remembers the first error of a write, for the commands that print much
// without checking for errors.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		printHelp(stderr)
		return 2
	}
	if isHelp(args[0]) {
		if len(args) > 2 {
			cli.Complain(stderr, "help", fmt.Errorf("unexpected argument %q", args[2]))
			return 2
		}
		if len(args) == 1 || isHelp(args[1]) {
			printHelp(stdout)
			return 0
		}
		if status, ok := runCommand(ctx, args[1], []string{"-h"}, stdout, stderr); ok {
			return status
		}
		args = args[1:]
	}
	if status, ok := runCommand(ctx, args[0], args[1:], stdout, stderr); ok {
		return status
	}
	fmt.Fprintf(stderr, "gomem: unknown command %q; \"gomem help\" lists them\n", args[0])
	return 2
}

// isHelp reports that arg asks for help, as the flags of the commands do.
func isHelp(arg string) bool {
	return slices.Contains([]string{"help", "-h", "-help", "--help"}, arg)
}

// runCommand returns the exit status of a command, and whether there is such a
// command.
func runCommand(ctx context.Context, name string, args []string, stdout, stderr io.Writer) (status int, ok bool) {
	for _, c := range commands {
		if c.name == name {
			return c.run(ctx, args, stdout, stderr), true
		}
	}
	return 2, false
}

func printHelp(w io.Writer) {
	fmt.Fprint(w, "usage: gomem command [flags]\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.help)
	}
	fmt.Fprint(w, "\n\"gomem help command\" explains a command.\n")
}
