//go:build unix

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOpenEnds: who opens a pipe that has nobody at its other end, or reads one that has
// nothing in it, ends with ctx.
func TestOpenEnds(t *testing.T) {
	ended := errors.New("ended")
	read := func(ctx context.Context, path string) error {
		f, err := Open(ctx, path, os.O_RDONLY)
		if err != nil {
			return err
		}
		defer f.Close()
		r, stop := ReadFrom(ctx, f)
		defer stop()
		_, err = io.ReadAll(r)
		return err
	}
	write := func(ctx context.Context, path string) error {
		_, err := Open(ctx, path, os.O_WRONLY)
		return err
	}
	for _, c := range []struct {
		name     string
		call     func(context.Context, string) error
		otherEnd int // how it is opened, -1 if not at all
	}{
		{"read", read, -1}, {"write", write, -1}, {"read nothing", read, os.O_RDWR},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		if c.otherEnd >= 0 {
			f, err := os.OpenFile(path, c.otherEnd, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
		}
		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { end(ended) })
		done := make(chan error, 1)
		go func() { done <- c.call(ctx, path) }()
		select {
		case err := <-done:
			if !errors.Is(err, ended) {
				t.Errorf("%s: %v", c.name, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: does not end", c.name)
		}
	}
}
