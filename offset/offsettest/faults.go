package offsettest

import (
	"fmt"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// minFaults is how many different corruptions a placement's Verify is tried
// with, at least.
const minFaults = 30

// Fault damages one field of an allocator's metadata.
type Fault[A offset.Allocator] struct {
	Name  string
	Break func(a A)
}

// Faults checks that Verify notices each fault, put alone into what build makes, does not
// panic over it, and finds nothing wrong with the undamaged structure. It fails if there
// are fewer than 30 faults.
func Faults[A offset.Allocator](t *testing.T, build func() A, faults []Fault[A]) {
	t.Helper()
	if err := build().Verify(); err != nil {
		t.Fatalf("Verify of the undamaged structure: %v", err)
	}
	if len(faults) < minFaults {
		t.Errorf("%d faults, want at least %d", len(faults), minFaults)
	}
	seen := map[string]bool{}
	for _, f := range faults {
		if seen[f.Name] {
			t.Errorf("fault %q is listed twice", f.Name)
		}
		seen[f.Name] = true
		a := build()
		f.Break(a)
		if err := verify(a); err == nil {
			t.Errorf("Verify did not notice: %s", f.Name)
		} else if p, ok := err.(panicked); ok {
			t.Errorf("Verify panicked on %s: %v", f.Name, p.value)
		}
	}
}

// panicked is a Verify that did not return.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprint(p.value) }

func verify(a offset.Allocator) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked{v}
		}
	}()
	return a.Verify()
}
