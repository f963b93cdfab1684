package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gomem-go/gomem/internal/trace"
)

// makeLink makes path a link that leads to what is named to, where the system has any.
func makeLink(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Skip(err)
	}
	if _, err := os.Readlink(path); err != nil {
		t.Skip("a link is none: ", err)
	}
}

// The page goes where a link leads, and the link stays.
func TestPageBehindALink(t *testing.T) {
	path := writeBytes(t, "page.html", []byte("<!doctype html>\nold"))
	link := filepath.Join(t.TempDir(), "link.html")
	makeLink(t, path, link)
	writeText(t, link, "new")
	if b, err := os.ReadFile(path); err != nil || string(b) != "new" {
		t.Errorf("the page holds %q, %v", b, err)
	}
	if to, err := os.Readlink(link); err != nil || to != path {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

// A file that is no page stays what it is: the shell makes "-html *.trace" name a trace.
func TestPageOverAnotherFile(t *testing.T) {
	for text, want := range map[string]error{
		"":                            nil,
		"<!DOCTYPE html>":             nil,
		"<!doctype HTML>\n<p>old":     nil,
		"<!DOCTYPE":                   errNoPage,
		"# gomem trace\nmalloc 100\n": errNoPage,
	} {
		path := writeBytes(t, "first.trace", []byte(text))
		page, err := openPage(t.Context(), path)
		if !errors.Is(err, want) {
			t.Errorf("over %q: %v, not %v", text, err, want)
		}
		if err == nil {
			page.close()
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q became %q, %v", text, b, err)
		}
	}
	if !strings.HasPrefix(pageText, pageStart) {
		t.Error("the next page would not replace this one")
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

// A link to what is not there yet leads to the page.
func TestPageBehindALinkToNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "other", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	const to = "../page.html"
	link, path := filepath.Join(dir, "deep", "link.html"), filepath.Join(dir, "other", "page.html")
	makeLink(t, "other/deep", filepath.Join(dir, "deep"))
	makeLink(t, to, link)
	writeText(t, link, "new")
	if b, err := os.ReadFile(path); err != nil || string(b) != "new" {
		t.Errorf("the page holds %q, %v", b, err)
	}
	if now, err := os.Readlink(link); err != nil || now != to {
		t.Errorf("the link leads to %q, %v", now, err)
	}
}

// A page has the permissions of any new file, and keeps those of the one before it.
func TestPagePermissions(t *testing.T) {
	dir := t.TempDir()
	reference, err := os.Create(filepath.Join(dir, "any"))
	if err != nil {
		t.Fatal(err)
	}
	defer reference.Close()
	info, err := reference.Stat()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "page.html")
	wantMode := func(want os.FileMode) {
		t.Helper()
		writeText(t, path, pageStart)
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("the page is %v, want %v, %v", info.Mode(), want, err)
		}
	}
	wantMode(info.Mode())
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(path); err != nil {
		t.Fatal(err)
	}
	wantMode(info.Mode())
}

// What the system says of the file that becomes the page names the page.
func TestPageErrorsNameIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	page, err := openPage(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer page.close()
	err = page.write(func(w io.Writer) error {
		return &os.PathError{Op: "write", Path: path + "-123", Err: syscall.ENOSPC}
	})
	if want := "write " + path + ": "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s...", err, want)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	err = page.write(func(io.Writer) error { return nil })
	if want := "rename " + path + ": "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s...", err, want)
	}
}

// A trace from a pipe that nobody writes to ends with the interrupt.
func TestTraceFromAQuietPipe(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	defer to.Close()
	path := fmt.Sprintf("/dev/fd/%d", from.Fd())
	if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Skip("the system names no open files")
	}
	interrupted := errors.New("interrupted")
	ctx, interrupt := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { interrupt(interrupted) })
	done := make(chan error)
	go func() {
		_, err := readTrace(ctx, path, trace.Limits{})
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, interrupted) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("reading ends with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the interrupt does not end the wait")
	}
}

// Nothing lies beside the page while the traces are measured: who is killed then
// removes nothing.
func TestPageToCome(t *testing.T) {
	dir := t.TempDir()
	page, err := openPage(t.Context(), filepath.Join(dir, "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	defer page.close()
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("made too early: %v, %v", names, err)
	}
}

// What comes to lie there meanwhile is not replaced either, unless it is a page.
func TestPageOverWhatCameMeanwhile(t *testing.T) {
	for text, want := range map[string]error{"notes": errNoPage, "<!DOCTYPE html>\n": nil} {
		path := filepath.Join(t.TempDir(), "page.html")
		page, err := openPage(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := page.write(func(io.Writer) error { return nil }); !errors.Is(err, want) {
			t.Errorf("over %q: %v, not %v", text, err, want)
		}
		if b, err := os.ReadFile(path); want != nil && (err != nil || string(b) != text) {
			t.Errorf("%q became %q, %v", text, b, err)
		}
		page.close()
		if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 {
			t.Errorf("left %v, %v", names, err)
		}
	}
}

// The file that the table or the progress goes to is not the page as well: it would lose
// what was printed.
func TestPageWhereTheTableGoes(t *testing.T) {
	path := writeBytes(t, "out", nil)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, out := range map[string]**os.File{"stdout": &os.Stdout, "stderr": &os.Stderr} {
		old := *out
		*out = f
		_, err := openPage(t.Context(), path)
		*out = old
		if !errors.Is(err, errPrinted) {
			t.Errorf("over %s: %v", name, err)
		}
	}
}

// A page may have the longest name that there is.
func TestPageOfALongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("x", 255))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Skip("a name of 255 bytes is too long here")
	}
	writeText(t, path, "a page")
	if b, err := os.ReadFile(path); err != nil || string(b) != "a page" {
		t.Errorf("the page holds %q, %v", b, err)
	}
}

// A device that takes nothing is one reason, not two.
func TestPageOnAFullDevice(t *testing.T) {
	page, err := openPage(t.Context(), "/dev/full")
	if err != nil || page.path != "" {
		t.Skip("the system has no such device")
	}
	defer page.close()
	long := strings.Repeat("x", 1<<16)
	err = page.write(func(w io.Writer) error { _, err := io.WriteString(w, long); return err })
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("write: %v", err)
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	page, err := openPage(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer page.close()
	if err := page.write(func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		t.Fatal(err)
	}
}
