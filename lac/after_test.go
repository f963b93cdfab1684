package lac

import (
	"errors"
	"testing"
	"unsafe"
)

// Each call on a released handle is reported once, and nothing else of it is noticed.
func TestEachLateCallIsReportedOnce(t *testing.T) {
	for mode, opts := range modes {
		p, _ := strictPool(t, opts...)
		ac := p.Get()
		ac.Release()
		for name, f := range map[string]func(){
			"New":                   func() { New[[3]int](ac)[2] = 1 },
			"NewFrom":               func() { NewFrom(ac, new(int)) },
			"NewEnum":               func() { NewEnum(ac, 1.5) },
			"NewSlice":              func() { NewSlice[*int](ac, 1, 2)[0] = new(int) },
			"Append":                func() { Append(ac, []string{"a"}, "b") },
			"NewMap":                func() { NewMap[int, int](ac, 3)[1] = 2 },
			"NewString":             func() { ac.NewString("late") },
			"String":                func() { *ac.String("late") += "r" },
			"String, empty":         func() { *ac.String("") += "r" },
			"String, long":          func() { *ac.String("later than sixteen bytes") += "r" },
			"Int":                   func() { *ac.Int(1)++ },
			"Attach":                func() { Attach(ac, "text") },
			"IncRef":                ac.IncRef,
			"DecRef":                ac.DecRef,
			"Release":               ac.Release,
			"Fork":                  func() { ac.Fork() },
			"CheckExternalPointers": ac.CheckExternalPointers,
		} {
			p.DumpStats(true)
			f()
			if n := p.Stats().Misuses; n != 1 || !errors.Is(p.Err(), ErrReleased) {
				t.Errorf("%s, %s: %d reports, last %v", mode, name, n, p.Err())
			}
		}
	}
}

// The slice that a released arena handed out last does not grow in its memory.
func TestLateAppendMoves(t *testing.T) {
	p, _ := strictPool(t)
	ac := p.Get()
	last := NewSlice[int](ac, 1, 1)
	ac.Release()
	next := p.Get()
	if late := Append(ac, last, 2); unsafe.SliceData(late) == unsafe.SliceData(last) || late[1] != 2 {
		t.Errorf("%d in the memory of the next arena", late)
	}
	next.Release()
}

// A released arena keeps nothing of what was attached, nor the room for very much.
func TestRoomOfAttachmentsGoes(t *testing.T) {
	for name, attach := range map[string]func(ac *Allocator){
		"pointers": func(ac *Allocator) { Attach(ac, new(int)) },
		"values":   func(ac *Allocator) { Attach(ac, struct{ p *int }{new(int)}) },
	} {
		p := quietPool(t)
		for _, n := range []int{20_000, 10} {
			ac := p.Get()
			for range n {
				attach(ac)
			}
			c := ac.core
			a := &c.attached
			if len(a.values)+len(a.pointers) != n {
				t.Errorf("%d values and %d pointers kept, want %d", len(a.values), len(a.pointers), n)
			}
			ac.Release()
			if cap(a.values) > maxKeptAttachments || len(a.values)+len(a.pointers) > 0 {
				t.Errorf("%s, after %d: room for %d values, %d pointers", name, n, cap(a.values), len(a.pointers))
			}
		}
	}
}
