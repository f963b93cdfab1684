package lac

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// What is not noticed by default, as the package says: a stale handle that was
// lent again, after all others of its processor. Debug mode notices for ever.
func TestStaleHandleLimit(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var stack [32 << 10]byte // else it moves when the report is written, and the seat stays
	stack[len(t.Name())]++
	for _, debug := range []bool{false, true} {
		var opts []Option
		if debug {
			opts = append(opts, WithDebug())
		}
		p, _ := strictPool(t, opts...)
		p.Get().Release() // makes the first handles
		stale := p.Get()
		stale.Release()
		for range slabLen / 2 {
			p.Get().Release()
		}
		stale.Release()
		if n := p.Stats().Misuses; n != 1 {
			t.Errorf("debug %v: %d reports while the handle waits, want 1", debug, n)
		}
		again := false
		for range 3 * slabLen {
			ac := p.Get()
			again = again || ac == stale
			ac.Release()
		}
		if again == debug {
			t.Errorf("debug %v: the handle was lent again: %v", debug, again)
		}
	}
	runtime.KeepAlive(&stack)
}

type scannedNode struct {
	next *scannedNode
	heap *[2]int
	any  any
	text string
	list []*int
	id   int
}

// In scanned mode nothing needs Attach, whatever is stored where.
func TestScannedKeepsHeapObjects(t *testing.T) {
	for _, release := range []bool{true, false} {
		p := quietPool(t, WithScanned())
		for round := range 4 {
			ac := p.Get()
			var head *scannedNode
			for i := range 3000 {
				n := New[scannedNode](ac)
				if n.next != nil || n.heap != nil || n.any != nil || n.text != "" || n.list != nil || n.id != 0 {
					t.Fatal("not zero")
				}
				n.id, n.heap, n.any = i, &[2]int{i, round}, fmt.Sprint(i)
				n.text = strings.Repeat("t", i%50)
				n.list = Append(ac, n.list, new(int), ac.Int(i))
				n.next, head = head, n
				if i%1000 == 0 {
					churn()
				}
			}
			churn()
			i := 2999
			for n := head; n != nil; n = n.next {
				if n.id != i || *n.heap != [2]int{i, round} || n.any != fmt.Sprint(i) || len(n.text) != i%50 || *n.list[1] != i {
					t.Fatalf("round %d: node %d is damaged", round, i)
				}
				i--
			}
			if i != -1 {
				t.Fatalf("round %d: the list ends at %d", round, i)
			}
			if release {
				ac.Release()
			}
		}
	}
}

// Types whose places in the cache are the same do not get each other's memory, and
// elements follow one another.
func TestScannedSlabsByType(t *testing.T) {
	type large struct{ p [20]*int }
	ac := quietPool(t, WithScanned()).Get()
	defer ac.Release()
	small := New[*int](ac)
	c := ac.core
	first := *c.typed.cached(typeID[*int]())
	for round := range 3 {
		for i := range c.typed.cache {
			c.typed.cache[i] = first
		}
		var l *large
		if round == 1 {
			l = &NewSlice[large](ac, 1, 1)[0]
		} else {
			l = New[large](ac)
		}
		if block := first.blocks[0]; uintptr(unsafe.Pointer(l))-uintptr(block.p) < uintptr(block.n)*first.size {
			t.Errorf("round %d: an object lies in the memory of another type", round)
		}
	}
	c.typed.cache = [64]*slab{}
	New[*int](ac)
	third, fourth := New[*int](ac), New[*int](ac)
	if from := uintptr(unsafe.Pointer(small)); uintptr(unsafe.Pointer(third))-from != 2*word || uintptr(unsafe.Pointer(fourth))-from != 3*word {
		t.Errorf("pointers at %p, %p and %p", small, third, fourth)
	}
}

// A slab is there for the next arena, and forgotten if that has no use for it.
func TestScannedSlabStays(t *testing.T) {
	p := quietPool(t, WithScanned())
	var c *core
	use := func() {
		ac := p.Get()
		c = ac.core
		New[*int](ac)
		ac.Release()
	}
	use()
	first := c
	block := c.typed.own[0].blocks[0].p
	for range 10 {
		use()
		if c != first {
			continue // the stack has moved, and the seat is another
		}
		if len(c.typed.own) != 1 || len(c.typed.own[0].blocks) != 1 || c.typed.own[0].blocks[0].p != block {
			t.Fatal("no slab is left for the next arena")
		}
	}
	c.typed.reset() // an arena without pointers lets go of the block, and the next one of the slab
	c.typed.reset()
	if len(c.typed.own) != 0 || len(c.typed.slabs) != 0 || *c.typed.cached(typeID[*int]()) != nil {
		t.Errorf("%d slabs stay that two arenas did not use", len(c.typed.own))
	}
}

// What holds no pointer, and an array of nothing, lies in the chunks and not in a slab.
func TestScannedWithoutPointers(t *testing.T) {
	ac := quietPool(t, WithScanned()).Get()
	defer ac.Release()
	New[[3]int](ac)
	New[struct {
		_ [0]*int
		n [2]struct{ f float64 }
	}](ac)
	NewSlice[[2]uint32](ac, 3, 3)
	if n := len(ac.core.typed.own); n != 0 {
		t.Errorf("%d slabs", n)
	}
	New[[3]struct{ p [1]*int }](ac)
	if n := len(ac.core.typed.own); n != 1 {
		t.Errorf("%d slabs for a type with pointers", n)
	}
}
