package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/gomem-go/gomem/lac"
)

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds of JSON values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is one JSON value. Everything it refers to lies in the same arena.
type Value struct {
	Kind    Kind
	True    bool
	Number  float64
	Text    string
	Items   []Value
	Members []Member
}

// Member is one name of an object with its value.
type Member struct {
	Name  string
	Value Value
}

// maxDepth bounds how deep arrays and objects may nest.
const maxDepth = 1000

var errDepth = errors.New("nested too deep")

// parser reads one document. With a nil arena it builds on the Go heap.
type parser struct {
	ac    *lac.Allocator
	in    []byte
	at    int
	depth int
	// Elements of open arrays and objects wait here until their number is
	// known, so that each slice is allocated once and full.
	items   []Value
	members []Member
	text    []byte
}

// Parse builds the value of a JSON document in an arena, or on the Go heap with
// a nil one. in is not referred to afterwards.
func Parse(ac *lac.Allocator, in []byte) (Value, error) {
	p := parser{ac: ac, in: in}
	v, err := p.value()
	if err == nil {
		if p.space(); p.at < len(in) {
			err = p.unexpected("the end")
		}
	}
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

func (p *parser) unexpected(want string) error {
	if p.at >= len(p.in) {
		return fmt.Errorf("the document ends where %s should be", want)
	}
	return fmt.Errorf("byte %d is %q where %s should be", p.at, p.in[p.at], want)
}

func (p *parser) space() {
	for p.at < len(p.in) {
		switch p.in[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next skips space and consumes c, if it comes next.
func (p *parser) next(c byte) bool {
	p.space()
	if p.at < len(p.in) && p.in[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) word(w string, v Value) (Value, error) {
	if len(p.in)-p.at < len(w) || string(p.in[p.at:p.at+len(w)]) != w {
		return v, p.unexpected(w)
	}
	p.at += len(w)
	return v, nil
}

func (p *parser) value() (Value, error) {
	p.space()
	if p.at >= len(p.in) {
		return Value{}, p.unexpected("a value")
	}
	switch p.in[p.at] {
	case 'n':
		return p.word("null", Value{})
	case 't':
		return p.word("true", Value{Kind: Bool, True: true})
	case 'f':
		return p.word("false", Value{Kind: Bool})
	case '"':
		s, err := p.string()
		return Value{Kind: String, Text: s}, err
	case '[', '{':
		if p.depth++; p.depth > maxDepth {
			return Value{}, errDepth
		}
		defer func() { p.depth-- }()
		p.at++
		if p.in[p.at-1] == '[' {
			return p.array()
		}
		return p.object()
	}
	return p.number()
}

func (p *parser) array() (Value, error) {
	first := len(p.items)
	for !p.next(']') {
		if len(p.items) > first && !p.next(',') {
			return Value{}, p.unexpected("a comma")
		}
		v, err := p.value()
		if err != nil {
			return Value{}, err
		}
		p.items = append(p.items, v)
	}
	n := len(p.items) - first
	v := Value{Kind: Array, Items: lac.NewSlice[Value](p.ac, n, n)}
	copy(v.Items, p.items[first:])
	p.items = p.items[:first]
	return v, nil
}

func (p *parser) object() (Value, error) {
	first := len(p.members)
	for !p.next('}') {
		if len(p.members) > first && !p.next(',') {
			return Value{}, p.unexpected("a comma")
		}
		p.space()
		name, err := p.string()
		if err != nil {
			return Value{}, err
		}
		if !p.next(':') {
			return Value{}, p.unexpected("a colon")
		}
		v, err := p.value()
		if err != nil {
			return Value{}, err
		}
		p.members = append(p.members, Member{name, v})
	}
	n := len(p.members) - first
	v := Value{Kind: Object, Members: lac.NewSlice[Member](p.ac, n, n)}
	copy(v.Members, p.members[first:])
	p.members = p.members[:first]
	return v, nil
}

// oneOf consumes the next byte if it is one of set.
func (p *parser) oneOf(set string) bool {
	if p.at < len(p.in) && strings.IndexByte(set, p.in[p.at]) >= 0 {
		p.at++
		return true
	}
	return false
}

// digits consumes digits and reports whether there was one.
func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.in) && p.in[p.at] >= '0' && p.in[p.at] <= '9' {
		p.at++
	}
	return p.at > start
}

func (p *parser) number() (Value, error) {
	start, want := p.at, "a value"
	if p.oneOf("-") {
		want = "a digit"
	}
	if !p.oneOf("0") && !p.digits() {
		return Value{}, p.unexpected(want)
	}
	if p.oneOf(".") && !p.digits() {
		return Value{}, p.unexpected("a digit")
	}
	if p.oneOf("eE") {
		p.oneOf("+-")
		if !p.digits() {
			return Value{}, p.unexpected("a digit")
		}
	}
	n, err := strconv.ParseFloat(string(p.in[start:p.at]), 64)
	if err != nil {
		return Value{}, fmt.Errorf("byte %d: %w", start, err)
	}
	return Value{Kind: Number, Number: n}, nil
}

// keep copies text into the arena.
func (p *parser) keep(text []byte) string {
	if p.ac == nil {
		return string(text)
	}
	b := lac.NewSlice[byte](p.ac, len(text), len(text))
	copy(b, text)
	// Safety: nobody else has b, so its bytes do not change any more.
	return unsafe.String(unsafe.SliceData(b), len(b))
}

func (p *parser) string() (string, error) {
	if p.at >= len(p.in) || p.in[p.at] != '"' {
		return "", p.unexpected("a string")
	}
	p.at++
	start := p.at
	for p.at < len(p.in) {
		switch c := p.in[p.at]; {
		case c == '"':
			p.at++
			return p.keep(p.in[start : p.at-1]), nil
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", p.unexpected("a printable character")
		}
		p.at++
	}
	return "", p.unexpected("a quotation mark")
}

// escaped reads the rest of a string whose first escape is at p.at.
func (p *parser) escaped(start int) (string, error) {
	p.text = append(p.text[:0], p.in[start:p.at]...)
	for p.at < len(p.in) {
		c := p.in[p.at]
		p.at++
		switch {
		case c == '"':
			return p.keep(p.text), nil
		case c < ' ':
			p.at--
			return "", p.unexpected("a printable character")
		case c != '\\':
			p.text = append(p.text, c)
			continue
		}
		if p.at >= len(p.in) {
			break
		}
		c = p.in[p.at]
		p.at++
		switch c {
		case '"', '\\', '/':
			p.text = append(p.text, c)
		case 'b':
			p.text = append(p.text, '\b')
		case 'f':
			p.text = append(p.text, '\f')
		case 'n':
			p.text = append(p.text, '\n')
		case 'r':
			p.text = append(p.text, '\r')
		case 't':
			p.text = append(p.text, '\t')
		case 'u':
			r, err := p.hex()
			if err != nil {
				return "", err
			}
			if utf16.IsSurrogate(r) {
				r = p.pair(r)
			}
			p.text = utf8.AppendRune(p.text, r)
		default:
			p.at--
			return "", p.unexpected("an escape")
		}
	}
	return "", p.unexpected("a quotation mark")
}

// hex reads the four digits of a \u escape.
func (p *parser) hex() (rune, error) {
	if len(p.in)-p.at < 4 {
		p.at = len(p.in)
		return 0, p.unexpected("four digits")
	}
	n, err := strconv.ParseUint(string(p.in[p.at:p.at+4]), 16, 16)
	if err != nil {
		return 0, p.unexpected("four digits")
	}
	p.at += 4
	return rune(n), nil
}

// pair joins a surrogate with the one that follows, if one does.
func (p *parser) pair(first rune) rune {
	if len(p.in)-p.at >= 6 && p.in[p.at] == '\\' && p.in[p.at+1] == 'u' {
		before := p.at
		p.at += 2
		if second, err := p.hex(); err == nil {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r
			}
		}
		p.at = before
	}
	return utf8.RuneError
}
