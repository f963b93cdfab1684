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

// TestOpenTooLate: a file that nobody waits for any more is closed.
func TestOpenTooLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if _, err := Open(ctx, path, os.O_WRONLY); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	f, err := os.Open(path) // as soon as it is open at both ends
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_ = f.SetReadDeadline(time.Now().Add(10 * time.Second))
	if b, err := io.ReadAll(f); err != nil || len(b) > 0 {
		t.Errorf("read %q, %v from a pipe that was to be closed", b, err)
	}
}
