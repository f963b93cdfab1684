package load

import (
	"strings"
	"testing"

	"github.com/gomem-go/gomem"
)

// TestLoadsFreeEverything runs every load on every allocator; on GoMem nothing
// may be left over, and the allocator's own check must hold.
func TestLoadsFreeEverything(t *testing.T) {
	for _, l := range append(All(), AnyLate()) {
		for _, name := range Names() {
			for _, goroutines := range []int{1, 2, 7} {
				ops := 20_000
				if testing.Short() {
					ops = 4_000
				}
				a, stop := New(name)
				if n := l.Run(a, goroutines, ops); n == 0 {
					t.Errorf("%s on %s with %d goroutines did nothing", l.Name, name, goroutines)
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

// TestCountedIsExact: what Counted counts is what the allocator counts, at a
// moment when nobody works and at the end.
func TestCountedIsExact(t *testing.T) {
	for _, l := range All() {
		for _, goroutines := range []int{1, 3} {
			a, stop := New("gomem")
			c := &Counted{Gomem: a.(Gomem)}
			kept := c.Trim(c.Malloc(1000), 600)
			l.Run(c, goroutines, 4_000)
			if live, s := c.live.now.Load(), c.A.Stats(); live != 600 || s.Live != 600 {
				t.Errorf("%s: %d bytes counted, %d live", l.Name, live, s.Live)
			}
			// What others free at this moment is still counted, so only one is exact.
			if peak, s := c.Peak(), c.A.Stats(); peak <= 1000 || goroutines == 1 && peak > s.PeakBacking {
				t.Errorf("%s: at most %d bytes counted, %d mapped", l.Name, peak, s.PeakBacking)
			}
			c.FreePart(kept[:100])
			c.FreePart(kept[100:])
			if live, s := c.live.now.Load(), c.A.Stats(); live != 0 || s.Live != 0 {
				t.Errorf("%s: in the end %d bytes counted, %d live", l.Name, live, s.Live)
			}
			if held := c.held.now.Load(); held != 0 || (c.PeakHeld() > 0) != strings.HasPrefix(l.Name, "short-read") {
				t.Errorf("%s: reads hold %d bytes, %d at most", l.Name, held, c.PeakHeld())
			}
			stop()
		}
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
