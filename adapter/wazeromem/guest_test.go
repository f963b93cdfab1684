package wazeromem

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// guest says what a module written by hand is to have. Its memory is exported as "memory",
// and it exports the functions grow, store, load, add (atomic), spin (which does not end).
type guest struct {
	min, max int // pages; max 0: none
	shared   bool
	imports  bool // the memory is that of the module "owner"
	badData  bool // a data segment beyond the end of the memory
	badStart bool // a start function that traps
}

// leb is n in LEB128, which for n < 64 is the same with a sign and without one.
func leb(n int) []byte {
	var b []byte
	for n >= 64 {
		b, n = append(b, byte(n&0x7f|0x80)), n>>7
	}
	return append(b, byte(n))
}

func section(id byte, items ...[]byte) []byte {
	body := append(leb(len(items)), slices.Concat(items...)...)
	return slices.Concat([]byte{id}, leb(len(body)), body)
}

func named(name string, rest ...byte) []byte {
	return slices.Concat(leb(len(name)), []byte(name), rest)
}

func function(code ...byte) []byte {
	body := slices.Concat([]byte{0}, code, []byte{0x0b}) // no locals, end
	return append(leb(len(body)), body...)
}

func (g guest) wasm() []byte {
	limits := slices.Concat([]byte{0}, leb(g.min))
	if g.max > 0 {
		limits = slices.Concat([]byte{1}, leb(g.min), leb(g.max))
	}
	if g.shared {
		limits[0] |= 2
	}
	m := []byte("\x00asm\x01\x00\x00\x00")
	add := func(s []byte) { m = append(m, s...) }
	add(section(1, // types
		[]byte{0x60, 1, 0x7f, 1, 0x7f},       // (i32) i32
		[]byte{0x60, 2, 0x7f, 0x7f, 0},       // (i32, i32)
		[]byte{0x60, 0, 0},                   // ()
		[]byte{0x60, 2, 0x7f, 0x7f, 1, 0x7f}, // (i32, i32) i32
	))
	if g.imports {
		add(section(2, slices.Concat(named("owner"), named("memory", 2), limits)))
	}
	add(section(3, []byte{0}, []byte{1}, []byte{0}, []byte{3}, []byte{2}, []byte{2}))
	if !g.imports {
		add(section(5, limits))
	}
	exports := [][]byte{
		named("memory", 2, 0), named("grow", 0, 0), named("store", 0, 1), named("load", 0, 2), named("spin", 0, 4),
	}
	code := [][]byte{
		function(0x20, 0, 0x40, 0),             // memory.grow
		function(0x20, 0, 0x20, 1, 0x36, 2, 0), // i32.store
		function(0x20, 0, 0x28, 2, 0),          // i32.load
		function(0x20, 0, 0x20, 0, 0x28, 2, 0), // replaced below if there are threads
		function(0x03, 0x40, 0x0c, 0, 0x0b),    // loop br 0 end
		function(0),                            // unreachable
	}
	code[3] = function(0x41, 0)
	if g.shared {
		code[3] = function(0x20, 0, 0x20, 1, 0xfe, 0x1e, 2, 0) // i32.atomic.rmw.add
		exports = append(exports, named("add", 0, 3))
	}
	add(section(7, exports...))
	if g.badStart {
		add([]byte{8, 1, 5})
	}
	add(section(10, code...))
	if g.badData {
		add(section(11, slices.Concat([]byte{0, 0x41}, leb(g.min<<16), []byte{0x0b}, named("x"))))
	}
	return m
}

// engines runs test on the compiler and on the interpreter.
func engines(t *testing.T, test func(t *testing.T, config wazero.RuntimeConfig)) {
	features := api.CoreFeaturesV2 | experimental.CoreFeaturesThreads
	t.Run("interpreter", func(t *testing.T) {
		test(t, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	})
	t.Run("compiler", func(t *testing.T) {
		config := wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features)
		if !compiles(config) {
			t.Skip("no compiler for this processor")
		}
		test(t, config)
	})
}

// compiles says whether there is a compiler; without one wazero panics.
func compiles(config wazero.RuntimeConfig) (ok bool) {
	defer func() { ok = recover() == nil }()
	ctx := context.Background()
	return wazero.NewRuntimeWithConfig(ctx, config).Close(ctx) == nil
}

// host is a runtime whose guests have memory from m.
type host struct {
	t   *testing.T
	ctx context.Context
	r   wazero.Runtime
}

func newHost(t *testing.T, config wazero.RuntimeConfig, m experimental.MemoryAllocator) host {
	ctx := experimental.WithMemoryAllocator(t.Context(), m)
	h := host{t, ctx, wazero.NewRuntimeWithConfig(ctx, config)}
	t.Cleanup(func() { h.close() })
	return h
}

func (h host) close() {
	h.t.Helper()
	if err := h.r.Close(context.Background()); err != nil {
		h.t.Error(err)
	}
}

func (h host) compile(g guest) wazero.CompiledModule {
	h.t.Helper()
	c, err := h.r.CompileModule(h.ctx, g.wasm())
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// try instantiates g under a name.
func (h host) try(name string, g guest) (api.Module, error) {
	h.t.Helper()
	return Instantiate(h.ctx, h.r, h.compile(g), wazero.NewModuleConfig().WithName(name))
}

func (h host) start(name string, g guest) api.Module {
	h.t.Helper()
	mod, err := h.try(name, g)
	if err != nil {
		h.t.Fatal(err)
	}
	return mod
}

// call calls a function, which is to succeed.
func (h host) call(mod api.Module, function string, args ...uint64) int32 {
	h.t.Helper()
	result, err := mod.ExportedFunction(function).Call(h.ctx, args...)
	if err != nil {
		h.t.Fatal(err)
	}
	if len(result) == 0 {
		return 0
	}
	return int32(result[0])
}

// bytes is all of the guest's memory.
func bytesOf(t *testing.T, mod api.Module) []byte {
	t.Helper()
	b, ok := mod.Memory().Read(0, mod.Memory().Size())
	if !ok {
		t.Fatal("no memory")
	}
	return b
}

// Contents of which every word differs, and none.
var (
	differs = func() []byte {
		b := make([]byte, 64*page)
		for i := 0; i < len(b); i += 4 {
			binary.LittleEndian.PutUint32(b[i:], uint32(i)|1)
		}
		return b
	}()
	zeros = make([]byte, 64*page)
)

// pattern fills b, and same says whether that is still there. Both compare and copy as a
// whole, which takes little time under the race detector.
func pattern(b []byte)   { copy(b, differs) }
func same(b []byte) bool { return bytes.Equal(b, differs[:len(b)]) }
func zero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }
