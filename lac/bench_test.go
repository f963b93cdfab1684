package lac

import (
	"runtime"
	"testing"
)

type pbItem struct {
	Id     *int
	Price  *int
	Class  *int
	Name   *string
	Active *bool
}

var sinkItem *pbItem

func rawItem(i int) *pbItem {
	e := new(pbItem)
	e.Name = new(string)
	*e.Name = "a"
	e.Class = new(int)
	*e.Class = i
	e.Id = new(int)
	*e.Id = i + 10
	e.Active = new(bool)
	*e.Active = true
	return e
}

func arenaItem(ac *Allocator, i int) *pbItem {
	e := New[pbItem](ac)
	e.Name = ac.String("a")
	e.Class = ac.Int(i)
	e.Id = ac.Int(i + 10)
	e.Active = ac.Bool(true)
	return e
}

func Benchmark_RawMalloc(b *testing.B) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		sinkItem = rawItem(i)
		i++
	}
}

// benchItems builds items in an arena that is released after every so many.
func benchItems(b *testing.B, p *AllocatorPool, every int, shared bool) {
	b.ReportAllocs()
	var e *pbItem
	left := 0
	ac := p.Get()
	i := 0
	for b.Loop() {
		if left == 0 {
			ac.Release()
			ac = p.Get()
			if shared {
				ac.IncRef()
				ac.DecRef()
			}
			left = every
		}
		e = arenaItem(ac, i)
		left--
		i++
	}
	runtime.KeepAlive(e)
	ac.Release()
}

func Benchmark_LacMalloc(b *testing.B) {
	b.Run("release=each", func(b *testing.B) { benchItems(b, NewPool("b"), 1, false) })
	b.Run("release=100", func(b *testing.B) { benchItems(b, NewPool("b"), 100, false) })
}

func Benchmark_LacMallocMt(b *testing.B) {
	b.Run("release=each", func(b *testing.B) { benchItems(b, NewPool("b"), 1, true) })
	b.Run("release=100", func(b *testing.B) { benchItems(b, NewPool("b"), 100, true) })
	b.Run("release=1000", func(b *testing.B) { benchItems(b, NewPool("b"), 1000, true) })
}
