package load

import (
	"testing"

	"github.com/gomem-go/gomem"
)

// TestLoadsFreeEverything runs every load on every allocator; on GoMem nothing
// may be left over, and the allocator's own check must hold.
func TestLoadsFreeEverything(t *testing.T) {
	for _, l := range All() {
		for _, name := range Names() {
			for _, goroutines := range []int{1, 2, 7} {
				ops := 20_000
				if testing.Short() {
					ops = 4_000
				}
				a, stop := New(name)
				notes := 0
				if n := l.Run(a, goroutines, ops, func() { notes++ }); n == 0 || notes == 0 {
					t.Errorf("%s on %s with %d goroutines: %d operations, %d notes", l.Name, name, goroutines, n, notes)
				}
				if g, ok := a.(Gomem); ok {
					checkEmpty(t, l.Name, goroutines, g.A)
				}
				stop()
			}
		}
	}
}

func checkEmpty(t *testing.T, load string, goroutines int, a *gomem.ScalableMemoryAllocator) {
	t.Helper()
	if s := a.Stats(); s.Live != 0 || s.Refused != 0 || s.Raced != 0 {
		t.Errorf("%s with %d goroutines left %+v", load, goroutines, s)
	}
	if err := a.Verify(); err != nil {
		t.Errorf("%s with %d goroutines: %v", load, goroutines, err)
	}
}

func TestReadLength(t *testing.T) {
	random := newRand(1)
	var short, medium, long int
	const n = 100_000
	for range n {
		switch r := readLength(random); {
		case r < 1 || r > 16<<10 || r > 1460 && r < 4096:
			t.Fatalf("a read of %d bytes", r)
		case r <= 512:
			short++
		case r <= 1460:
			medium++
		default:
			long++
		}
	}
	if short < n*58/100 || short > n*62/100 || long < n*9/100 || long > n*11/100 {
		t.Errorf("%d short, %d medium, %d long of %d", short, medium, long, n)
	}
}

func TestUnknownAllocator(t *testing.T) {
	if a, stop := New("none"); a != nil || stop != nil {
		t.Error("New of an unknown name made something")
	}
}
