package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/lac"
)

// plain turns a tree into what encoding/json makes of the same document.
func plain(v Value) any {
	switch v.Kind {
	case Bool:
		return v.True
	case Number:
		return v.Number
	case String:
		return v.Text
	case Array:
		s := []any{}
		for _, item := range v.Items {
			s = append(s, plain(item))
		}
		return s
	case Object:
		m := map[string]any{}
		for _, member := range v.Members {
			m[member.Name] = plain(member.Value)
		}
		return m
	}
	return nil
}

func TestSameAsEncodingJSON(t *testing.T) {
	docs := []string{
		`null`, ` [ ] `, `{}`, `"a\"\\\/\b\f\n\r\tb"`, `"\u00e9\ud83d\ude00\ud83d"`, `-1.5e3`, `[1,[2,[3,{"a":[true,false,null]}]]]`,
		`{"a":{"b":{"c":"d"}},"e":""}`, string(document(300)),
	}
	for name, opts := range map[string][]lac.Option{
		"plain": nil, "small": {lac.WithChunkSize(512)}, "scanned": {lac.WithScanned()}, "debug": {lac.WithDebug()},
	} {
		t.Run(name, func(t *testing.T) {
			pool := lac.NewPool(name, append(opts, lac.WithMisuse(func(err error) { t.Error(err) }))...)
			for _, doc := range docs {
				var want any
				if err := json.Unmarshal([]byte(doc), &want); err != nil {
					t.Fatal(err)
				}
				ac := pool.Get()
				v, err := Parse(ac, []byte(doc))
				runtime.GC()
				if err != nil || !reflect.DeepEqual(plain(v), want) {
					t.Errorf("%.60s: %v, %v", doc, plain(v), err)
				}
				heap, err := Parse(nil, []byte(doc))
				if err != nil || !reflect.DeepEqual(heap, v) {
					t.Errorf("%.60s: heap and arena differ (%v)", doc, err)
				}
				ac.Release()
			}
		})
	}
}

func TestBadDocuments(t *testing.T) {
	for _, doc := range []string{
		``, `nul`, `[1 2]`, `{"a" 1}`, `{1:2}`, `"abc`, `"\x"`, `"\u12"`, `"\uzzzz"`, "\"\n\"", "\"\\n\x01\"", `1 2`, `--`, `[1,]`, `{"a":1,}`, `"\`,
	} {
		if v, err := Parse(nil, []byte(doc)); err == nil {
			t.Errorf("%q: parsed as %v", doc, plain(v))
		}
	}
	if _, err := Parse(nil, []byte(strings.Repeat("[", 1e6))); !errors.Is(err, errDepth) {
		t.Errorf("deep nesting: %v", err)
	}
}

// TestNumberGrammar compares all texts of up to five bytes that numbers are made of with
// encoding/json.
func TestNumberGrammar(t *testing.T) {
	texts := []string{""}
	for range 5 {
		var longer []string
		for _, text := range texts {
			for _, c := range "017-+.eE" {
				longer = append(longer, text+string(c))
			}
		}
		texts = longer
		for _, text := range texts {
			v, err := Parse(nil, []byte(text))
			var want any
			wrong := json.Unmarshal([]byte(text), &want)
			if (err == nil) != (wrong == nil) || err == nil && plain(v) != want {
				t.Errorf("%s: %v, %v, but for encoding/json %v, %v", text, plain(v), err, want, wrong)
			}
		}
	}
}

// Numbers that make no sense are refused before anything is measured.
func TestFlags(t *testing.T) {
	args, flags := os.Args, flag.CommandLine
	defer func() { os.Args, flag.CommandLine = args, flags }()
	for _, arg := range []string{"-rounds=0", "-rounds=-1", "-records=-1"} {
		flag.CommandLine = flag.NewFlagSet("example", flag.ContinueOnError)
		os.Args = []string{"example", arg}
		if err := run(); err == nil || !strings.Contains(err.Error(), "-records") {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	if err := printTable(&b, cost{allocs: 3}, cost{}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(b.String(), "heap") || !strings.Contains(b.String(), "arena") {
		t.Error(b.String())
	}
	if err := printTable(full{}, cost{}, cost{}); err != errFull {
		t.Errorf("on a full disk: %v", err)
	}
}

// full is a disk without room.
type full struct{}

var errFull = errors.New("no room")

func (full) Write([]byte) (int, error) { return 0, errFull }

func BenchmarkParse(b *testing.B) {
	doc := document(2000)
	pool := lac.NewPool("bench")
	b.Run("heap", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Parse(nil, doc)
		}
	})
	b.Run("arena", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ac := pool.Get()
			Parse(ac, doc)
			ac.Release()
		}
	})
}
