// Package arenas holds the loops of the linear arena: what its predecessor was
// measured with, on the Go heap, on package lac and on Go's own experimental
// arena.
package arenas

import "github.com/gomem-go/gomem/lac"

// item is a message in the manner of protobuf 2: each field is an object.
type item struct {
	ID, Price, Class *int
	Name             *string
	Active           *bool
}

// small makes five objects: an item with four of its fields. A nil arena is the
// Go heap here and below.
func small(ac *lac.Allocator, i int) *item {
	it := lac.New[item](ac)
	it.ID = ac.Int(i + 10)
	it.Class = ac.Int(i)
	it.Name = ac.String("a")
	it.Active = ac.Bool(true)
	return it
}

type color int32

// entry has 15 fields, which makes it 16 objects.
type entry struct {
	A, B, C, D, E, F, G, H, I, J, Price, Class *int
	Name                                       *string
	Active                                     *bool
	Color                                      *color
}

// message is a tree of 1,656 objects: itself, 10 numbers, 100 entries, and 45
// arrays, as 9 lists grow from 1 to 2, 4, 8 and 16 places.
type message struct {
	Ages  [10]*int
	Lists [9][]*entry
	InUse [10]*entry
}

func tree(ac *lac.Allocator, i int) *message {
	m := lac.New[message](ac)
	for k := range m.Ages {
		m.Ages[k] = ac.Int(i)
	}
	for k := range m.InUse {
		m.InUse[k] = branch(ac, i)
	}
	for k := range m.Lists {
		for j := range 10 {
			m.Lists[k] = lac.Append(ac, m.Lists[k], branch(ac, j))
		}
	}
	return m
}

func branch(ac *lac.Allocator, i int) *entry {
	e := lac.New[entry](ac)
	e.A, e.B, e.C, e.D, e.E = ac.Int(i), ac.Int(i), ac.Int(i), ac.Int(i), ac.Int(i)
	e.F, e.G, e.H, e.I, e.J = ac.Int(i), ac.Int(i), ac.Int(i), ac.Int(i), ac.Int(i)
	e.Price = ac.Int(100 + i)
	e.Class = ac.Int(3 + i)
	e.Name = ac.String("name")
	e.Active = ac.Bool(true)
	e.Color = lac.NewEnum(ac, color(2))
	return e
}

// Kept keeps what a loop makes from being optimized away.
var Kept struct {
	Item  *item
	Tree  *message
	Int   *int
	Slice []int
}
