package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/bench/arenas"
	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/load"
	"github.com/gomem-go/gomem/bench/native"
	"github.com/gomem-go/gomem/bench/reading"
	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/bench/rows"
	"github.com/gomem-go/gomem/bench/unchecked"
	"github.com/gomem-go/gomem/internal/trace"
)

// section is a part of the report that can be measured alone.
type section struct {
	name    string
	measure func(ctx context.Context, m *measurement) error
}

// sections are in the order in which they are measured. Each is measured in a process
// of its own, so that none finds the heap, the goroutines and the mappings that
// another one left: a section by itself and a run of all of them are the same.
var sections = []section{
	{"reader", measureReader},
	{"lac", measureLac},
	{"traces", measureTraces},
	{"checks", measureChecks},
	{"rows", measureRows},
	{"loads", measureLoads},
	{"pages", measurePages},
}

func sectionNames() []string {
	var names []string
	for _, s := range sections {
		names = append(names, s.name)
	}
	return names
}

// measurement is a run in progress.
type measurement struct {
	*results
	effort
	folder   string   // of the traces
	files    []string // of it
	progress io.Writer
}

// goroutines is how many share an allocator in the loads.
var goroutines = []int{1, 2, 1000}

// measure adds a section to r, measured in this process.
func measure(ctx context.Context, r *results, name, folder string, e effort, progress io.Writer) error {
	i := slices.IndexFunc(sections, func(s section) bool { return s.name == name })
	if i < 0 {
		return fmt.Errorf("no section %q; there are %s", name, strings.Join(sectionNames(), ", "))
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.trace.gz"))
	if err != nil {
		return err
	}
	return sections[i].measure(ctx, &measurement{r, e, folder, files, progress})
}

// cases measures in many short turns: a machine that is shared changes its pace
// within a second.
func (m *measurement) cases(ctx context.Context, all []rows.Case) ([]compare.Measured, error) {
	return compare.Cases(ctx, all, 3*m.passes, m.turn/3)
}

func measureReader(ctx context.Context, m *measurement) (err error) {
	if m.Reader, err = m.cases(ctx, reading.Cases()); err != nil {
		return err
	}
	m.ScenarioOps = m.ops / 2
	m.Scenarios, err = compare.Scenarios(ctx, reading.Scenarios(), m.ScenarioOps, min(m.passes, 5))
	return err
}

func measureLac(ctx context.Context, m *measurement) (err error) {
	if m.Lac, err = m.cases(ctx, arenas.Cases()); err != nil {
		return err
	}
	m.Together, err = m.cases(ctx, arenas.Together())
	return err
}

func measureTraces(ctx context.Context, m *measurement) error {
	dir, err := os.MkdirTemp("", "results")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	variants, err := native.Build(ctx, dir)
	if err != nil && !errors.Is(err, native.ErrNoCompiler) {
		return err
	}
	m.Fragments = compare.RandomFragments(3*m.passes, m.ops/5)
	return m.eachTrace(func(name string, t *trace.Trace) error {
		r := traceResult{Name: name, Trace: t}
		if r.Rows, err = compare.Trace(ctx, t, rival.Names(), variants, m.passes); err != nil {
			return err
		}
		r.Held, r.Allocs = compare.Memory(t)
		r.Fragments = compare.TraceFragments(t)
		m.Traces = append(m.Traces, r)
		return nil
	})
}

func (m *measurement) eachTrace(do func(name string, t *trace.Trace) error) error {
	if len(m.files) == 0 {
		return fmt.Errorf("no *.trace.gz in %s", m.folder)
	}
	for _, file := range m.files {
		fmt.Fprintln(m.progress, " ", compare.TraceName(file))
		t, err := trace.ReadFile(file, trace.Limits{})
		if err != nil {
			return err
		}
		if err := do(compare.TraceName(file), t); err != nil {
			return err
		}
	}
	return nil
}

// measureChecks is the price of noticing misuse: of what is always on, and of
// the sampled guard.
func measureChecks(ctx context.Context, m *measurement) error {
	dir, err := os.MkdirTemp("", "results")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	programs, err := unchecked.Build(ctx, dir)
	switch {
	case errors.Is(err, unchecked.ErrNoGo), errors.Is(err, unchecked.ErrMoved):
		fmt.Fprintln(m.progress, "  without the price of a check:", err)
	case err != nil:
		return err
	default:
		if m.Checks, err = programs.Measure(ctx, 3*m.passes); err != nil {
			return err
		}
	}
	return m.eachTrace(func(name string, t *trace.Trace) error {
		with, same, err := compare.Guard(ctx, t, m.passes, m.passes)
		m.Guarded = append(m.Guarded, compare.Guarded{Trace: name, With: with, Same: same})
		return err
	})
}

func measureRows(ctx context.Context, m *measurement) error {
	all := slices.Concat(rows.References(), rows.All(), rows.Bounded())
	// A turn is to have one pace of the machine from end to end.
	timed, err := compare.Rows(ctx, all, 2*m.passes, m.shortTurns, m.turn/50)
	if err != nil {
		return err
	}
	references := len(rows.References())
	last := len(timed) - len(rows.Bounded())
	m.References, m.Rows, m.Bounded = timed[:references], timed[references:last], timed[last:]
	return nil
}

func measureLoads(ctx context.Context, m *measurement) error {
	for _, l := range load.All() {
		fmt.Fprintln(m.progress, " ", l.Name)
		timed, err := compare.Load(ctx, l, load.Names(), goroutines, m.ops, min(m.passes, 5))
		if err != nil {
			return err
		}
		m.Loads = append(m.Loads, timed)
		held, err := compare.Held(ctx, l, goroutines, m.ops)
		if err != nil {
			return err
		}
		m.Held = append(m.Held, held...)
	}
	late, err := compare.Held(ctx, load.AnyLate(), []int{1}, m.ops/2)
	if err != nil {
		return err
	}
	m.Held = append(m.Held, late...)
	first, err := compare.Held(ctx, load.AnyLate(), []int{1}, m.ops/2, gomem.WithPlacement(gomem.SingleTree))
	for _, row := range first {
		row.Load = firstFit
		m.Held = append(m.Held, row)
	}
	return err
}

// firstFit names a row that is there to compare with.
const firstFit = "the same, by SingleTree"

func measurePages(_ context.Context, m *measurement) error {
	m.Walks = compare.Walks(m.passes, m.turn)
	return nil
}
