package offset

import (
	"fmt"
	"iter"
	"strings"
)

const (
	drawWidth = 64 // cells of the bar
	drawList  = 32 // blocks listed
)

// drawTree draws a range of which only the free blocks are known: a line of
// summary, a bar in which a cell is free (.), in use (#) or both (+), and the
// first blocks by name.
func drawTree(name string, size, free, fits int, blocks iter.Seq[Block]) string {
	var head, list strings.Builder
	var count int
	bar := newBar(size)
	for b := range blocks {
		if count++; count <= drawList {
			fmt.Fprintf(&list, "\n%v free %d", b, b.Size())
		}
		bar.add(b)
	}
	if count > drawList {
		fmt.Fprintf(&list, "\nand %d more", count-drawList)
	}
	fmt.Fprintf(&head, "%s size=%d free=%d fits=%d blocks=%d", name, size, free, fits, count)
	if size > 0 {
		fmt.Fprintf(&head, "\n|%s|", bar.draw())
	}
	return head.String() + list.String()
}

// A bar is a range cut into cells of equal width.
type bar struct {
	size  int
	cells int
	free  [drawWidth]int // free offsets by cell
}

func newBar(size int) *bar { return &bar{size: size, cells: min(size, drawWidth)} }

// bound is where cell c begins.
func (b *bar) bound(c int) int {
	return c*(b.size/b.cells) + c*(b.size%b.cells)/b.cells
}

func (b *bar) add(f Block) {
	for c := range b.cells {
		if part := min(f.End, b.bound(c+1)) - max(f.Start, b.bound(c)); part > 0 {
			b.free[c] += part
		}
	}
}

func (b *bar) draw() string {
	line := make([]byte, b.cells)
	for c := range line {
		switch b.free[c] {
		case 0:
			line[c] = '#'
		case b.bound(c+1) - b.bound(c):
			line[c] = '.'
		default:
			line[c] = '+'
		}
	}
	return string(line)
}
