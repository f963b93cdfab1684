// Package cli is what the commands do alike with their arguments and their output.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// Parse parses args and prints nothing about an error, which the caller prints in
// one line with the name of the command. If help is asked for it prints usage and
// the flags to out; the error is flag.ErrHelp then.
func Parse(flags *flag.FlagSet, args []string, usage string, out io.Writer) error {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usage)
		flags.SetOutput(out)
		flags.PrintDefaults()
	}
	return err
}

// Open opens a file as os.OpenFile does, until ctx is done: who opens a named pipe waits
// for somebody at its other end.
func Open(ctx context.Context, path string, flag int) (*os.File, error) {
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.OpenFile(path, flag, 0)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		return o.f, o.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", path, context.Cause(ctx)) // and so does the program
	}
}

// ReadFrom returns a reader of f until ctx is done, also where f has nothing to read for
// long; stop ends the wait for ctx.
func ReadFrom(ctx context.Context, f *os.File) (r io.Reader, stop func() bool) {
	return reader{ctx, f}, context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Now()) })
}

// reader is r until ctx is done.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.r.Read(p)
	if err != nil && r.ctx.Err() != nil {
		err = context.Cause(r.ctx)
	}
	return n, err
}
