package replay

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunStopsAtABadTrace(t *testing.T) {
	good := writeTrace(t, "good", program(2, 100))
	for _, c := range []struct {
		name, want string
		content    []byte
	}{
		{"truncated", "operation 1: the trace is truncated", []byte{1, 0, 0, 0, 2}},
		{"unknown", "operation 1: free of an unknown id", []byte{1, 0, 0, 0, 7, 0, 0, 128}},
		{"twice", "operation 2: id freed twice", []byte{1, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 128}},
		{"huge", "operation 0: the trace is past the limit", []byte{255, 255, 255, 127}},
		{"unsorted", "line 2, operation 1: ids are not in order", []byte("malloc 0 1\nmalloc 7 1\n")},
		{"words", "line 1, operation 0: not an operation", []byte("hello, world\n")},
		{"empty", "the trace is empty", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			html := filepath.Join(t.TempDir(), "page.html")
			bad := writeBytes(t, "bad", c.content)
			var stdout, stderr bytes.Buffer
			args := []string{"-max-live", "1000000", "-html", html, good, bad}
			if status := Run(t.Context(), args, &stdout, &stderr); status != 1 {
				t.Errorf("status %d", status)
			}
			if !strings.Contains(stderr.String(), c.want) {
				t.Errorf("printed %q, want %q", stderr.String(), c.want)
			}
			if stdout.Len() > 0 {
				t.Errorf("a table was printed before all files were checked: %s", stdout.String())
			}
			if _, err := os.Stat(html); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the page exists: %v", err)
			}
		})
	}
}

// A trace of more operations than asked for is refused at the first one too many.
func TestRunStopsAtALongTrace(t *testing.T) {
	path := writeBytes(t, "long", []byte("malloc 0 1\nmalloc 1 1\nmalloc 2 1\n"))
	for most, want := range map[string]int{"2": 1, "3": 0} {
		var stdout, stderr bytes.Buffer
		args := []string{"-max-ops", most, "-rounds", "1", "-only", "two trees, heap", path}
		if status := Run(t.Context(), args, &stdout, &stderr); status != want {
			t.Errorf("with -max-ops %s: status %d, %s", most, status, stderr.String())
		}
		if want == 1 && !strings.Contains(stderr.String(), "line 3, operation 2: the trace is past the limit") {
			t.Errorf("printed %q", stderr.String())
		}
	}
}
