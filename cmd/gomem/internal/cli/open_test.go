package cli

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

func TestOpenNoDirectory(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(t.Context(), dir, os.O_RDONLY)
	if path, ok := errors.AsType[*os.PathError](err); !ok || path.Path != dir || !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a directory: %v", err)
	}
}
