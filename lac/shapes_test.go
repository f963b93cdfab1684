package lac

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// shapes makes random struct types by reflection and builds objects of them in
// an arena, with pointers to each other and to the Go heap.
type shapes struct {
	r     *rand.Rand
	types []reflect.Type
}

var leafTypes = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[int32](),
	reflect.TypeFor[float64](), reflect.TypeFor[[3]byte](), reflect.TypeFor[complex128](), reflect.TypeFor[struct{}](),
	reflect.TypeFor[*node](), reflect.TypeFor[string](), reflect.TypeFor[[]int32](), reflect.TypeFor[any](),
	reflect.TypeFor[*int](), reflect.TypeFor[map[int]int](), reflect.TypeFor[[2]*int](),
}

// node is what objects of all shapes start with: a chain of all of them, and
// what is needed to check one.
type node struct {
	next  *node
	typ   int
	stamp uint64
}

func newShapes(seed uint64, n int) *shapes {
	s := &shapes{r: rand.New(rand.NewPCG(seed, 1))}
	for range n {
		fields := []reflect.StructField{{Name: "Node", Type: reflect.TypeFor[node]()}}
		for i := range s.r.IntN(8) {
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: leafTypes[s.r.IntN(len(leafTypes))]})
		}
		s.types = append(s.types, reflect.StructOf(fields))
	}
	return s
}

// fill sets every field to a value that follows from stamp, so that check can
// tell. Heap children are attached; new makes the others in the arena.
func (s *shapes) fill(ac *Allocator, v reflect.Value, stamp uint64, child func() *int) {
	for i := 1; i < v.NumField(); i++ {
		f := v.Field(i)
		k := int64(stamp&63) + int64(i)
		switch f.Kind() {
		case reflect.Bool:
			f.SetBool(k%2 == 0)
		case reflect.Int8, reflect.Int32:
			f.SetInt(k)
		case reflect.Uint16:
			f.SetUint(uint64(k))
		case reflect.Float64:
			f.SetFloat(float64(k))
		case reflect.String:
			f.SetString(ac.NewString(fmt.Sprint("s", k)))
		case reflect.Slice:
			f.Set(reflect.ValueOf(Append(ac, []int32(nil), int32(k), int32(k+1))))
		case reflect.Interface:
			p := ac.Int(int(k))
			f.Set(reflect.ValueOf(p))
		case reflect.Map:
			m := NewMap[int, int](ac, 1)
			m[1] = int(k)
			f.Set(reflect.ValueOf(m))
		case reflect.Pointer:
			if f.Type().Elem().Kind() == reflect.Int {
				p := Attach(ac, child())
				*p = int(k)
				f.Set(reflect.ValueOf(p))
			}
		case reflect.Array:
			if f.Type().Elem().Kind() == reflect.Pointer {
				f.Index(1).Set(reflect.ValueOf(ac.Int(int(k))))
			}
		}
	}
}

// check returns what is wrong with an object, or "".
func (s *shapes) check(n *node) string {
	v := reflect.NewAt(s.types[n.typ], unsafe.Pointer(n)).Elem()
	for i := 1; i < v.NumField(); i++ {
		f := v.Field(i)
		k := int64(n.stamp&63) + int64(i)
		ok := true
		switch f.Kind() {
		case reflect.Bool:
			ok = f.Bool() == (k%2 == 0)
		case reflect.Int8, reflect.Int32:
			ok = f.Int() == k
		case reflect.Uint16:
			ok = f.Uint() == uint64(k)
		case reflect.Float64:
			ok = f.Float() == float64(k)
		case reflect.String:
			ok = f.String() == fmt.Sprint("s", k)
		case reflect.Slice:
			ok = f.Len() == 2 && f.Index(0).Int() == k && f.Index(1).Int() == k+1
		case reflect.Interface:
			ok = f.Elem().Elem().Int() == k
		case reflect.Map:
			ok = f.Interface().(map[int]int)[1] == int(k)
		case reflect.Pointer:
			ok = f.IsNil() || f.Type().Elem().Kind() != reflect.Int || f.Elem().Int() == k
		case reflect.Array:
			ok = f.Type().Elem().Kind() != reflect.Pointer || f.Index(1).Elem().Int() == k
		}
		if !ok {
			return fmt.Sprintf("type %d stamp %d field %d (%v)", n.typ, n.stamp, i, f.Type())
		}
	}
	return ""
}

// alloc makes a zeroed object of a type that only reflection knows. Go has no
// generic function of a run-time type, so it takes the bytes that New would.
func (s *shapes) alloc(ac *Allocator, typ int) *node {
	t := s.types[typ]
	n := int(roundUp(t.Size()) / unsafe.Sizeof(uintptr(0)))
	b := NewSlice[unsafe.Pointer](ac, n, n)
	return (*node)(unsafe.Pointer(unsafe.SliceData(b)))
}

// TestRandomShapes builds objects of random shapes, lets the collector run
// again and again, and checks every one; heap children go after the release. The
// environment variable GOMEM_LAC_OBJECTS sets how many objects there are.
func TestRandomShapes(t *testing.T) {
	objects := 30_000
	if testing.Short() {
		objects = 3_000
	}
	if v := os.Getenv("GOMEM_LAC_OBJECTS"); v != "" {
		if _, err := fmt.Sscan(v, &objects); err != nil {
			t.Fatal(err)
		}
	}
	const seed = 7
	t.Logf("seed %d", seed)
	s := newShapes(seed, 200)
	p := quietPool(t)
	for round := range 2 {
		var gone, children atomic.Int64
		ac := p.Get()
		var head *node
		for i := range objects {
			n := s.alloc(ac, s.r.IntN(len(s.types)-1))
			if n.next != nil || n.stamp != 0 {
				t.Fatal("an object is not zero")
			}
			typ := s.r.IntN(len(s.types))
			n = s.alloc(ac, typ)
			n.typ, n.stamp, n.next = typ, uint64(i), head
			s.fill(ac, reflect.NewAt(s.types[typ], unsafe.Pointer(n)).Elem(), n.stamp, func() *int {
				c := &new([4]int)[0] // a cleanup of a smaller object waits for its neighbours
				children.Add(1)
				if children.Load()%16 == 0 {
					runtime.AddCleanup(c, func(g *atomic.Int64) { g.Add(1) }, &gone)
				}
				return c
			})
			head = n
			if i%(objects/10) == 0 {
				runtime.GC()
			}
		}
		for range 10 {
			runtime.GC()
		}
		count := 0
		for n := head; n != nil; n = n.next {
			if bad := s.check(n); bad != "" {
				t.Fatalf("round %d: %s", round, bad)
			}
			count++
		}
		if count != objects {
			t.Fatalf("round %d: %d objects in the chain, want %d", round, count, objects)
		}
		if g := gone.Load(); g != 0 {
			t.Fatalf("%d attached children died", g)
		}
		head = nil
		ac.Release()
		want := children.Load() / 32 // int is allocated in tiny blocks, some of which stay
		for i := 0; gone.Load() < want; i++ {
			if i == 200 {
				t.Fatalf("round %d: %d of %d heap children collected", round, gone.Load(), children.Load()/16)
			}
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	}
}
