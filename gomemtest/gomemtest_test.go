package gomemtest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/gomemtest"
)

// recorder stands for a test that is expected to fail.
type recorder struct {
	testing.TB
	failures []error
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(args ...any) {
	r.failures = append(r.failures, args[0].(error))
}

// end runs what a test runs at its end.
func (r *recorder) end() []error {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
	return r.failures
}

func TestNew(t *testing.T) {
	for _, c := range []struct {
		name string
		body func(a *gomem.ScalableMemoryAllocator)
		want error // nil and no leak: the test passes
		leak int   // bytes
	}{
		{"nothing", func(*gomem.ScalableMemoryAllocator) {}, nil, 0},
		{"free in parts", func(a *gomem.ScalableMemoryAllocator) {
			b := a.Malloc(100)
			a.Free(b[10:20])
			a.Free(b[:10])
			a.Free(b[20:])
		}, nil, 0},
		{"leak", func(a *gomem.ScalableMemoryAllocator) { a.Free(a.Malloc(100)[:40]) }, nil, 60},
		{"double free", func(a *gomem.ScalableMemoryAllocator) {
			b := a.Malloc(100)
			a.Free(b)
			a.Malloc(100)
			a.Free(b)
		}, gomem.ErrDoubleFree, 100},
		{"foreign free", func(a *gomem.ScalableMemoryAllocator) { a.Free(make([]byte, 10)) }, gomem.ErrNotOwned, 0},
		{"write after free", func(a *gomem.ScalableMemoryAllocator) {
			b := a.Malloc(100)
			a.Free(b)
			b[7] = 1
		}, gomem.ErrUseAfterFree, 0},
		{"recycled", func(a *gomem.ScalableMemoryAllocator) {
			a.Malloc(100)
			a.Recycle()
		}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &recorder{TB: t}
			c.body(gomemtest.New(r))
			failures := r.end()
			if c.want != nil {
				if len(failures) == 0 || !errors.Is(failures[0], c.want) || !strings.Contains(failures[0].Error(), "gomemtest_test.go:") {
					t.Fatalf("failures %v, want %v with a place", failures, c.want)
				}
				failures = failures[1:]
			}
			if c.leak > 0 {
				if len(failures) == 0 {
					t.Fatal("no leak found")
				}
				e, ok := errors.AsType[*gomem.LeakError](failures[0])
				if !ok || e.Bytes != c.leak || !strings.Contains(e.Error(), "gomemtest_test.go:") {
					t.Fatalf("%v, want a leak of %d bytes with a place", failures[0], c.leak)
				}
				failures = failures[1:]
			}
			if len(failures) > 0 {
				t.Fatalf("%d failures too many: %v", len(failures), failures)
			}
		})
	}
}

// TestNewClosed: who closes the allocator gets the leaks.
func TestNewClosed(t *testing.T) {
	r := &recorder{TB: t}
	a := gomemtest.New(r)
	a.Malloc(10)
	if _, ok := errors.AsType[*gomem.LeakError](a.Close()); !ok {
		t.Error("no leak")
	}
	if got := r.end(); len(got) > 0 {
		t.Error(got)
	}
	a.Free([]byte{1}) // after the end: nobody's failure
	if len(r.failures) > 0 {
		t.Error(r.failures)
	}
}

// TestNewWithOptions: options come on top.
func TestNewWithOptions(t *testing.T) {
	for _, p := range []gomem.Placement{gomem.SizeClasses, gomem.TLSF, gomem.SingleTree, gomem.TwoTree} {
		a := gomemtest.New(t, gomem.WithPlacement(p), gomem.WithDebug(gomem.DebugOptions{GuardPages: true}))
		a.Free(a.Malloc(5000))
	}
	r := &recorder{TB: t}
	var reports []error
	a := gomemtest.New(r, gomem.WithMaxBytes(1<<20), gomem.WithMisuse(func(err error) { reports = append(reports, err) }))
	if _, err := a.TryMalloc(2 << 20); err == nil {
		t.Error("the limit is not kept")
	}
	a.Free(make([]byte, 10))
	if got := r.end(); len(got) > 0 || len(reports) != 1 || !errors.Is(reports[0], gomem.ErrNotOwned) {
		t.Errorf("reports %v, failures %v", reports, got)
	}
}

func ExampleNew() {
	t := &recorder{} // in a test, the t of the test

	a := gomemtest.New(t)
	b := a.Malloc(64)
	a.Free(b[:16])
	a.Free(b[:32])

	for _, err := range t.end() {
		first, _, _ := strings.Cut(err.Error(), " at 0x")
		fmt.Println(strings.Split(first, "\n")[0])
	}
	// Output:
	// gomem: free of 32 bytes
	// gomem: 48 bytes in 1 blocks were never freed
}
