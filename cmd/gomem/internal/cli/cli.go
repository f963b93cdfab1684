// Package cli is what the commands do alike with their arguments and their output.
package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Open opens a file, and no directory, as os.OpenFile does, until ctx is done: who opens a
// named pipe waits for somebody at its other end.
func Open(ctx context.Context, path string, flag int) (*os.File, error) {
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened)
	go func() {
		f, err := openFile(path, flag)
		select {
		case done <- opened{f, err}:
		case <-ctx.Done():
			if err == nil {
				f.Close()
			}
		}
	}()
	select {
	case o := <-done:
		return o.f, o.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", path, context.Cause(ctx)) // and so does the program
	}
}

// openFile opens a file. What systems say of a directory differs, and may be said by Read only.
func openFile(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	return f, nil
}

// ReadFrom returns a reader of f until ctx is done, also where f has nothing to read for
// long; stop ends the wait for ctx.
func ReadFrom(ctx context.Context, f *os.File) (r io.Reader, stop func() bool) {
	return reader{ctx, f}, context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Now()) })
}

// Stdin returns a reader of standard input until ctx is done. It waits in a goroutine of
// its own, because a deadline does not end the wait for a terminal or a pipe of another
// program; one that never gets more stays behind, until the program ends.
func Stdin(ctx context.Context) (r io.Reader, stop func() bool) {
	from, to := io.Pipe()
	go func(f *os.File) {
		_, err := io.Copy(to, f)
		to.CloseWithError(err)
	}(os.Stdin)
	cancel := context.AfterFunc(ctx, func() { from.CloseWithError(context.Cause(ctx)) })
	return reader{ctx, from}, func() bool { from.Close(); return cancel() }
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
