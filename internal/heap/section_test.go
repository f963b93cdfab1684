//go:build !race && !gomem_portable && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package heap

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// TestSectionFindsP: the P that a section finds is the one that pinning names,
// whatever moves goroutines and threads about.
func TestSectionFindsP(t *testing.T) {
	if pOfM == 0 {
		t.Fatal("the place of the P in an M was not found")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
	set := make(shardSet, 5)
	for i := range set {
		set[i] = newShard()
	}
	var wg sync.WaitGroup
	for g := range 40 {
		wg.Go(func() {
			if g%4 == 0 {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			for i := range 5000 {
				id := procPin()
				s := set.on(here())
				procUnpin()
				if s != set[id] {
					t.Errorf("found another shard than that of P %d", id)
					return
				}
				if i%50 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
	if few := set[:0]; few.on(here()) != noShard {
		t.Error("an empty set has a shard")
	}
}

// TestSectionLost: without the place of the P everything works, by pinning.
func TestSectionLost(t *testing.T) {
	defer func(was uintptr) { pOfM = was }(pOfM)
	pOfM = 0
	h := newHeap(1024)
	var live [][]byte
	for i := range 5000 {
		live = append(live, mustMalloc(t, h, 1+i%3000))
	}
	if h.Borrow(100) == nil {
		t.Error("nothing to borrow")
	}
	for _, b := range live {
		if !h.Free(b[len(b)/2:]) || !h.Free(b[:len(b)/2]) && len(b) > 1 {
			t.Fatalf("free of %d bytes refused", len(b))
		}
	}
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
}

// TestPeek: a word that is no address is nobody's pointer.
func TestPeek(t *testing.T) {
	head := [2]uint32{7, 1}
	for _, c := range []struct {
		word uintptr
		want [2]uint32
	}{{0, [2]uint32{}}, {8, [2]uint32{}}, {0xdead_beef_0000_0008, [2]uint32{}}, {3, [2]uint32{}}} {
		if got := peek(&c.word); got != c.want {
			t.Errorf("peek at %#x: %v", c.word, got)
		}
	}
	p := &head
	if got := peek((*uintptr)(unsafe.Pointer(&p))); got != head {
		t.Errorf("peek at a pointer: %v", got)
	}
}

// TestSections reads the machine code of the fast paths (runtime assumption
// 11), as it is usually compiled and as it is for a debugger: they do not look
// at the stack guard, and what they call before they leave the section does not,
// either, and is marked go:nosplit.
func TestSections(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles this test twice")
	}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("knows no other calls")
	}
	const pkg = "github.com/gomem-go/gomem/internal/heap."
	// Each of these is called where the section has ended, or ends the program.
	ends := []string{
		pkg + "(*Heap).TryMalloc", pkg + "(*Heap).mallocAny", pkg + "(*Heap).borrowSlow", pkg + "(*Heap).freeSlow", pkg + "(*Heap).freeOther",
		pkg + "(*Heap).freeLarge", pkg + "(*Heap).cutSlow", pkg + "(*Heap).freeBlock", pkg + "(*Heap).reported", pkg + "(*Heap).filed",
		pkg + "(*shard).announce", pkg + "unpin", "runtime.procUnpin", pkg + "(*Heap).wake", pkg + "(*Heap).startClock",
		"runtime.panicBounds",
	}
	marked := markedNosplit(t)
	for _, flags := range []string{"", "-N -l"} {
		code := disassemble(t, flags)
		todo := []string{pkg + "(*Heap).Malloc", pkg + "(*Heap).Free", pkg + "(*Heap).Borrow", pkg + "(*Heap).cut", pkg + "(*Heap).freeInSpan"}
		for seen := slices.Clone(ends); len(todo) > 0; todo = todo[1:] {
			f := todo[0]
			if slices.Contains(seen, f) {
				continue
			}
			seen = append(seen, f)
			if name := f[strings.LastIndexByte(f, '.')+1:]; strings.HasPrefix(f, pkg) && !marked[name] {
				t.Errorf("gcflags %q: %s is not marked go:nosplit", flags, f)
			}
			if len(code[f]) == 0 {
				t.Errorf("gcflags %q: no machine code of %s", flags, f)
			}
			for _, line := range code[f] {
				call := callPattern.FindStringSubmatch(line)
				if call == nil {
					continue
				}
				if strings.HasPrefix(call[1], "runtime.morestack") {
					t.Errorf("gcflags %q: %s looks at the stack guard", flags, f)
				}
				todo = append(todo, call[1])
			}
		}
	}
}

var callPattern = regexp.MustCompile(`\bCALL\s+(.+?)(?:\(SB\))?\s*$`)

// markedNosplit returns the names of the functions that are.
func markedNosplit(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	marked := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range nosplitPattern.FindAllSubmatch(text, -1) {
			marked[string(m[1])] = true
		}
	}
	return marked
}

var nosplitPattern = regexp.MustCompile(`(?m)^//go:nosplit\nfunc (?:\([^)]*\) )?(\w+)`)

// disassemble returns the instructions of each function of this package and of
// what a section calls, compiled with flags.
func disassemble(t *testing.T, flags string) map[string][]string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "heap.test")
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-gcflags="+flags, "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	out, err := exec.Command("go", "tool", "objdump", "-s", `^(github.com/gomem-go/gomem/internal/heap\.|runtime\.(getm|procPin)$)`, exe).Output()
	if err != nil {
		t.Fatalf("go tool objdump: %v", err)
	}
	code, name := make(map[string][]string), ""
	for line := range strings.Lines(string(out)) {
		if text, ok := strings.CutPrefix(line, "TEXT "); ok {
			name, _, _ = strings.Cut(text, "(SB)")
			continue
		}
		code[name] = append(code[name], line)
	}
	return code
}
