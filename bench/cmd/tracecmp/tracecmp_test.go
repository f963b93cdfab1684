package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tiny.trace")
	if err := os.WriteFile(file, []byte("malloc 0 100\nmalloc 1 64\nfree 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	args := []string{"-passes", "1", "-native=false", "-impl", "gomem,mcache", file}
	if err := run(t.Context(), args, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for _, want := range []string{"trace=tiny ops=4", "gomem", "mcache"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in:\n%s", want, stdout.String())
		}
	}
}

func TestRunRefuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.trace")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"unknown allocator": {"-impl", "abacus"},
		"no such file":      {"-native=false", filepath.Join(t.TempDir(), "none")},
		"no operations":     {"-native=false", "-impl", "gomem", empty},
		"no passes":         {"-native=false", "-impl", "gomem", "-passes", "0", empty},
	} {
		if err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestLostOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tiny.trace")
	if err := os.WriteFile(file, []byte("malloc 0 100\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-passes", "1", "-native=false", "-impl", "gomem", file}
	if err := run(t.Context(), args, full{}, &bytes.Buffer{}); err == nil || err.Error() != "no room" {
		t.Errorf("output is lost: %v", err)
	}
}
