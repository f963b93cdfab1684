//go:build goexperiment.arenas

package arenas

import (
	"arena"

	"github.com/gomem-go/gomem/bench/rows"
)

// HasGoArena is whether the program was built with GOEXPERIMENT=arenas.
const HasGoArena = true

// scalar makes a value in an arena.
func scalar[T any](a *arena.Arena, v T) *T {
	p := arena.New[T](a)
	*p = v
	return p
}

func goSmall(a *arena.Arena, i int) *item {
	it := arena.New[item](a)
	it.ID = scalar(a, i+10)
	it.Class = scalar(a, i)
	it.Name = scalar(a, "a")
	it.Active = scalar(a, true)
	return it
}

// goTree is tree, but that its lists have their room at once: append would take
// it from the Go heap.
func goTree(a *arena.Arena, i int) *message {
	m := arena.New[message](a)
	for k := range m.Ages {
		m.Ages[k] = scalar(a, i)
	}
	for k := range m.InUse {
		m.InUse[k] = goBranch(a, i)
	}
	for k := range m.Lists {
		m.Lists[k] = arena.MakeSlice[*entry](a, 0, 10)
		for j := range 10 {
			m.Lists[k] = append(m.Lists[k], goBranch(a, j))
		}
	}
	return m
}

func goBranch(a *arena.Arena, i int) *entry {
	e := arena.New[entry](a)
	e.A, e.B, e.C, e.D, e.E = scalar(a, i), scalar(a, i), scalar(a, i), scalar(a, i), scalar(a, i)
	e.F, e.G, e.H, e.I, e.J = scalar(a, i), scalar(a, i), scalar(a, i), scalar(a, i), scalar(a, i)
	e.Price = scalar(a, 100+i)
	e.Class = scalar(a, 3+i)
	e.Name = scalar(a, "name")
	e.Active = scalar(a, true)
	e.Color = scalar(a, color(2))
	return e
}

func goArenaItems(every int) []rows.Way {
	return []rows.Way{{Name: GoArena, Start: func() (func(int), func()) {
		return func(n int) {
			for ; n > 0; n -= every {
				a := arena.NewArena()
				for i := range min(n, every) {
					Kept.Item = goSmall(a, i)
				}
				// What is freed must not be looked at, by the collector either.
				Kept.Item = nil
				a.Free()
			}
		}, func() {}
	}}}
}

func goArenaTrees() []rows.Way {
	return []rows.Way{{Name: GoArena, Start: func() (func(int), func()) {
		return func(n int) {
			for i := range n {
				a := arena.NewArena()
				Kept.Tree = goTree(a, i)
				Kept.Tree = nil
				a.Free()
			}
		}, func() {}
	}}}
}
