// Package unchecked measures what it costs that a free of a small block is
// checked. There is no build without the check, so one is made: the program
// cmd/pairs is compiled as it is, and with the comparison taken out of the source.
//
// What is left in is the record that is compared with. It is the free list's too,
// and most of what a free needs to know.
package unchecked

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gomem-go/gomem/bench/rival"
)

const (
	program = "github.com/gomem-go/gomem/bench/cmd/pairs"
	engine  = "github.com/gomem-go/gomem/internal/heap"
)

// checks find, in the files of the engine, the comparison of the record of a slot with
// the block that is said to be live in it.
var checks = []struct {
	file  string
	check *regexp.Regexp
	// nothing takes the place of the check. The number is unsigned, so the compiler
	// makes nothing of it.
	nothing string
}{
	{"heap.go", regexp.MustCompile(`if within == 0 && (.*\bstateLive\b.*\blen\(b\)\)) \{\n`), "within >= 0"},
	{"entry_amd64.s", regexp.MustCompile(`XORQ +\$-const_stateLive, R11.*\n(\tCMPQ +CX, R11\n\tJNE +inGo\n)`), ""},
}

var (
	// ErrNoGo: the go command is missing.
	ErrNoGo = errors.New("the go command is needed")

	// ErrMoved: the source of the engine does not have the check where this
	// package looks for it.
	ErrMoved = errors.New("the check of a free is not where it was")
)

// Programs are the two builds, by their paths.
type Programs struct{ checked, unchecked string }

// Build compiles the two programs into dir. Errors: [ErrNoGo], [ErrMoved], and
// what the compiler says.
func Build(ctx context.Context, dir string) (Programs, error) {
	p := Programs{filepath.Join(dir, "checked"), filepath.Join(dir, "unchecked")}
	if _, err := exec.LookPath("go"); err != nil {
		return p, fmt.Errorf("%w: %w", ErrNoGo, err)
	}
	out, err := run(ctx, "go", "list", "-f", "{{.Dir}}", engine)
	if err != nil {
		return p, err
	}
	replace := make(map[string]string)
	for _, c := range checks {
		path := filepath.Join(strings.TrimSpace(out), c.file)
		source, err := os.ReadFile(path)
		if err != nil {
			return p, err
		}
		found := c.check.FindAllSubmatchIndex(source, -1)
		if len(found) != 1 {
			return p, fmt.Errorf("%w: %s", ErrMoved, c.file)
		}
		replace[path] = filepath.Join(dir, c.file)
		without := slices.Concat(source[:found[0][2]], []byte(c.nothing), source[found[0][3]:])
		if err := os.WriteFile(replace[path], without, 0o600); err != nil {
			return p, err
		}
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return p, err
	}
	overlayPath := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayPath, overlay, 0o600); err != nil {
		return p, err
	}
	if _, err := run(ctx, "go", "build", "-o", p.checked, program); err != nil {
		return p, err
	}
	_, err = run(ctx, "go", "build", "-overlay", overlayPath, "-o", p.unchecked, program)
	return p, err
}

// Price is what a Malloc and its Free take, in ns, and with the check over
// without it.
type Price struct {
	Op            string
	With, Without float64
	Ratio         float64
}

// Measure runs the two programs in turns, so many times each; a ratio is that of
// two neighbours, and the median of them counts. Each run has its memory
// elsewhere, which makes more of a difference than the check.
func (p Programs) Measure(ctx context.Context, turns int) ([]Price, error) {
	prices := []Price{{Op: "one pair after the other, 64 B"}, {Op: "500 blocks of 256 B, then their frees"}}
	with, without, ratios := make([][]float64, len(prices)), make([][]float64, len(prices)), make([][]float64, len(prices))
	for range turns {
		on, err := turn(ctx, p.checked, false)
		if err != nil {
			return nil, err
		}
		off, err := turn(ctx, p.unchecked, true)
		if err != nil {
			return nil, err
		}
		for i := range prices {
			with[i], without[i] = append(with[i], on[i]), append(without[i], off[i])
			ratios[i] = append(ratios[i], on[i]/off[i])
		}
	}
	for i := range prices {
		prices[i].With = rival.Summarize(with[i]).Median
		prices[i].Without = rival.Summarize(without[i]).Median
		prices[i].Ratio = rival.Summarize(ratios[i]).Median
	}
	return prices, nil
}

// turn runs a program, which is to free a block twice or not.
func turn(ctx context.Context, program string, twice bool) (ns [2]float64, err error) {
	out, err := run(ctx, program)
	if err != nil {
		return ns, err
	}
	var freed bool
	if _, err := fmt.Sscanf(out, "single=%f batch=%f twice=%t", &ns[0], &ns[1], &freed); err != nil {
		return ns, fmt.Errorf("%s printed %q: %w", filepath.Base(program), out, err)
	}
	if freed != twice {
		return ns, fmt.Errorf("%s freed a block twice: %t", filepath.Base(program), freed)
	}
	return ns, nil
}

func run(ctx context.Context, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, stderr.Bytes())
	}
	return string(out), nil
}
