package lac

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// Extents that overlap become one, those apart do not, and an address is found in the
// one that it lies in and in no other.
func TestExtents(t *testing.T) {
	all := mergeExtents([]extent{{50, 60}, {10, 30}, {12, 14}, {25, 40}, {70, 71}})
	if want := []extent{{10, 40}, {50, 60}, {70, 71}}; !slices.Equal(all, want) {
		t.Fatalf("merged to %v, want %v", all, want)
	}
	for a := range uintptr(80) {
		want := a >= 10 && a < 40 || a >= 50 && a < 60 || a == 70
		if _, in := extentAt(all, a); in != want {
			t.Errorf("%d lies in one: %v, want %v", a, in, want)
		}
	}
}

// A bug in a loop is one finding, and there are as many as help to read, also where one
// object has more.
func TestFindingsAreFew(t *testing.T) {
	p, log := strictPool(t, WithDebug())
	ac := p.Get()
	type node struct{ next *[3]int }
	for range 5 {
		New[node](ac).next = new([3]int)
	}
	ac.CheckExternalPointers()
	if n := strings.Count(log.all(), "\n") + 1; n != 1 {
		t.Errorf("one bug in a loop is reported %d times", n)
	}
	p.DumpStats(true)
	for range 2 {
		all := New[[maxFindings + 10]*[3]int](ac)
		for i := range all {
			all[i] = new([3]int)
		}
	}
	ac.CheckExternalPointers()
	if n := p.Stats().Misuses; n != maxFindings {
		t.Errorf("%d findings, want %d", n, maxFindings)
	}
}

// What lies between two attached objects is not attached.
func TestNotAttachedBetween(t *testing.T) {
	var all [3]*[64]byte
	for i := range all {
		all[i] = new([64]byte)
	}
	slices.SortFunc(all[:], func(a, b *[64]byte) int {
		return cmp.Compare(uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(b)))
	})
	p, log := strictPool(t, WithDebug())
	ac := p.Get()
	Attach(ac, all[0])
	Attach(ac, all[2])
	*New[*[64]byte](ac) = all[1]
	ac.Release()
	if log.all() == "" {
		t.Error("not reported")
	}
}
