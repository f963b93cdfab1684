package lac

import (
	"reflect"
	"unsafe"
)

// Attach keeps everything v refers to alive until the arena is released, and
// returns v. A pointer to the Go heap must be attached before it is stored in an
// arena object. v may be a pointer, slice, string, map, func, chan,
// unsafe.Pointer, interface, or a struct or array of such. A pointer that is
// attached many times is kept once. A pointer to an object of another arena must
// be attached too, or cleared before that arena is released or dropped. Even so the
// object ends with its own arena: the attached pointer may then be overwritten, other
// pointers to the object may not, see rule 2 of the package. A nil ac does nothing. O(1),
// amortized.
func Attach[T any](ac *Allocator, v T) T {
	if ac != nil {
		if c := ac.alive("Attach"); c != nil {
			switch kind := reflect.TypeFor[T]().Kind(); kind {
			case reflect.String:
				// An empty string would lose its pointer on the way into an interface.
				// Safety: v is a string, whatever the name of its type.
				c.keepText(*(*string)(unsafe.Pointer(&v)))
			default:
				c.attach(v, kind == reflect.Interface)
			}
			ac.grown(c)
		}
	}
	return v
}

// attach keeps v; boxed says that v came as an interface, whose box may itself
// be a heap object that the arena will point to.
func (c *core) attach(v any, boxed bool) {
	if v == nil {
		return
	}
	r := reflect.ValueOf(v)
	t := r.Type()
	size := uintptr(1)
	var p unsafe.Pointer
	switch r.Kind() {
	case reflect.Pointer:
		p, size = r.UnsafePointer(), t.Elem().Size()
	case reflect.Map, reflect.Chan, reflect.UnsafePointer, reflect.Func:
		p = dataWord(v)
	default:
		if boxed {
			c.keep(dataWord(v), t.Size(), nil)
		}
		switch r.Kind() {
		case reflect.Slice:
			p, size = r.UnsafePointer(), uintptr(r.Cap())*t.Elem().Size()
		case reflect.String:
			c.keepText(r.String())
			return
		case reflect.Struct, reflect.Array:
			if hasPointers(t) {
				c.keepFields(r)
			}
			return
		default:
			return
		}
	}
	if p != nil {
		c.keep(p, size, nil)
	}
}

// keepText attaches the bytes of v, or what an empty v points to.
func (c *core) keepText(v string) {
	if p := unsafe.Pointer(unsafe.StringData(v)); p != nil {
		c.keep(p, uintptr(len(v)), nil)
	}
}

// keepFields attaches a struct or array: everything its fields refer to.
func (c *core) keepFields(r reflect.Value) {
	box := reflect.New(r.Type())
	box.Elem().Set(r)
	c.keep(nil, 0, box.Interface())
	if c.debug == nil {
		return
	}
	// Debug mode wants to know each pointer.
	c.keepPointers(box.UnsafePointer(), r.Type())
}

// keepPointers attaches each pointer in the value of type t at p, without following
// it. Each field is read by its address: so reflect reads those that are not exported
// as well.
func (c *core) keepPointers(p unsafe.Pointer, t reflect.Type) {
	switch t.Kind() {
	case reflect.Struct:
		for field := range t.Fields() {
			c.keepPointers(unsafe.Add(p, field.Offset), field.Type)
		}
	case reflect.Array:
		for i := range t.Len() {
			c.keepPointers(unsafe.Add(p, uintptr(i)*t.Elem().Size()), t.Elem())
		}
	case reflect.Interface:
		// Safety: p is a value of type t (keepFields).
		if v := reflect.NewAt(t, p).Elem().Elem(); v.IsValid() {
			c.attach(v.Interface(), true)
		}
	default:
		// Safety: as above.
		c.attach(reflect.NewAt(t, p).Elem().Interface(), false)
	}
}

// keep adds one attachment: size bytes at p, or a value when p is nil.
func (c *core) keep(p unsafe.Pointer, size uintptr, v any) {
	locked := c.lock()
	defer c.unlock(locked)
	a := &c.attached
	c.complex()
	if p == nil {
		a.values = append(a.values, v)
		return
	}
	a.add(p, size)
}

// dataWord returns the data word of an interface: the value itself for the
// kinds that are one pointer, else the address of its box.
func dataWord(v any) unsafe.Pointer {
	// Safety: an interface is two words, type and data (runtime assumption 7).
	return (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
}

// hasPointers tells whether a value of type t contains anything the collector
// must follow.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			if hasPointers(field.Type) {
				return true
			}
		}
		return false
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.UnsafePointer, reflect.Func,
		reflect.Slice, reflect.String, reflect.Interface:
		return true
	}
	return false
}
