//go:build goexperiment.arenas

package lac

import (
	"arena"
	"testing"
)

// The rows of Go's own experimental arena; it does not come back for reuse, so
// each has its Free in the loop, as lac has its Release.

func goArenaItem(a *arena.Arena, i int) *pbItem {
	e := arena.New[pbItem](a)
	e.Name = arena.New[string](a)
	*e.Name = "a"
	e.Class = arena.New[int](a)
	*e.Class = i
	e.Id = arena.New[int](a)
	*e.Id = i + 10
	e.Active = arena.New[bool](a)
	*e.Active = true
	return e
}

func goArenaScalar[T any](a *arena.Arena, v T) *T {
	p := arena.New[T](a)
	*p = v
	return p
}

func goArenaTree(a *arena.Arena, i int) *pbDataEx {
	item := func(j int) *pbItemEx {
		e := arena.New[pbItemEx](a)
		for _, p := range []**int{&e.Id1, &e.Id2, &e.Id3, &e.Id4, &e.Id5, &e.Id6, &e.Id7, &e.Id8, &e.Id9, &e.Id10} {
			*p = goArenaScalar(a, 2+j)
		}
		e.Price = goArenaScalar(a, 100+j)
		e.Class = goArenaScalar(a, 3+j)
		e.Name1 = goArenaScalar(a, "name")
		e.Active = goArenaScalar(a, true)
		e.EnumVal = goArenaScalar(a, enumA(2))
		return e
	}
	d := arena.New[pbDataEx](a)
	for k := range d.Age {
		d.Age[k] = goArenaScalar(a, 11+i)
	}
	for k := range d.InUse {
		d.InUse[k] = item(i)
	}
	for k := range d.Items {
		d.Items[k] = arena.MakeSlice[*pbItemEx](a, 0, 10)
		for j := range 10 {
			d.Items[k] = append(d.Items[k], item(j))
		}
	}
	return d
}

func Benchmark_ArenaMallocSmall(b *testing.B) {
	b.ReportAllocs()
	a := arena.NewArena()
	i := 0
	for b.Loop() {
		goArenaItem(a, i)
		if i++; i%10000 == 0 {
			a.Free()
			a = arena.NewArena()
		}
	}
	a.Free()
}

func Benchmark_ArenaMallocLarge(b *testing.B) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		a := arena.NewArena()
		checkTree(b, goArenaTree(a, i), i)
		a.Free()
	}
}
