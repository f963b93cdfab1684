package arenas

import (
	"testing"

	"github.com/gomem-go/gomem/lac"
)

// TestShapes: the shapes have the number of objects that they are named by, and
// none of them comes from the Go heap where there is an arena.
func TestShapes(t *testing.T) {
	pool := lac.NewPool("test")
	for _, c := range []struct {
		name    string
		objects float64
		make    func(ac *lac.Allocator)
	}{
		{"item", 5, func(ac *lac.Allocator) { Kept.Item = small(ac, 1) }},
		{"tree", 1656, func(ac *lac.Allocator) { Kept.Tree = tree(ac, 1) }},
	} {
		if got := testing.AllocsPerRun(10, func() { c.make(nil) }); got != c.objects {
			t.Errorf("%s: %v objects, want %v", c.name, got, c.objects)
		}
		if got := testing.AllocsPerRun(100, func() {
			ac := pool.Get()
			c.make(ac)
			ac.Release()
		}); got != 0 {
			t.Errorf("%s in an arena allocates %v times", c.name, got)
		}
	}
}

// TestTree: the tree is whole.
func TestTree(t *testing.T) {
	ac := lac.NewPool("test").Get()
	defer ac.Release()
	for _, in := range []*lac.Allocator{nil, ac} {
		m := tree(in, 7)
		for k, list := range m.Lists {
			if len(list) != 10 {
				t.Fatalf("list %d has %d entries", k, len(list))
			}
			for j, e := range list {
				if *e.A != j || *e.J != j || *e.Class != 3+j || *e.Name != "name" || !*e.Active || *e.Color != 2 {
					t.Errorf("list %d: entry %d is damaged", k, j)
				}
			}
		}
		if *m.Ages[9] != 7 || *m.InUse[9].Price != 107 {
			t.Error("the root is damaged")
		}
	}
}
