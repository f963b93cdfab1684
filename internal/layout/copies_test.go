package layout

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestVetReportsCopies: go vet reports each line of the package copies that copies a value
// which must stay where it is.
func TestVetReportsCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go vet")
	}
	const file = "testdata/copies/copies.go"
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "vet", "-copylocks", "./testdata/copies").CombinedOutput()
	if err == nil {
		t.Error("go vet reports nothing")
	}
	for i, line := range strings.Split(string(source), "\n") {
		if strings.HasSuffix(line, "// copied") && !strings.Contains(string(out), fmt.Sprintf("copies.go:%d:", i+1)) {
			t.Errorf("go vet does not report line %d: %s\n%s", i+1, line, out)
		}
	}
}
