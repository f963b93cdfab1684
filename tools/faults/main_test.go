package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a module of one function and one test that holds to a part of
// what it does.
func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example.com/m\n\ngo 1.26\n",
		"p/p.go":      "package p\n\nfunc Half(n int) int {\n\tif n < 0 {\n\t\treturn 0\n\t}\n\treturn n / 2\n}\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tif Half(4) != 2 {\n\t\tt.Fail()\n\t}\n}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRun(t *testing.T) {
	root := module(t)
	noticed := fault{"third", "p/p.go", "n / 2", "n / 3", []string{"./p"}}
	hangs := fault{"hangs", "p/p.go", "return n / 2", "for {\n\t}", []string{"./p"}}
	survives := fault{"negative", "p/p.go", "return 0", "return 1", []string{"./p"}}
	for _, c := range []struct {
		name   string
		faults []fault
		want   string // of what is printed and of the error
	}{
		{"noticed", []fault{noticed}, "noticed   third\n1 of 1 faults were noticed (100 %)"},
		{"hangs", []fault{hangs}, "noticed   hangs"},
		{"survives", []fault{noticed, survives}, "SURVIVED  negative (p/p.go)\n1 of 2 faults were noticed (50 %)95 % are wanted"},
		{"text gone", []fault{{"gone", "p/p.go", "n / 4", "n / 2", nil}}, `fault "gone": its text occurs 0 times in p/p.go`},
		{"text twice", []fault{{"twice", "p/p.go", "return", "panic", nil}}, `fault "twice": its text occurs 2 times`},
		{"file gone", []fault{{"gone", "p/q.go", "n", "m", nil}}, "no such file"},
		{"does not compile", []fault{{"typo", "p/p.go", "n / 2", "m / 2", []string{"./p"}}}, "does not compile"},
		{"nothing", nil, "no fault has such a name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(t.Context(), []string{"-root", root, "-j", "1", "-timeout", "10s"}, &out, io.Discard, c.faults)
			if err != nil {
				out.WriteString(strings.TrimSpace(err.Error()))
			}
			if got := strings.ReplaceAll(out.String(), ")\n95", ")95"); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if fine := c.name == "noticed" || c.name == "hangs"; fine != (err == nil) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestListsApply: the text of every fault is where it is said to be.
func TestListsApply(t *testing.T) {
	names := make(map[string]bool)
	all := join(placementFaults, growthFaults, readerFaults)
	for _, f := range all {
		if _, err := f.apply("../.."); err != nil {
			t.Error(err)
		}
		if names[f.name] {
			t.Errorf("two faults have the name %q", f.name)
		}
		names[f.name] = true
	}
	if len(all) < 40 {
		t.Errorf("%d faults, want 40 or more", len(all))
	}
}
