package replay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gomem-go/gomem/cmd/gomem/internal/cli"
)

// pageFile is a page to come. It is made beside path and takes its place when it is
// complete, so that path never holds half a page. What is no file, as a pipe or a
// device, is written to as it is.
type pageFile struct {
	path string   // empty if f is what was named
	f    *os.File // what was named, until it is closed
}

// openPage finds out whether a file can be made beside path, or where path leads
// to. None is left there: a second interrupt, or a pipe that nobody reads any more,
// ends the program without a chance to remove it. Errors: what the system says,
// syscall.EISDIR for a directory, errNoPage for a file that no page may replace, and
// errPrinted for one that standard output or errors go to.
func openPage(ctx context.Context, path string) (*pageFile, error) {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		if target, err := os.Readlink(path); err == nil {
			if !filepath.IsAbs(target) {
				dir, err := filepath.EvalSymlinks(filepath.Dir(path))
				if err != nil {
					return nil, err
				}
				target = filepath.Join(dir, target)
			}
			return openPage(ctx, target)
		}
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		f, err := cli.Open(ctx, path, os.O_WRONLY)
		if err != nil {
			return nil, err
		}
		return &pageFile{f: f}, nil
	default:
		for _, f := range []*os.File{os.Stdout, os.Stderr} {
			if printed, err := f.Stat(); err == nil && os.SameFile(info, printed) {
				return nil, &fs.PathError{Op: "replace", Path: path, Err: errPrinted}
			}
		}
		if err := replaceable(path); err != nil {
			return nil, err
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	f, err := createBeside(path)
	if err != nil {
		return nil, err
	}
	return &pageFile{path: path}, remove(f)
}

// pageStart is what each page of HTML begins with, that of another version, too.
const pageStart = "<!DOCTYPE html>"

var (
	errNoPage  = errors.New("there is a file that is not empty and no page of HTML")
	errPrinted = errors.New("what is printed goes to this file")
)

// replaceable returns an error if path is a file that is neither empty nor a page: after
// "-html *.trace" it is the first trace.
func replaceable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	start := make([]byte, len(pageStart))
	switch n, err := io.ReadFull(f, start); {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case n > 0 && !strings.EqualFold(string(start[:n]), pageStart):
		return &fs.PathError{Op: "replace", Path: path, Err: errNoPage}
	}
	return nil
}

// createBeside makes a file with a short name of its own, and with the permissions that any
// new file gets; errors name path.
func createBeside(path string) (*os.File, error) {
	for {
		name := fmt.Sprintf(".gomem-%d", rand.Uint32())
		f, err := os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, about(path, err)
		}
	}
}

// about is err with path in place of the name that only this package knows.
func about(path string, err error) error {
	if system, ok := errors.AsType[*fs.PathError](err); ok {
		system.Path = path
	}
	if system, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: system.Op, Path: path, Err: system.Err}
	}
	return err
}

func remove(f *os.File) error { return errors.Join(f.Close(), os.Remove(f.Name())) }

// write has fill write the page.
func (p *pageFile) write(fill func(io.Writer) error) error {
	if p.path == "" {
		return fillFile(p.f, fill)
	}
	f, err := createBeside(p.path)
	if err != nil {
		return err
	}
	err = fillFile(f, fill)
	if older, statErr := os.Stat(p.path); err == nil && statErr == nil && older.Mode().IsRegular() {
		if err = replaceable(p.path); err == nil { // it may have come meanwhile
			err = f.Chmod(older.Mode().Perm())
		}
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), p.path)
	}
	if err != nil {
		_ = remove(f) // why there is no page is what matters
	}
	return about(p.path, err)
}

func fillFile(f *os.File, fill func(io.Writer) error) error {
	out := bufio.NewWriter(f)
	if err := fill(out); err != nil {
		return err
	}
	return out.Flush()
}

// close is for who is done with the page, written or not.
func (p *pageFile) close() {
	if p.f != nil {
		_ = p.f.Close() // what was written has been flushed
	}
}
