//go:build !race && !gomem_portable && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package heap

import (
	"fmt"
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

	"github.com/gomem-go/gomem/backing"
)

// TestSectionFindsP: the P that a section finds is the one that pinning names,
// whatever moves goroutines and threads about.
func TestSectionFindsP(t *testing.T) {
	if prepareSections(); pOfM == 0 {
		t.Skip(sectionsOff)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
	h := newHeap(1024)
	h.mu.Lock()
	set := newShardSet(5)
	h.set.Store(set)
	for i := range set.byID {
		set.byID[i] = newShard()
	}
	h.publish(set)
	h.mu.Unlock()
	var wg sync.WaitGroup
	for g := range 40 {
		wg.Go(func() {
			if g%4 == 0 {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			for i := range 5000 {
				if i%100 == g {
					h.mu.Lock()
					unpin(h.pinLocked()) // from then on the shard knows its P
					h.mu.Unlock()
				}
				id := procPin()
				if i%10 == g%10 {
					h.note(set.byID[id]) // from then on hints are wrong as well as right
				}
				s, front := h.enter(here()), h.enterFront(here())
				procUnpin()
				if s != set.byID[id] || front != s {
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
	// Also when more is in an M than at start, or nothing is found.
	for range 100 {
		if place := lookForP(); place != pOfM && place != 0 {
			t.Errorf("the P is at %d and at %d", place, pOfM)
		}
	}
	known := 0
	for i, s := range set.byID {
		if s.p != s.home || s.front != s.home {
			t.Errorf("sections find shard %d by another P than its own", i)
		}
		if s.home != nil { // on a busy machine a P may not have had its turn under mu
			known++
		}
	}
	if known == 0 {
		t.Error("no shard knows its P")
	}
}

// TestSectionPaused: neither a hint nor a span leads to a shard while the heap is paused,
// and Malloc to none while blocks are offered to the sampled guard.
func TestSectionPaused(t *testing.T) {
	if prepareSections(); pOfM == 0 {
		t.Skip(sectionsOff)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	h, _ := newSampled(t, Sample{})
	for range 3000 {
		mustFree(t, h, mustMalloc(t, h, 100))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.pinLocked()
	unpin(s)
	var elsewhere uint32
	own, others := newSpan(0, spanBytes[0]), newSpan(0, spanBytes[0])
	other := newShard()
	other.home = unsafe.Pointer(&elsewhere)
	other.show(true, true)
	own.owner.Store(s)
	others.owner.Store(other)
	look := func(when string, want, front *shard) {
		t.Helper()
		procPin()
		defer procUnpin()
		for _, hint := range []*shard{s, noShard} {
			h.hints.forget()
			h.note(hint) // as somebody who was pinned before
			if got := h.enter(here()); got != want {
				t.Errorf("%s: a section finds %p, not %p", when, got, want)
			}
			if got := h.enterFront(here()); got != front {
				t.Errorf("%s: that of Malloc finds %p, not %p", when, got, front)
			}
			if got := h.enterOwner(own, here()); got != want {
				t.Errorf("%s: that of a free in an own span finds %p, not %p", when, got, want)
			}
			for _, sp := range []*span{others, exhausted} {
				if got := h.enterOwner(sp, here()); got != noShard {
					t.Errorf("%s: that of a free in the span of another finds %p", when, got)
				}
			}
		}
	}
	h.sampler.offered.Store(0)
	h.resume()
	look("shared out", s, s)
	h.sampler.offered.Store(1)
	h.resume()
	look("offered", s, noShard)
	s.home = nil
	unpin(h.pinLocked())
	look("settled meanwhile", s, noShard)
	h.pause()
	look("paused", noShard, noShard)
	h.sampler.offered.Store(0)
	h.resume()
	look("resumed", s, s)
	h.note(s)
	if err := h.reset(); err != nil || *h.hints.of(here()) != unsafe.Pointer(noShard) {
		t.Errorf("a hint holds a shard that is gone, %v", err)
	}
	look("reset", noShard, noShard)
}

// TestSectionLost: without the place of the P everything works, by pinning.
func TestSectionLost(t *testing.T) {
	prepareSections()
	defer func(was uintptr) { pOfM = was }(pOfM)
	pOfM = 0
	h := newHeap(1024)
	h.publish(newShardSet(1))
	if m := uintptr(0xdead_beef_0000_0008); h.enter(unsafe.Pointer(&m)) != noShard || h.enterFront(unsafe.Pointer(&m)) != noShard {
		t.Error("found a shard without knowing the P")
	}
	h.publish(noShards)
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
	p := new([2]uint32)
	*p = head
	if got := peek((*uintptr)(unsafe.Pointer(&p))); got != head {
		t.Errorf("peek at a pointer: %v", got)
	}
	// The address sanitizer does not look: a word may point to what was freed.
	freed := unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
	backing.Poison(freed)
	got := peek((*uintptr)(unsafe.Pointer(&p)))
	if backing.Unpoison(freed); got != head {
		t.Errorf("peek at a pointer to poison: %v", got)
	}
}

// TestSections reads the machine code of the functions with sections (runtime
// assumption 11) as it is compiled for different purposes: they do not look at the
// stack guard, and call nothing that may be preempted before they leave the section;
// or no section sees a shard.
func TestSections(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles this test several times")
	}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("knows no other calls")
	}
	for _, build := range []struct {
		flags []string
		on    bool // sections see shards
	}{
		{nil, true},
		{[]string{"-gcflags=-d=checkptr"}, true},
		{[]string{"-cover", "-covermode=atomic"}, true},
		{[]string{"-cover", "-covermode=count"}, false}, // the counters keep functions from being inlined
		{[]string{"-gcflags=-l"}, false},
		{[]string{"-gcflags=-N -l"}, false},
	} {
		code, on := disassemble(t, build.flags)
		if !pinsFirst(t, code[thisPackage+"(*Heap).pin"]) {
			t.Errorf("%q: pin loads the set before it has pinned", build.flags)
		}
		called := false
		for _, f := range withSections {
			if !marked(t, f) {
				t.Errorf("%s is not marked go:nosplit and go:noinline", f)
			}
			lines := code[thisPackage+"(*Heap)."+f]
			if len(lines) == 0 {
				t.Errorf("%q: no machine code of %s", build.flags, f)
			}
			for _, line := range lines {
				call := callPattern.FindStringSubmatch(line)
				if call == nil || slices.Contains(sectionCalls, call[1]) {
					continue
				}
				if strings.HasPrefix(call[1], "runtime.morestack") {
					t.Errorf("%q: %s looks at the stack guard", build.flags, f)
				}
				if called = true; on {
					t.Errorf("%q: a section in %s calls %s", build.flags, f, call[1])
				}
			}
		}
		if on != build.on {
			t.Errorf("%q: sections see shards: %v", build.flags, on)
		}
		if on == called {
			t.Errorf("%q: sections call: %v", build.flags, called)
		}
	}
}

// pinsFirst says whether what comes of published, or calls it, stands behind the call of
// procPin.
func pinsFirst(t *testing.T, pin []string) bool {
	t.Helper()
	text, err := os.ReadFile("shard.go")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), "\nfunc (h *Heap) published()")
	inlined := fmt.Sprintf("shard.go:%d\t", strings.Count(before, "\n")+2)
	pinned := slices.IndexFunc(pin, func(line string) bool { return strings.Contains(line, "runtime.procPin") })
	loads := slices.IndexFunc(pin, func(line string) bool {
		return strings.Contains(line, inlined) || strings.Contains(line, ".published")
	})
	return pinned >= 0 && pinned < loads
}

const thisPackage = "github.com/gomem-go/gomem/internal/heap."

var (
	withSections = []string{"mallocSection", "freeSection", "freeForeign", "freeOther", "Borrow", "cut"}
	// Each of these is of the runtime, or called where the section has ended.
	sectionCalls = []string{
		"runtime.getm", "runtime.procPin", "runtime.panicBounds",
		thisPackage + "(*Heap).tryMalloc", thisPackage + "(*Heap).mallocAny", thisPackage + "(*Heap).borrowSlow",
		thisPackage + "(*Heap).freeOther", thisPackage + "(*Heap).freeSlow", thisPackage + "(*Heap).freeForeign",
		thisPackage + "(*Heap).freeLarge", thisPackage + "(*Heap).cutSlow", thisPackage + "(*Heap).filed",
		thisPackage + "(*shard).announce", "runtime.procUnpin", thisPackage + "(*Heap).startClock",
	}
)

// TestSectionsElsewhere: the compiler inlines sections also for the processors with the
// fewest instructions that functions of the standard library stand for, so that the fast
// paths are not lost there.
func TestSectionsElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles this package several times")
	}
	call := regexp.MustCompile(`\t(?:CALL|DUFF\w+)\t(?:\w+, )?(.+?)(?:\(SB\))?$`)
	for _, arch := range []string{"mips64le", "ppc64le", "riscv64", "s390x"} {
		cmd := exec.Command("go", "build", "-gcflags=-S", ".")
		cmd.Env = append(os.Environ(), "GOARCH="+arch, "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", arch, err, out)
		}
		seen, within := 0, ""
		for line := range strings.Lines(string(out)) {
			line = strings.TrimRight(line, "\n")
			if text, ok := strings.CutPrefix(line, thisPackage); ok {
				name, _, _ := strings.Cut(text, " STEXT ")
				if within = strings.TrimPrefix(name, "(*Heap)."); slices.Contains(withSections, within) {
					seen++
				}
				continue
			}
			found := call.FindStringSubmatch(line)
			if found != nil && slices.Contains(withSections, within) && !slices.Contains(sectionCalls, found[1]) {
				t.Errorf("%s: a section in %s calls %s", arch, within, found[1])
			}
		}
		if seen != len(withSections) {
			t.Errorf("%s: machine code of %d functions", arch, seen)
		}
	}
}

var callPattern = regexp.MustCompile(`\bCALL\s+(.+?)(?:\(SB\))?\s*$`)

// TestInlined: what is called, or is no part at all, is not taken for inlined.
func TestInlined(t *testing.T) {
	for _, part := range []string{"(*Heap).tryMalloc", "(*Heap).freeSection", "(*span).take.more", "ake"} {
		if inlined((*Heap).mallocSection, part) {
			t.Errorf("%s is found in Malloc", part)
		}
	}
	if !inlined((*Heap).mallocSection) || !inlined((*Heap).mallocSection, "(*Heap).mallocSection") {
		t.Error("what is there is not found")
	}
}

// marked says whether method name of Heap is marked as what has a section.
func marked(t *testing.T, name string) bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "\n//go:nosplit\n//go:noinline\nfunc (h *Heap) "+name+"(")
	})
}

// TestSectionsOn tells disassemble what prepareSections found.
func TestSectionsOn(t *testing.T) {
	prepareSections()
	if pOfM == 0 {
		t.Skip(sectionsOff)
	}
}

const sectionsOff = "the compiler did not inline the sections"

// disassemble returns the instructions of each function of this package, compiled
// with flags, and whether its sections see shards then.
func disassemble(t *testing.T, flags []string) (code map[string][]string, on bool) {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "heap.test")
	args := append([]string{"test", "-c", "-vet=off", "-o", exe}, flags...)
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	found, err := exec.Command(exe, "-test.run=^TestSectionsOn$", "-test.v").CombinedOutput()
	if err != nil || !strings.Contains(string(found), "--- ") {
		t.Fatalf("%v\n%s", err, found)
	}
	out, err := exec.Command("go", "tool", "objdump", "-s", `^github.com/gomem-go/gomem/internal/heap\.`, exe).Output()
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
	return code, !strings.Contains(string(found), sectionsOff)
}
