package rows

import (
	"sync"

	"github.com/gomem-go/gomem/lac"
	"github.com/gomem-go/gomem/tlsf"
)

// item is a message in the manner of protobuf 2: each field is an object.
type item struct {
	ID, Price, Class *int32
	Name             *string
	Active           *bool
}

type tree struct {
	Items []*item
	Total *int64
}

// treeItems makes the tree 1,656 objects: the root, its list, its total, and
// six for each item but the first, which is without three of its fields.
const treeItems = 276

// small makes five objects: an item with four of its fields.
func small(ac *lac.Allocator) *item {
	it := lac.New[item](ac)
	it.ID = ac.Int32(7)
	it.Price = ac.Int32(100)
	it.Name = ac.String("item")
	it.Active = ac.Bool(true)
	return it
}

func makeTree(ac *lac.Allocator) *tree {
	root := lac.New[tree](ac)
	root.Total = ac.Int64(treeItems)
	root.Items = lac.NewSlice[*item](ac, 0, treeItems)
	for i := range treeItems {
		it := lac.New[item](ac)
		it.ID = ac.Int32(int32(i))
		it.Price = ac.Int32(100)
		if i > 0 {
			it.Class = ac.Int32(3)
			it.Name = ac.String("item")
			it.Active = ac.Bool(true)
		}
		root.Items = lac.Append(ac, root.Items, it)
	}
	return root
}

// kept keeps objects from being optimized away.
var kept struct {
	item *item
	tree *tree
}

func newPool() *lac.AllocatorPool { return lac.NewPool("rows") }

// onArena makes a row whose operation gets an arena, fills it and releases it.
func onArena(name string, published float64, fill func(ac *lac.Allocator)) Row {
	return Row{"lac", name, published, func() (func(int), func()) {
		pool := newPool()
		return func(n int) {
			for range n {
				ac := pool.Get()
				fill(ac)
				ac.Release()
			}
		}, func() {}
	}}
}

// onHeap is the same work on the Go heap, for comparison.
func onHeap(name string, fill func(ac *lac.Allocator)) Row {
	return Row{"heap", name, 0, func() (func(int), func()) {
		return func(n int) {
			for range n {
				fill(nil)
			}
		}, func() {}
	}}
}

// onArenas makes a row in which two goroutines work on arenas of one pool; an
// operation is one in each of them.
func onArenas(name string, published float64, fill func(ac *lac.Allocator)) Row {
	return Row{"lac", name, published, func() (func(int), func()) {
		pool := newPool()
		return func(n int) {
			var group sync.WaitGroup
			for range 2 {
				group.Go(func() {
					for range n {
						ac := pool.Get()
						fill(ac)
						ac.Release()
					}
				})
			}
			group.Wait()
		}, func() {}
	}}
}

func arenas() []Row {
	fiveObjects := func(ac *lac.Allocator) { keepItem(small(ac)) }
	wholeTree := func(ac *lac.Allocator) { keepTree(makeTree(ac)) }
	return []Row{
		onArena("op=5-objects", 53, fiveObjects),
		onArenas("op=5-objects/goroutines=2", 95, func(ac *lac.Allocator) { small(ac) }),
		onHeap("op=5-objects", fiveObjects),
		onArena("op=1656-objects", 13_000, wholeTree),
		onArenas("op=1656-objects/goroutines=2", 25_000, func(ac *lac.Allocator) { makeTree(ac) }),
		onHeap("op=1656-objects", wholeTree),
	}
}

//go:noinline
func keepItem(it *item) { kept.item = it }

//go:noinline
func keepTree(t *tree) { kept.tree = t }

func realTime() []Row {
	pair := func(size int64) Row {
		return Row{"tlsf.Arena", "op=allocate-free/size=" + sizeText(size), 690, func() (func(int), func()) {
			a := tlsf.NewArena(1 << 20)
			return func(n int) {
				for range n {
					p, err := a.Allocate(size)
					must(err)
					a.Free(p)
				}
			}, a.Dispose
		}}
	}
	return []Row{pair(64), pair(460), pair(4096)}
}
