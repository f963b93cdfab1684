//go:build !race && !gomem_portable

package lac

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The variables by whose addresses goroutines find what is theirs stay on the stack
// (runtime assumption 6), whatever the package is compiled for.
func TestMarksStayOnStack(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package several times")
	}
	builds := []string{"", " -N", " -l", " -d=checkptr", " -d=checkptr=2"}
	if runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		builds = append(builds, " -asan", " -asan -d=checkptr=0")
	}
	for _, flags := range builds {
		out, err := exec.Command("go", "build", "-gcflags=-m"+flags, ".").CombinedOutput()
		if err != nil {
			t.Fatalf("go build -gcflags=-m%s: %v\n%s", flags, err, out)
		}
		if text := string(out); !strings.Contains(text, "mark does not escape") || strings.Contains(text, "heap: mark") ||
			strings.Contains(text, "heap: here") {
			t.Errorf("%q puts a mark on the heap", flags)
		}
	}
}

// A package that is compiled with checks of its pointers, as -gcflags has it for the
// packages named alone, has the fast paths of Get and of a shared handle inlined with checks,
// which call and so may move the stack.
func TestSharedInCheckedPackage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs for seconds")
	}
	program := filepath.Join(t.TempDir(), "moving.exe")
	for _, cmd := range []*exec.Cmd{
		exec.Command("go", "build", "-gcflags=-d=checkptr", "-o", program, "./testdata/moving"),
		exec.Command(program),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", cmd, err, out)
		}
	}
}
