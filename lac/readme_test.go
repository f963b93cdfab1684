package lac_test

import (
	"fmt"

	//lint:ignore ST1019 users write it either way
	"github.com/gomem-go/gomem/lac"
	. "github.com/gomem-go/gomem/lac"
)

var acPool = lac.NewAllocatorPool("example", nil, 1000, 64*1024, 0, 1000)

type PbItem struct {
	Id     *int
	Price  *int
	Class  *int
	Name   *string
	Active *bool
}

type PbData struct {
	Age   *int
	Items []*PbItem
	InUse *PbItem
}

// The usage of the predecessor's README, as printed there but for the form of the loop.
func Example() {
	ac := acPool.Get()
	defer ac.Release()

	d := lac.New[PbData](ac)
	d.Age = ac.Int(11)

	n := 3
	for i := range n {
		item := lac.New[PbItem](ac)
		item.Id = ac.Int(i + 1)
		item.Active = ac.Bool(true)
		item.Price = ac.Int(100 + i)
		item.Class = ac.Int(3 + i)
		item.Name = ac.String("name")

		d.Items = Append(ac, d.Items, item)
	}

	fmt.Println(*d.Age, len(d.Items))
	for _, item := range d.Items {
		fmt.Println(*item.Id, *item.Price, *item.Class, *item.Name, *item.Active)
	}
	// Output:
	// 11 3
	// 1 100 3 name true
	// 2 101 4 name true
	// 3 102 5 name true
}
