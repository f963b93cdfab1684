// Command mutants changes one operator of a package at a time and runs its
// tests: a change that no test notices is printed. It reads like a review of
// the tests: each line is a sentence of the code that nothing holds to.
//
//	go run -C tools ./mutants [-n 40] [-seed 1] ./offset
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// swaps says what an operator becomes.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.SHL: token.SHR, token.SHR: token.SHL,
	token.AND: token.OR, token.OR: token.AND,
}

// mutant is one operator to be changed.
type mutant struct {
	file         string
	line, offset int
	from, to     token.Token
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s becomes %s", m.file, m.line, m.from, m.to)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	n := flags.Int("n", 40, "how many changes to try, chosen at random")
	seed := flags.Uint64("seed", 1, "what chooses them")
	root := flags.String("root", "..", "`FOLDER` of the module")
	limit := flags.Duration("timeout", time.Minute, "of one test run; a change that makes it hang is noticed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("one package is wanted, such as ./offset")
	}
	if *n < 0 {
		return fmt.Errorf("-n %d, want at least 0", *n)
	}
	pkg := flags.Arg(0)
	all, err := find(filepath.Join(*root, pkg))
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(*seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(*n, len(all))]
	survived := 0
	for i, m := range all {
		fmt.Fprintf(stderr, "[%d/%d] %v\n", i+1, len(all), m)
		noticed, err := m.try(ctx, *root, pkg, *limit)
		if err != nil {
			return err
		}
		if !noticed {
			survived++
			fmt.Fprintln(stdout, m)
		}
	}
	fmt.Fprintf(stdout, "%d of %d changes were not noticed (seed %d)\n", survived, len(all), *seed)
	return nil
}

// find returns the operators of the package in dir, without its tests.
func find(dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if e, ok := n.(*ast.BinaryExpr); ok {
				if to, ok := swaps[e.Op]; ok {
					at := fset.Position(e.OpPos)
					all = append(all, mutant{file, at.Line, at.Offset, e.Op, to})
				}
			}
			return true
		})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no operators in %s", dir)
	}
	return all, nil
}

// apply returns text with the operator changed.
func (m mutant) apply(text []byte) []byte {
	from := m.from.String()
	return []byte(string(text[:m.offset]) + m.to.String() + string(text[m.offset+len(from):]))
}

// try runs the tests with the change laid over the file, which itself stays as
// it is. A change that does not compile counts as noticed.
func (m mutant) try(ctx context.Context, root, pkg string, limit time.Duration) (noticed bool, err error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	changed := filepath.Join(dir, filepath.Base(m.file))
	original, err := filepath.Abs(m.file)
	if err != nil {
		return false, err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return false, err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := errors.Join(os.WriteFile(changed, m.apply(text), 0o600), os.WriteFile(list, overlay, 0o600)); err != nil {
		return false, err
	}
	test := exec.CommandContext(ctx, "go", "test", "-short", "-vet=off", "-timeout", limit.String(), "-overlay", list, pkg)
	test.Dir = root
	out, err := test.CombinedOutput()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.As(err, &failed):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("%w\n%s", err, out)
	}
	return false, nil
}
