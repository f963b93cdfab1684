package wazeromem

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/gomemtest"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// TestFailedInstantiation: wazero never frees the memory of a module that has failed. The
// collector does.
func TestFailedInstantiation(t *testing.T) {
	engines(t, func(t *testing.T, config wazero.RuntimeConfig) {
		for what, g := range map[string]guest{"data": {min: 2, badData: true}, "start": {min: 2, badStart: true}} {
			a := gomemtest.New(t)
			h := newHost(t, config, New(a))
			if _, err := h.try("", g); err == nil {
				t.Fatalf("%s: no error", what)
			}
			collect(t, a)
		}
		// A name that is taken is found last; there wazero closes the module.
		a := gomemtest.New(t)
		h := newHost(t, config, New(a))
		h.start("same", guest{min: 1})
		live := a.Stats().Live
		if _, err := h.try("same", guest{min: 1}); err == nil || a.Stats().Live != live {
			t.Errorf("%v, %d bytes live instead of %d", err, a.Stats().Live, live)
		}
	})
}

// collect waits until nothing of a is live, which takes some garbage collections.
func collect(t *testing.T, a *gomem.ScalableMemoryAllocator) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); a.Stats().Live != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are live", a.Stats().Live)
		}
		runtime.GC()
	}
}

// TestDroppedRuntime: nobody closes anything, and the memory is not lost; as long as
// somebody has the module it stays.
func TestDroppedRuntime(t *testing.T) {
	engines(t, func(t *testing.T, config wazero.RuntimeConfig) {
		a := gomemtest.New(t)
		ctx := experimental.WithMemoryAllocator(t.Context(), New(a))
		mod, err := wazero.NewRuntimeWithConfig(ctx, config).Instantiate(ctx, guest{min: 2}.wasm())
		if err != nil {
			t.Fatal(err)
		}
		pattern(bytesOf(t, mod))
		for range 3 {
			runtime.GC()
		}
		if !same(bytesOf(t, mod)) {
			t.Error("collected too soon")
		}
		runtime.KeepAlive(mod)
		collect(t, a)
	})
}

// counting counts what wazero calls.
type counting struct {
	experimental.LinearMemory
	frees int
}

func (c *counting) Free() { c.frees++; c.LinearMemory.Free() }

// TestFreedOnce: after the close of the module, of the runtime, of both, twice.
func TestFreedOnce(t *testing.T) {
	engines(t, func(t *testing.T, config wazero.RuntimeConfig) {
		a := gomemtest.New(t)
		var all []*counting
		h := newHost(t, config, experimental.MemoryAllocatorFunc(func(c, m uint64) experimental.LinearMemory {
			all = append(all, &counting{LinearMemory: New(a).Allocate(c, m)})
			return all[len(all)-1]
		}))
		mod := h.start("closed", guest{min: 1})
		h.start("left", guest{min: 1})
		for range 2 {
			if err := mod.Close(h.ctx); err != nil {
				t.Error(err)
			}
		}
		h.close()
		for i, c := range all {
			if c.frees != 1 {
				t.Errorf("memory %d was freed %d times", i, c.frees)
			}
		}
		if got := a.Stats(); len(all) != 2 || got.Live != 0 {
			t.Errorf("%d memories, %d bytes live", len(all), got.Live)
		}
	})
}

// TestContextDone: a guest that is ended by its context gives its memory back.
func TestContextDone(t *testing.T) {
	engines(t, func(t *testing.T, config wazero.RuntimeConfig) {
		a := gomemtest.New(t)
		h := newHost(t, config.WithCloseOnContextDone(true), New(a))
		mod := h.start("", guest{min: 1})
		ctx, cancel := context.WithTimeout(h.ctx, 10*time.Millisecond)
		defer cancel()
		if _, err := mod.ExportedFunction("spin").Call(ctx); err == nil {
			t.Error("no error")
		}
		if live := a.Stats().Live; live != 0 {
			t.Errorf("%d bytes live", live)
		}
	})
}

// TestImporterFrees holds on to what wazero v1.12.0 does, for the package comment: the close
// of a module frees the memory that it imports. If this fails, wazero has been mended.
func TestImporterFrees(t *testing.T) {
	engines(t, func(t *testing.T, config wazero.RuntimeConfig) {
		a := gomemtest.New(t)
		h := newHost(t, config, New(a))
		h.start("owner", guest{min: 1})
		importer := h.start("importer", guest{min: 1, imports: true})
		h.call(importer, "store", 0, 5)
		if err := importer.Close(h.ctx); err != nil {
			t.Fatal(err)
		}
		if live := a.Stats().Live; live != 0 {
			t.Errorf("%d bytes live: the package comment is out of date", live)
		}
		h.close() // the owner's close finds nothing to free
	})
}

// TestCallAfterClose is the same for a call of a closed module: it runs, in memory that may be
// another guest's, before it returns an error. Debug mode finds it.
func TestCallAfterClose(t *testing.T) {
	engines(t, func(t *testing.T, config wazero.RuntimeConfig) {
		var found error
		a := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithDebug(gomem.DebugOptions{}), gomem.WithMisuse(func(err error) { found = err }))
		h := newHost(t, config, New(a))
		mod := h.start("", guest{min: 1})
		store := mod.ExportedFunction("store")
		if err := mod.Close(h.ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Call(h.ctx, 0, 5); err == nil {
			t.Error("no error")
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if !errors.Is(found, gomem.ErrUseAfterFree) {
			t.Errorf("got %v: the package comment is out of date", found)
		}
	})
}
