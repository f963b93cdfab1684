// Package native measures the C allocators on the same traces: it compiles
// src/replay.c once per allocator that is installed, and runs the results.
package native

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/gomem-go/gomem/internal/trace"
)

//go:embed src/replay.c src/Makefile
var sources embed.FS

// ErrNoCompiler: make or the C compiler is missing.
var ErrNoCompiler = errors.New("make and a C compiler are needed")

// Variant is one compiled allocator.
type Variant struct {
	Name string
	path string
}

// Build compiles every allocator whose library is installed into dir. Errors:
// [ErrNoCompiler], and what the compiler says.
func Build(ctx context.Context, dir string) ([]Variant, error) {
	for _, tool := range []string{"make", "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoCompiler, err)
		}
	}
	src, err := fs.Sub(sources, "src")
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, src); err != nil {
		return nil, fmt.Errorf("placing the sources: %w", err)
	}
	build := exec.CommandContext(ctx, "make", "-s", "-C", dir, "OUT=build")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compiling: %w\n%s", err, out)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "build", "replay-*"))
	if err != nil {
		return nil, err
	}
	sort.Strings(paths)
	var found []Variant
	for _, path := range paths {
		found = append(found, Variant{strings.TrimPrefix(filepath.Base(path), "replay-"), path})
	}
	return found, nil
}

// Encode returns the recorded operations of t as Run wants them.
func Encode(t *trace.Trace) []byte {
	var b bytes.Buffer
	if err := t.EncodeBinary(&b); err != nil {
		panic(err) // a bytes.Buffer never fails
	}
	return b.Bytes()
}

// Run replays a trace in the binary form for rounds rounds. Result: ns per
// operation of the best and of the median round.
func (v Variant) Run(ctx context.Context, binary []byte, rounds int) (best, median float64, err error) {
	run := exec.CommandContext(ctx, v.path, "-", strconv.Itoa(rounds))
	run.Stdin = bytes.NewReader(binary)
	out, err := run.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", v.Name, err)
	}
	var name string
	var ops, ran int
	const form = "impl=%s ops=%d rounds=%d best=%f median=%f"
	if _, err := fmt.Sscanf(string(out), form, &name, &ops, &ran, &best, &median); err != nil {
		return 0, 0, fmt.Errorf("%s printed %q: %w", v.Name, out, err)
	}
	return best, median, nil
}
