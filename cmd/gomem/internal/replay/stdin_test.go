package replay

import (
	"bytes"
	"compress/gzip"
	"os"
	"strings"
	"testing"
)

// withStdin makes content standard input for the time of a test.
func withStdin(t *testing.T, content []byte) {
	f, err := os.Open(writeBytes(t, "stdin", content))
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdin
	os.Stdin = f
	t.Cleanup(func() { os.Stdin = old; f.Close() })
}

// The file - is standard input, compressed or not, beside other files.
func TestRunReadsStandardInput(t *testing.T) {
	text := []byte("malloc 0 100\nmalloc 1 50\nfree 0\n")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(text)
	z.Close()
	other := writeBytes(t, "other", text)
	for _, content := range [][]byte{text, packed.Bytes()} {
		for _, files := range [][]string{{"-"}, {other, "-"}} {
			withStdin(t, content)
			var stdout, stderr bytes.Buffer
			args := append([]string{"-rounds", "1", "-only", "two trees, heap"}, files...)
			if status := Run(t.Context(), args, &stdout, &stderr); status != 0 || !strings.Contains(stdout.String(), "standard input: 3 operations recorded") {
				t.Errorf("%q: status %d, %q, %q", files, status, &stdout, &stderr)
			}
		}
	}
}

// What is wrong with it is said of standard input, and it is read only once.
func TestRunRefusesStandardInput(t *testing.T) {
	for _, c := range []struct {
		content, want string
		files         []string
		status        int
	}{
		{"", "gomem replay: standard input: the trace is empty\n", []string{"-"}, 1},
		{"words\n", "gomem replay: standard input: line 1, operation 0: ", []string{"-"}, 1},
		{"malloc 0 1\n", "gomem replay: the file -, standard input, is named twice\n", []string{"-", "-"}, 2},
	} {
		withStdin(t, []byte(c.content))
		var stdout, stderr bytes.Buffer
		if status := Run(t.Context(), c.files, &stdout, &stderr); status != c.status || !strings.HasPrefix(stderr.String(), c.want) {
			t.Errorf("%q: status %d, %q, want %q", c.content, status, &stderr, c.want)
		}
	}
}
