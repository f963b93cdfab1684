package replay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	html := filepath.Join(t.TempDir(), "page.html")
	var stdout, stderr bytes.Buffer
	status := Run(ctx, []string{"-html", html, writeTrace(t, "t", program(3, 100))}, &stdout, &stderr)
	if status != 1 || !strings.Contains(stderr.String(), "context canceled") {
		t.Errorf("status %d: %s", status, stderr.String())
	}
	if _, err := os.Stat(html); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the page exists: %v", err)
	}
}

// calls is a writer that calls a function with what is written.
type calls func(text string)

func (c calls) Write(p []byte) (int, error) { c(string(p)); return len(p), nil }

// What was measured until an interrupt is printed; the page that was there stays.
func TestRunStopsWithTheConfigurationsUntilThen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	all := configs()
	html := writeBytes(t, "page.html", []byte(pageStart))
	var stdout bytes.Buffer
	stderr := calls(func(text string) {
		if strings.Contains(text, all[2].name) {
			cancel()
		}
	})
	if status := Run(ctx, []string{"-rounds", "1", "-html", html, writeTrace(t, "t", program(3, 100))}, &stdout, stderr); status != 1 {
		t.Errorf("status %d", status)
	}
	for i, c := range all {
		if strings.Contains(stdout.String(), c.name+"  ") != (i < 2) {
			t.Errorf("%s is printed: %v\n%s", c.name, i >= 2, &stdout)
		}
	}
	if b, err := os.ReadFile(html); err != nil || string(b) != pageStart {
		t.Errorf("the page became %q, %v", b, err)
	}
}

// An interrupt ends the reading, which takes as long as the file is large.
func TestRunStopsWhileItReads(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	bad := writeBytes(t, "bad", []byte("malloc 0 1\nmalloc 7 1\n"))
	if status := Run(ctx, []string{bad}, io.Discard, &stderr); status != 1 || !strings.Contains(stderr.String(), "context canceled") {
		t.Errorf("status %d: %s", status, &stderr)
	}
}
