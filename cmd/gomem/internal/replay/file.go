package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// pageFile is a file that is made beside path and takes its place when it is
// complete, so that path never holds half a page. What is no file, as a pipe or a
// device, is written to as it is.
type pageFile struct {
	path string   // empty if f is what was named
	f    *os.File // nil once written or discarded
}

// createPage makes the file beside path, or where path leads to. Errors: what the
// system says, and fs.ErrExist for a directory.
func createPage(path string) (*pageFile, error) {
	if info, err := os.Stat(path); err == nil {
		switch {
		case info.IsDir():
			return nil, fmt.Errorf("%s is a directory: %w", path, fs.ErrExist)
		case !info.Mode().IsRegular():
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return nil, err
			}
			return &pageFile{f: f}, nil
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return nil, err
	}
	return &pageFile{path: path, f: f}, nil
}

// write has fill write the file and puts it in the place of path, if that
// succeeded.
func (p *pageFile) write(fill func(io.Writer) error) error {
	defer p.discard()
	out := bufio.NewWriter(p.f)
	err := errors.Join(fill(out), out.Flush())
	if p.path == "" {
		return err
	}
	if err = errors.Join(err, p.f.Chmod(0o644), p.f.Close()); err != nil {
		return err
	}
	if err := os.Rename(p.f.Name(), p.path); err != nil {
		return err
	}
	p.f = nil
	return nil
}

// discard removes the file unless it was written.
func (p *pageFile) discard() {
	if p.f == nil {
		return
	}
	// Nothing of it was asked for, so nobody has to know if it stays.
	_ = p.f.Close()
	if p.path != "" {
		_ = os.Remove(p.f.Name())
	}
	p.f = nil
}
