// Command faults puts known faults into the code of placement, growth and the
// reader, one at a time, and runs the tests that should notice: a split off by one,
// a merge that is skipped, a bit that is not cleared, a free that is lost. The
// status is 1 if fewer than 95 of 100 are noticed, or if the code that a fault is
// for is gone.
//
//	go run -C tools ./faults [-run tlsf] [-v]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// fault is one thing to get wrong: in a file, a piece of text that occurs in it
// once, and what stands there instead.
type fault struct {
	name, file, from, to string
	pkgs                 []string // whose tests should notice
}

// wanted is the share of faults that must be noticed, in percent.
const wanted = 95

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr, join(placementFaults, growthFaults, readerFaults))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// join makes one list of several.
func join(lists ...func() []fault) (all []fault) {
	for _, list := range lists {
		all = append(all, list()...)
	}
	return all
}

// bench is where faults are tried.
type bench struct {
	root    string
	limit   time.Duration
	verbose bool
	stderr  io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer, all []fault) error {
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", "..", "`FOLDER` of the module")
	only := flags.String("run", "", "only the faults whose name matches `REGEXP`")
	jobs := flags.Int("j", runtime.NumCPU(), "how many to try at a time")
	limit := flags.Duration("timeout", 2*time.Minute, "of one test run; a fault that makes it hang is noticed")
	verbose := flags.Bool("v", false, "print what the tests say")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	b := &bench{root: *root, limit: *limit, verbose: *verbose, stderr: stderr}
	var chosen []fault
	pkgs := make(map[string]bool)
	for _, f := range all {
		if !pattern.MatchString(f.name) {
			continue
		}
		if _, err := f.apply(b.root); err != nil {
			return err
		}
		chosen = append(chosen, f)
		for _, p := range f.pkgs {
			pkgs[p] = true
		}
	}
	if len(chosen) == 0 {
		return errors.New("no fault has such a name")
	}
	for p := range pkgs {
		if noticed, out, err := b.test(ctx, "", p); err != nil || noticed {
			return errors.Join(fmt.Errorf("the tests of %s fail without any fault\n%s", p, out), err)
		}
	}
	survived, err := b.tryAll(ctx, chosen, *jobs, stdout)
	if err != nil {
		return err
	}
	killed := len(chosen) - survived
	fmt.Fprintf(stdout, "%d of %d faults were noticed (%d %%)\n", killed, len(chosen), killed*100/len(chosen))
	if killed*100 < wanted*len(chosen) {
		return fmt.Errorf("%d %% are wanted", wanted)
	}
	return nil
}

// tryAll tries the faults, a few at a time, prints a line for each, and counts
// those that nobody noticed.
func (b *bench) tryAll(ctx context.Context, faults []fault, jobs int, stdout io.Writer) (survived int, err error) {
	queue := make(chan fault)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range max(1, jobs) {
		workers.Go(func() {
			for f := range queue {
				noticed, e := b.try(ctx, f)
				mu.Lock()
				switch {
				case e != nil:
					err = errors.Join(err, fmt.Errorf("%s: %w", f.name, e))
				case noticed:
					fmt.Fprintf(stdout, "noticed   %s\n", f.name)
				default:
					survived++
					fmt.Fprintf(stdout, "SURVIVED  %s (%s)\n", f.name, f.file)
				}
				mu.Unlock()
			}
		})
	}
	for _, f := range faults {
		queue <- f
	}
	close(queue)
	workers.Wait()
	return survived, err
}

// apply returns the file's text with the fault in it.
func (f fault) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, f.file))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), f.from); n != 1 {
		return nil, fmt.Errorf("fault %q: its text occurs %d times in %s, not once:\n%s", f.name, n, f.file, f.from)
	}
	return []byte(strings.Replace(string(text), f.from, f.to, 1)), nil
}

// try runs the tests with the faulty text laid over the file, which itself stays
// as it is.
func (b *bench) try(ctx context.Context, f fault) (noticed bool, err error) {
	text, err := f.apply(b.root)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "fault")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	original, err := filepath.Abs(filepath.Join(b.root, f.file))
	if err != nil {
		return false, err
	}
	changed := filepath.Join(dir, filepath.Base(f.file))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return false, err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := errors.Join(os.WriteFile(changed, text, 0o600), os.WriteFile(list, overlay, 0o600)); err != nil {
		return false, err
	}
	for _, pkg := range f.pkgs {
		noticed, out, err := b.test(ctx, list, pkg)
		if err != nil {
			return false, fmt.Errorf("%w\n%s", err, out)
		}
		if b.verbose {
			fmt.Fprintf(b.stderr, "== %s, %s\n%s\n", f.name, pkg, out)
		}
		if noticed {
			return true, nil
		}
	}
	return false, nil
}

// test runs the short tests of a package and says whether one failed. A fault
// that does not compile is an error: it would prove nothing.
func (b *bench) test(ctx context.Context, overlay, pkg string) (failed bool, out []byte, err error) {
	args := []string{"test", "-short", "-failfast", "-vet=off", "-timeout", b.limit.String()}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	test := exec.CommandContext(ctx, "go", append(args, pkg)...)
	test.Dir = b.root
	out, err = test.CombinedOutput()
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, out, ctx.Err()
	case strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]"):
		return false, out, errors.New("does not compile")
	case errors.As(err, &status):
		return true, out, nil
	}
	return false, out, err
}
