package backing_test

import (
	"errors"
	"math"
	"syscall"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

func TestFaultyFailsTheCallAskedFor(t *testing.T) {
	f := backing.NewFaulty(backing.Heap())
	f.Fail(backing.OpMap, 3, syscall.EINVAL)
	var mems [][]byte
	for call := 1; call <= 4; call++ {
		mem, err := f.Map(4096)
		if (call == 3) != (err != nil) {
			t.Fatalf("Map call %d: error %v", call, err)
		}
		if err != nil {
			if !errors.Is(err, backing.ErrOutOfMemory) || !errors.Is(err, syscall.EINVAL) {
				t.Errorf("Map: %v wraps not both ErrOutOfMemory and the errno", err)
			}
			continue
		}
		mems = append(mems, mem)
	}
	if n, bytes := f.Live(); n != 3 || bytes != 3*4096 {
		t.Errorf("Live() = %d mappings, %d bytes", n, bytes)
	}
	f.FailFrom(backing.OpUnmap, 2, syscall.EINVAL)
	for i, mem := range mems {
		if err := f.Unmap(mem); (i >= 1) != errors.Is(err, syscall.EINVAL) {
			t.Errorf("Unmap call %d: %v", i+1, err)
		}
	}
	if n, _ := f.Live(); n != 2 {
		t.Errorf("%d live after two refused unmaps, want 2", n)
	}
	f.Fail(backing.OpUnmap, 0, nil)
	for _, mem := range mems[1:] {
		if err := f.Unmap(mem); err != nil {
			t.Errorf("Unmap once the fault is withdrawn: %v", err)
		}
	}
	if n, bytes := f.Live(); n != 0 || bytes != 0 {
		t.Errorf("Live() = %d, %d at the end", n, bytes)
	}
	if m, u := f.Calls(backing.OpMap), f.Calls(backing.OpUnmap); m != 4 || u != 5 {
		t.Errorf("Calls: %d maps, %d unmaps; want 4, 5", m, u)
	}
}

// stingy is a source whose mappings are empty.
type stingy struct{ backing.Source }

func (stingy) Map(int) ([]byte, error) { return nil, nil }

// A source that returns nothing is found out, also if nothing was asked for, and through
// a Faulty, too.
func TestFaultyOverNothing(t *testing.T) {
	f := backing.NewFaulty(stingy{backing.Heap()})
	for _, src := range []backing.Source{stingy{backing.Heap()}, f} {
		for size := range 2 {
			if _, err := backing.Map(src, size); !errors.Is(err, backing.ErrOutOfMemory) {
				t.Errorf("Map(%d): %v, want ErrOutOfMemory", size, err)
			}
		}
	}
	if n, bytes := f.Live(); n != 0 || bytes != 0 {
		t.Errorf("Live() = %d mappings, %d bytes", n, bytes)
	}
}

// An order for a call that is none withdraws the one before, and is none itself.
func TestFaultyWithdrawn(t *testing.T) {
	f := backing.NewFaulty(backing.Heap())
	for _, k := range []int{0, -1} {
		f.FailFrom(backing.OpMap, 1, nil)
		if _, err := f.Map(1); err == nil {
			t.Fatal("Map does not fail")
		}
		f.FailFrom(backing.OpMap, k, nil)
		if _, err := f.Map(1); err != nil {
			t.Errorf("FailFrom(OpMap, %d): %v", k, err)
		}
	}
}

func TestFaultyRelease(t *testing.T) {
	f := backing.NewFaulty(backing.Heap())
	mem, err := f.Map(1)
	if err != nil {
		t.Fatal(err)
	}
	f.Fail(backing.OpRelease, 1, nil)
	if err := f.Release(mem); !errors.Is(err, backing.ErrOutOfMemory) {
		t.Errorf("Release with the default fault: %v", err)
	}
	if err := f.Release(mem); err != nil {
		t.Errorf("second Release: %v", err)
	}
	if n := f.Calls(backing.OpRelease); n != 2 {
		t.Errorf("%d Release calls counted, want 2", n)
	}
}

// TestFaultyNever: a call too far away to come does not fail, nor do those before it.
func TestFaultyNever(t *testing.T) {
	f := backing.NewFaulty(backing.Heap())
	for _, order := range []func(op backing.Op, k int, err error){f.Fail, f.FailFrom} {
		for range 2 {
			order(backing.OpRelease, math.MaxInt, nil)
			if err := f.Release(nil); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestFaultyRefusesWrongUnmaps(t *testing.T) {
	f := backing.NewFaulty(backing.Heap())
	mem, err := f.Map(8192)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{nil, mem[:4096], mem[4096:], make([]byte, 10)} {
		if err := f.Unmap(bad); !errors.Is(err, backing.ErrNotMapped) {
			t.Errorf("Unmap(%d bytes) = %v, want ErrNotMapped", len(bad), err)
		}
	}
	if err := f.Unmap(mem); err != nil {
		t.Fatal(err)
	}
	if err := f.Unmap(mem); !errors.Is(err, backing.ErrNotMapped) {
		t.Errorf("second Unmap = %v, want ErrNotMapped", err)
	}
}

func TestFaultyProtect(t *testing.T) {
	f := backing.NewFaulty(backing.Heap())
	mem, err := f.Map(8192)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Protect(mem); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Protect over the heap = %v, want ErrUnsupported", err)
	}
	if err := f.Unprotect(mem); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Unprotect over the heap = %v, want ErrUnsupported", err)
	}
}

func TestOpString(t *testing.T) {
	for op, want := range map[backing.Op]string{
		backing.OpMap: "Map", backing.OpUnmap: "Unmap", backing.OpRelease: "Release", 3: "Op(3)", 7: "Op(7)", -1: "Op(-1)",
	} {
		if got := op.String(); got != want {
			t.Errorf("Op(%d).String() = %q, want %q", int(op), got, want)
		}
	}
}

// TestZeroFaulty: one that NewFaulty did not make passes on to the Go heap.
func TestZeroFaulty(t *testing.T) {
	var f backing.Faulty
	mem, err := f.Map(100)
	if err != nil || len(mem) != 100 || f.Name() != backing.Heap().Name() || f.PageSize() != backing.Heap().PageSize() {
		t.Fatalf("%d bytes of %s, %v", len(mem), f.Name(), err)
	}
	if err := errors.Join(f.Release(mem), f.Unmap(mem)); err != nil {
		t.Error(err)
	}
	if n, bytes := f.Live(); n != 0 || bytes != 0 {
		t.Errorf("%d mappings of %d bytes", n, bytes)
	}
}
