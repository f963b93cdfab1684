package guard

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// Stack is a call stack as return addresses, innermost first. What it prints
// leaves out the inner functions of the allocator.
type Stack []uintptr

// Callers returns the stack of its caller: at most depth frames behind those of the
// allocator, which come first.
func Callers(depth int) Stack {
	if depth <= 0 {
		return nil
	}
	pc := make(Stack, depth+mostInner)
	pc = pc[:runtime.Callers(2, pc)]
	for len(pc) > 0 && isInner(runtime.FuncForPC(pc[0]-1).Name()) {
		pc = pc[1:]
	}
	return pc[:min(len(pc), depth)]
}

// mostInner is how many frames of the allocator come first at most.
const mostInner = 10

// isInner says whether a function is one that a stack leaves out.
func isInner(function string) bool {
	name, ok := strings.CutPrefix(function, "github.com/gomem-go/gomem/internal/")
	return ok && (strings.HasPrefix(name, "heap.(*") || strings.HasPrefix(name, "trace.(*") || strings.HasPrefix(name, "guard."))
}

// String lists function, file and line of each frame.
func (s Stack) String() string {
	var out strings.Builder
	frames := runtime.CallersFrames(s)
	for more := len(s) > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if !isInner(f.Function) {
			fmt.Fprintf(&out, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// freedAt is an error of a free, and where that was.
type freedAt struct {
	err   error
	stack Stack
}

// FreedAt adds to why a free of no known block is refused where that free is; it returns
// why itself if that is not known.
func FreedAt(why error, where Stack) error {
	if len(where) == 0 {
		return why
	}
	return &freedAt{why, where}
}

func (e *freedAt) Error() string { return fmt.Sprintf("%v\nthis free at\n%v", e.err, e.stack) }

func (e *freedAt) Unwrap() error { return e.err }

// LeakError lists what was live when an allocator was closed.
type LeakError struct {
	Blocks, Bytes int    // in all
	Leaks         []Leak // by place of allocation, most bytes first
}

// Leak is what was allocated in one place and not freed.
type Leak struct {
	Blocks, Bytes int
	Stack         Stack // of the allocation
}

// Error lists the places.
func (e *LeakError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "gomem: %d bytes in %d blocks were never freed", e.Bytes, e.Blocks)
	for _, l := range e.Leaks {
		fmt.Fprintf(&s, "\n%d bytes in %d blocks allocated at\n%v", l.Bytes, l.Blocks, l.Stack)
	}
	return s.String()
}

// Leaks collects the blocks with live bytes, nil if there are none.
func Leaks(blocks func(yield func(*Block) bool)) *LeakError {
	sites := make(map[string]*Leak)
	e := new(LeakError)
	for b := range blocks {
		if b.Left == 0 {
			continue
		}
		key := fmt.Sprint([]uintptr(b.Alloc))
		l := sites[key]
		if l == nil {
			l = &Leak{Stack: b.Alloc}
			sites[key] = l
		}
		l.Blocks++
		l.Bytes += b.Left
		e.Blocks++
		e.Bytes += b.Left
	}
	if e.Blocks == 0 {
		return nil
	}
	for _, key := range slices.SortedFunc(maps.Keys(sites), func(x, y string) int {
		return cmp.Or(sites[y].Bytes-sites[x].Bytes, cmp.Compare(x, y))
	}) {
		e.Leaks = append(e.Leaks, *sites[key])
	}
	return e
}
