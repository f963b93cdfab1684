package replay

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// The page goes where a link leads, and the link stays.
func TestPageBehindALink(t *testing.T) {
	path := writeBytes(t, "page.html", []byte("old"))
	link := filepath.Join(t.TempDir(), "link.html")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	writeText(t, link, "new")
	if b, err := os.ReadFile(path); err != nil || string(b) != "new" {
		t.Errorf("the page holds %q, %v", b, err)
	}
	if to, err := os.Readlink(link); err != nil || to != path {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

// What is no file is written to, and not replaced by one.
func TestPageIntoAPipe(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := fmt.Sprintf("/dev/fd/%d", to.Fd())
	if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Skip("the system names no open files")
	}
	writeText(t, path, "a page")
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(from); err != nil || string(b) != "a page" {
		t.Errorf("the pipe got %q, %v", b, err)
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	page, err := createPage(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := page.write(func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		t.Fatal(err)
	}
}
