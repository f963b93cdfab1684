//go:build !race

package backing_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gomem-go/gomem/backing"
)

// resident counts the pages of mem that have physical memory.
func resident(t *testing.T, mem []byte) (pages int) {
	t.Helper()
	page := os.Getpagesize()
	vec := make([]byte, (len(mem)+page-1)/page)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)), uintptr(unsafe.Pointer(&vec[0])))
	if errno != 0 {
		t.Fatalf("mincore: %v", errno)
	}
	for _, v := range vec {
		pages += int(v & 1)
	}
	return pages
}

func TestMapTouchesNoPage(t *testing.T) {
	for _, opts := range [][]backing.MmapOption{nil, {backing.HugePages()}, {backing.GuardPages()}} {
		src := backing.Mmap(opts...)
		mem := mustMap(t, src, 16<<20)
		if n := resident(t, mem); n != 0 {
			t.Errorf("a fresh mapping of 16 MiB has %d resident pages, want 0", n)
		}
		if err := src.Unmap(mem); err != nil {
			t.Error(err)
		}
	}
}

func TestPopulate(t *testing.T) {
	src := backing.Mmap(backing.Populate())
	mem := mustMap(t, src, 1<<20)
	if n, want := resident(t, mem), len(mem)/src.PageSize(); n != want {
		t.Errorf("%d pages resident after Populate, want %d", n, want)
	}
	if err := src.Unmap(mem); err != nil {
		t.Error(err)
	}
}

func TestReleaseLowersResidentMemory(t *testing.T) {
	src := backing.Mmap()
	mem := mustMap(t, src, 4<<20)
	for i := range mem {
		mem[i] = 1
	}
	half := len(mem) / 2
	if err := src.Release(mem[half:]); err != nil {
		t.Fatal(err)
	}
	if n, want := resident(t, mem), half/src.PageSize(); n != want {
		t.Errorf("%d pages resident after Release of half, want %d", n, want)
	}
	if mem[half] != 0 || mem[half-1] != 1 {
		t.Error("Release cleared the wrong half")
	}
	if err := src.Unmap(mem); err != nil {
		t.Error(err)
	}
}

func TestHugePagesAlignment(t *testing.T) {
	src := backing.Mmap(backing.HugePages())
	for _, size := range []int{2 << 20, 2<<20 + 1, 5 << 20} {
		mem := mustMap(t, src, size)
		if at := uintptr(unsafe.Pointer(&mem[0])); at%(2<<20) != 0 {
			t.Errorf("Map(%d) = %#x, not on a huge page", size, at)
		}
		if err := src.Unmap(mem); err != nil {
			t.Error(err)
		}
	}
}

// TestHugePagesAreAskedFor: the system is advised only by that option, and only for
// mappings that hold a huge page.
func TestHugePagesAreAskedFor(t *testing.T) {
	for _, c := range []struct {
		name string
		src  backing.Source
		size int
		want bool
	}{
		{"plain", backing.Mmap(), 4 << 20, false},
		{"small", backing.Mmap(backing.HugePages()), 1 << 20, false},
		{"least", backing.Mmap(backing.HugePages()), 2 << 20, true},
	} {
		mem := mustMap(t, c.src, c.size)
		got, known := advisedHuge(t, mem)
		if known && got != c.want {
			t.Errorf("%s: huge pages advised: %v", c.name, got)
		}
		if err := c.src.Unmap(mem); err != nil {
			t.Error(err)
		}
	}
}

// advisedHuge reports whether the system was advised to use huge pages for mem; known
// is false where it does not say, or takes no such advice.
func advisedHuge(t *testing.T, mem []byte) (advised, known bool) {
	t.Helper()
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		return false, false
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return false, false
	}
	at := uint64(uintptr(unsafe.Pointer(&mem[0])))
	inside := false
	for line := range strings.Lines(string(smaps)) {
		var from, to uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inside = from <= at && at < to
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			return slices.Contains(strings.Fields(flags), "hg"), true
		}
	}
	return false, false
}

func TestLocked(t *testing.T) {
	src := backing.Mmap(backing.Locked())
	mem, err := src.Map(256 << 10)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EAGAIN) {
		t.Skipf("this process may not lock memory: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, want := resident(t, mem), len(mem)/src.PageSize(); n != want {
		t.Errorf("%d pages resident of a locked mapping, want %d", n, want)
	}
	mem[0] = 1
	if err := src.Release(mem); err != nil || mem[0] != 1 {
		t.Errorf("Release of locked memory: %v, byte %d", err, mem[0])
	}
	if err := src.Unmap(mem); err != nil {
		t.Error(err)
	}
}

// inChild runs the calling test again, alone and in a process of its own, and
// fails unless what that process does as a child succeeds.
func inChild(t *testing.T) (child bool) {
	t.Helper()
	const env = "GOMEM_BACKING_TEST_CHILD"
	if os.Getenv(env) == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), env+"="+t.Name())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("child: %v\n%s", err, out)
	}
	return false
}

// addressSpace is the process's size as the limit counts it.
func addressSpace(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var pages uint64
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		t.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}

// A real ENOMEM, by a limit on the address space of a child process.
func TestMapOutOfAddressSpace(t *testing.T) {
	if !inChild(t) {
		return
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = addressSpace(t) + 256<<20
	if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
		t.Fatal(err)
	}
	for _, opts := range [][]backing.MmapOption{
		nil, {backing.HugePages()}, {backing.GuardPages()}, {backing.Populate()},
	} {
		src := backing.Mmap(opts...)
		const size = 512 << 20
		before := addressSpace(t)
		mem, err := src.Map(size)
		if mem != nil || !errors.Is(err, backing.ErrOutOfMemory) || !errors.Is(err, unix.ENOMEM) {
			t.Errorf("Map beyond the limit = %d bytes, %v; want ErrOutOfMemory and ENOMEM", len(mem), err)
		}
		if after := addressSpace(t); after >= before+size {
			t.Errorf("%d bytes stay mapped after a failed Map", after-before)
		}
		if mem, err = src.Map(1 << 20); err != nil {
			t.Errorf("Map within the limit: %v", err)
		} else if err := src.Unmap(mem); err != nil {
			t.Error(err)
		}
	}
}

// The limit on locked memory makes Locked fail after the pages are mapped:
// they must go back.
func TestLockedBeyondLimit(t *testing.T) {
	if !inChild(t) {
		return
	}
	// A capability may lift the limit; it belongs to the thread.
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	data[0].Effective &^= 1 << unix.CAP_IPC_LOCK
	if err := unix.Capset(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{}); err != nil {
		t.Fatal(err)
	}
	const size = 512 << 20
	before := addressSpace(t)
	mem, err := backing.Mmap(backing.Locked()).Map(size)
	if err == nil {
		t.Fatalf("%d bytes locked beyond the limit", len(mem))
	}
	if !errors.Is(err, backing.ErrOutOfMemory) || !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOMEM) {
		t.Errorf("Map = %v; want ErrOutOfMemory and EPERM or ENOMEM", err)
	}
	if !strings.Contains(err.Error(), "locking") {
		t.Errorf("%q does not say that locking failed", err)
	}
	if after := addressSpace(t); after >= before+size {
		t.Errorf("%d bytes stay mapped after a failed Map", after-before)
	}
}
