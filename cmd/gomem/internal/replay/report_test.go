package replay

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// A value that rounds to a thousand of a unit is one of the next.
func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 1_000_000: "1.0 MB",
		999_949_999: "999.9 MB", 999_950_000: "1.00 GB", 1_000_000_000: "1.00 GB", 1_500_000_000_000: "1500.00 GB",
	} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// What cannot be read, or written, is named once and as the user named it.
func TestRunNamesWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	good := writeTrace(t, "good", program(2, 100))
	page := filepath.Join(dir, "none", "x.html")
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{dir}, 1, "gomem replay: read " + dir + ": "},
		{[]string{"-html", page, good}, 1, "gomem replay: the page cannot be written: open " + page + ": "},
		{[]string{good, "-rounds", "1"}, 2, "gomem replay: flags come before the files: -rounds"},
	} {
		var stdout, stderr bytes.Buffer
		if status := Run(t.Context(), c.args, &stdout, &stderr); status != c.status || !strings.HasPrefix(stderr.String(), c.want) {
			t.Errorf("%q: status %d, want %d; %q, want %q", c.args, status, c.status, &stderr, c.want)
		}
	}
}
