package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

// withStdin makes from standard input for the time of a test.
func withStdin(t *testing.T, from *os.File) {
	old := os.Stdin
	os.Stdin = from
	t.Cleanup(func() { os.Stdin = old; from.Close() })
}

func TestStdin(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	withStdin(t, from)
	go func() {
		io.WriteString(to, "all of it")
		to.Close()
	}()
	in, stop := Stdin(t.Context())
	defer stop()
	if b, err := io.ReadAll(in); string(b) != "all of it" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// Who waits for input that does not come ends with the context.
func TestStdinThatIsQuiet(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	withStdin(t, from)
	interrupted := errors.New("interrupted")
	ctx, interrupt := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { interrupt(interrupted) })
	in, stop := Stdin(ctx)
	defer stop()
	if b, err := io.ReadAll(in); len(b) > 0 || !errors.Is(err, interrupted) {
		t.Errorf("%q, %v", b, err)
	}
}
