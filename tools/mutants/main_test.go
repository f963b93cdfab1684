package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a module whose test holds to one of its two operators.
func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example.com/m\n\ngo 1.26\n",
		"p/p.go":      "package p\n\nfunc Sum(a, b int) int { return a + b }\n\nfunc Less(a, b int) bool { return a < b }\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(2, 2) != 4 || !Less(1, 2) {\n\t\tt.Fail()\n\t}\n}\n",
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

func TestSurvivorsAreNamed(t *testing.T) {
	root := module(t)
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-root", root, "./p"}, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	want := filepath.Join(root, "p", "p.go") + ":5: < becomes <=\n1 of 2 changes were not noticed (seed 1)\n"
	if stdout.String() != want {
		t.Errorf("printed %q, want %q", stdout.String(), want)
	}
}

func TestBadArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"./a", "./b"}, {"-root", t.TempDir(), "./none"}, {"-root", module(t), "-n", "-1", "./p"}} {
		if err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("run(%s) found nothing wrong", strings.Join(args, " "))
		}
	}
}
