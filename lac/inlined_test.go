package lac

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The fast paths are inlined: each fits the compiler's budget, some just so. Also
// by a profile of a program that takes the slow ones often.
func TestInlined(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package")
	}
	profile := filepath.Join(t.TempDir(), "cpu.pprof")
	if err := os.WriteFile(profile, profileOf(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, build := range []string{"-pgo=off", "-pgo=" + profile} {
		out, err := exec.Command("go", "build", build, "-gcflags=-m", ".").CombinedOutput()
		if err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		for _, name := range []string{
			"alloc", "(*Allocator).elsewhere", "put[int]", "(*Allocator).Int", "(*Allocator).Float64",
			"(*Allocator).Release", "(*Allocator).DecRef", "(*AllocatorPool).Get",
		} {
			if !strings.Contains(string(out), "can inline "+name+"\n") {
				t.Errorf("%s: %s is not inlined", build, name)
			}
		}
		if strings.Contains(string(out), "PGO devirtualizing") {
			t.Errorf("%s: a slow path is guessed", build)
		}
	}
}

// profileOf returns a CPU profile in which each function that takes its slow path as a
// parameter calls all that it could, as methods and as functions.
func profileOf(t *testing.T) []byte {
	const pkg = "github.com/gomem-go/gomem/lac."
	var p profile
	for _, c := range []struct {
		file, caller, call string
		callees            []string
	}{
		{"new.go", "alloc", "out(ac, n, slow)", []string{"(*Allocator).elsewhere"}},
		{"shared.go", "(*Allocator).elsewhere", "slow(ac)", []string{"(*Allocator).none"}},
		{"release.go", "leave", "out(ac)", []string{"(*Allocator).releaseSlow", "(*Allocator).decRefSlow"}},
		{"get.go", "get", "slow(p, ", []string{"(*AllocatorPool).getSlow"}},
	} {
		start, line := lines(t, c.file, bare(c.caller), c.call)
		for _, callee := range c.callees {
			p.add(pkg+callee, pkg+c.caller, start, line)
			p.add(pkg+bare(callee), pkg+bare(c.caller), start, line)
		}
	}
	return p.encode()
}

// bare is the name of a method without its type.
func bare(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// lines returns the line on which a function begins, and that of a call in it.
func lines(t *testing.T, file, name, call string) (start, line int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(s, "func ") && strings.Contains(s, " "+name+"("):
			start = i + 1
		case start > 0 && strings.Contains(s, call):
			return start, i + 1
		}
	}
	t.Fatalf("%s: no %q in %s", file, call, name)
	return 0, 0
}

// profile is a CPU profile as runtime/pprof writes it, of stacks of two functions.
type profile struct {
	strings                      []string
	samples, locations, function []byte
	n                            uint64
}

func (p *profile) add(callee, caller string, start, line int) {
	leaf, root := p.at(callee, 1, 1), p.at(caller, start, line)
	p.samples = field(p.samples, 2, packed(1, leaf, root), packed(2, 1000, 10_000_000_000))
}

// at adds a location and its function, and returns the number of both.
func (p *profile) at(name string, start, line int) uint64 {
	p.n++
	s := p.text(name)
	p.locations = field(p.locations, 4, number(1, p.n), field(nil, 4, number(1, p.n), number(2, uint64(line))))
	p.function = field(p.function, 5, number(1, p.n), number(2, s), number(3, s), number(5, uint64(start)))
	return p.n
}

func (p *profile) text(s string) uint64 {
	if p.strings == nil {
		p.strings = []string{""}
	}
	p.strings = append(p.strings, s)
	return uint64(len(p.strings) - 1)
}

func (p *profile) encode() (out []byte) {
	for _, v := range [][2]string{{"samples", "count"}, {"cpu", "nanoseconds"}} {
		out = field(out, 1, number(1, p.text(v[0])), number(2, p.text(v[1])))
	}
	out = slices.Concat(out, p.samples, p.locations, p.function)
	for _, s := range p.strings {
		out = field(out, 6, []byte(s))
	}
	return out
}

// field appends a field of protocol buffers that holds others.
func field(to []byte, tag byte, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return slices.Concat(to, []byte{tag<<3 | 2}, varint(uint64(len(body))), body)
}

func packed(tag byte, values ...uint64) []byte {
	var body []byte
	for _, v := range values {
		body = append(body, varint(v)...)
	}
	return field(nil, tag, body)
}

func number(tag byte, v uint64) []byte { return append([]byte{tag << 3}, varint(v)...) }

func varint(v uint64) []byte { return binary.AppendUvarint(nil, v) }
