package lac

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"
)

// target is what pointers of random objects lead into.
type target struct {
	n     [6]int
	empty struct{}
}

var globalTarget target

var pointerTypes = []reflect.Type{
	reflect.TypeFor[*int](), reflect.TypeFor[*struct{}](), reflect.TypeFor[[]int](), reflect.TypeFor[string](),
	reflect.TypeFor[map[int]int](), reflect.TypeFor[chan int](), reflect.TypeFor[func() int](),
	reflect.TypeFor[unsafe.Pointer](), reflect.TypeFor[any](), reflect.TypeFor[fmt.Stringer](),
	// What follows holds no pointer, even if it looks like one.
	reflect.TypeFor[uintptr](), reflect.TypeFor[[3]byte](), reflect.TypeFor[[0]*int](), reflect.TypeFor[struct{}](),
}

// boxed lies in a box of its own as the value of an interface, pointed does not.
type (
	boxed   struct{ p, q *int }
	pointed struct{ p *int }
)

func (boxed) String() string   { return "" }
func (pointed) String() string { return "" }

// randomType is one of those, or structs and arrays of such.
func randomType(r *rand.Rand, depth int) reflect.Type {
	switch k := r.IntN(6); {
	case depth > 0 && k == 0:
		return reflect.ArrayOf(r.IntN(4), randomType(r, depth-1))
	case depth > 0 && k < 3:
		fields := make([]reflect.StructField, r.IntN(5))
		for i := range fields {
			fields[i] = reflect.StructField{Name: fmt.Sprint("F", i), Type: randomType(r, depth-1)}
		}
		return reflect.StructOf(fields)
	}
	return pointerTypes[r.IntN(len(pointerTypes))]
}

// planter sets the fields of objects in a debug arena, and knows what it has to report.
type planter struct {
	r         *rand.Rand
	ac, other *Allocator
	want      []string
	alive     []any // unattached objects must not go, or others come to lie there
}

// target is a target, and tells whether a pointer to it is to be reported.
func (p *planter) target() (to *target, bad bool) {
	switch p.r.IntN(5) {
	case 0:
		return &globalTarget, false
	case 1:
		return New[target](p.ac), false
	case 2:
		return New[target](p.other), false
	}
	to = new(target)
	return to, p.attach(to)
}

// attach attaches v, in one way or another, or leaves it out and returns true.
func (p *planter) attach(v any) (bad bool) {
	p.alive = append(p.alive, v)
	switch p.r.IntN(5) {
	case 0:
		Attach(p.ac, v)
	case 1:
		Attach(p.ac, struct{ v any }{v})
	case 2:
		Attach(p.ac, [2]any{1: v})
	default:
		return true
	}
	return false
}

// plant sets v to something that may have to be reported as path.
func (p *planter) plant(v reflect.Value, path string) {
	to, bad := p.target()
	i := p.r.IntN(len(to.n))
	n := &to.n[i]
	set := func(v reflect.Value, to any) { v.Set(reflect.ValueOf(to)) }
	// own is for what is no part of a target.
	own := func(to any) {
		set(v, to)
		bad = p.attach(to)
	}
	switch kind := v.Kind(); {
	case kind == reflect.Struct:
		for i := range v.NumField() {
			p.plant(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
		return
	case kind == reflect.Array && v.Type().Elem().Kind() != reflect.Uint8:
		for i := range v.Len() {
			p.plant(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
		return
	case kind == reflect.Uintptr:
		v.SetUint(uint64(uintptr(unsafe.Pointer(n))))
		return
	case kind == reflect.Array || p.r.IntN(6) == 0:
		return // bytes, or a nil pointer
	case kind == reflect.Pointer && v.Type().Elem().Size() == 0:
		set(v, &to.empty)
	case kind == reflect.Pointer:
		set(v, n)
	case kind == reflect.Slice:
		j := i + p.r.IntN(len(to.n)+1-i)
		set(v, to.n[i:j:j])
	case kind == reflect.String && p.r.IntN(2) == 0:
		v.SetString(unsafe.String((*byte)(unsafe.Pointer(n)), i))
	case kind == reflect.String:
		v.SetString(p.ac.NewString(path))
		bad = false
	case kind == reflect.Map:
		own(map[int]int{i: i})
	case kind == reflect.Chan:
		own(make(chan int, i))
	case kind == reflect.Func && i == 0:
		set(v, func() int { return 0 })
		bad = false
	case kind == reflect.Func:
		own(func() int { return *n })
	case kind == reflect.UnsafePointer:
		v.SetPointer(unsafe.Pointer(n))
	case i < 3:
		own(boxed{n, nil})
	default:
		set(v, pointed{n})
	}
	if bad && !slices.Contains(p.want, path) {
		p.want = append(p.want, path)
	}
}

// TestRandomAttachments: debug mode reports each pointer of objects of random types that
// leads to an unattached object on the Go heap, and no other.
func TestRandomAttachments(t *testing.T) {
	if !exactHeap {
		t.Skip("portable builds do not look at strings, functions and boxes")
	}
	const seed = 3
	t.Logf("seed %d", seed)
	for round := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, round))
		pool := NewPool(t.Name(), WithDebug(), WithMisuse(func(error) {}))
		p := &planter{r: r, ac: pool.Get(), other: pool.Get()}
		rec := p.ac.core.debug
		for range r.IntN(6) {
			typ, n := randomType(r, 4), 1+r.IntN(3)
			if typ.Size() == 0 {
				continue
			}
			// Go has no generic function of a run-time type.
			at := rec.take(roundUp(typ.Size() * uintptr(n)))
			rec.objects = append(rec.objects, object{at, typ, n})
			for i := range n {
				name := typ.String()
				if n > 1 {
					name = fmt.Sprintf("[]%v[%d]", typ, i)
				}
				p.plant(reflect.NewAt(typ, unsafe.Add(at, uintptr(i)*typ.Size())).Elem(), name)
			}
		}
		got := p.ac.core.unattached()
		slices.Sort(got)
		slices.Sort(p.want)
		if len(p.want) <= maxFindings && !slices.Equal(got, p.want) {
			t.Fatalf("round %d: reported %q, want %q", round, got, p.want)
		}
		p.ac.Release()
		p.other.Release()
	}
}
