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
// complete, so that path never holds half a page.
type pageFile struct {
	path string
	f    *os.File // nil once written or discarded
}

// createPage makes the file beside path. Errors: what the system says, and
// fs.ErrExist if path is something that a file cannot take the place of.
func createPage(path string) (*pageFile, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory: %w", path, fs.ErrExist)
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
	err := fill(out)
	if err = errors.Join(err, out.Flush(), p.f.Chmod(0o644), p.f.Close()); err != nil {
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
	if p.f != nil {
		// Nothing of it was asked for, so nobody has to know if it stays.
		_, _ = p.f.Close(), os.Remove(p.f.Name())
		p.f = nil
	}
}
