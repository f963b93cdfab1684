package replay

import (
	"fmt"
	"strings"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
)

// config is one way to get memory.
type config struct {
	name string

	// source supplies the chunks; nil is the Go heap itself, one make a block.
	source    func() backing.Source
	placement gomem.Placement
}

// allocator returns a fresh allocator over src, which is c's source or wraps
// it, with a first chunk of so many bytes.
func (c config) allocator(src backing.Source, firstChunk int) *gomem.ScalableMemoryAllocator {
	return gomem.NewScalableMemoryAllocator(firstChunk, gomem.WithPlacement(c.placement), gomem.WithBacking(src))
}

func configs() []config {
	placements := []struct {
		name      string
		placement gomem.Placement
	}{
		{"size classes", gomem.SizeClasses},
		{"TLSF", gomem.TLSF},
		{"single tree", gomem.SingleTree},
		{"two trees", gomem.TwoTree},
	}
	sources := []struct {
		name   string
		source func() backing.Source
	}{
		{"mmap", func() backing.Source { return backing.Mmap() }},
		{"mmap, huge pages", func() backing.Source { return backing.Mmap(backing.HugePages()) }},
		{"heap", backing.Heap},
	}
	var all []config
	for _, p := range placements {
		for _, s := range sources {
			all = append(all, config{p.name + ", " + s.name, s.source, p.placement})
		}
	}
	return append(all, config{name: "Go heap (make)"})
}

// configNames lists the names of the configurations, with a comma and space between.
func configNames(space string) string {
	var list []string
	for _, c := range configs() {
		list = append(list, fmt.Sprintf("%q", c.name))
	}
	return strings.Join(list, ","+space)
}

// selected returns the configurations whose name contains text.
func selected(text string) []config {
	var some []config
	for _, c := range configs() {
		if strings.Contains(c.name, text) {
			some = append(some, c)
		}
	}
	return some
}
