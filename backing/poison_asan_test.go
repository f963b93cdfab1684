//go:build asan

package backing_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

var sink byte

// A read of poisoned memory must end the process with a report, on both
// sources, and a read after Unpoison must not.
func TestPoisonEndsTheProcess(t *testing.T) {
	const env = "GOMEM_BACKING_POISON"
	srcs := map[string]backing.Source{"heap": backing.Heap(), "mmap": backing.Mmap()}
	if kind := os.Getenv(env); kind != "" {
		src := srcs[kind]
		mem, err := src.Map(1 << 16)
		if err != nil {
			t.Fatal(err)
		}
		backing.Poison(mem[4096:8192])
		sink += mem[4095] + mem[8192]
		backing.Unpoison(mem[4096:4104])
		sink += mem[4103]
		os.Stdout.WriteString("alive before the bad read\n")
		sink += mem[4104]
		os.Stdout.WriteString("alive after the bad read\n")
		return
	}
	for kind := range srcs {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPoisonEndsTheProcess$")
		cmd.Env = append(os.Environ(), env+"="+kind)
		out, err := cmd.CombinedOutput()
		text := string(out)
		if err == nil || !strings.Contains(text, "use-after-poison") ||
			!strings.Contains(text, "before the bad read") || strings.Contains(text, "after the bad read") {
			t.Errorf("%s: child ended with %v\n%s", kind, err, text)
		}
	}
}

// What was poisoned when it was given back is not poisoned when the same
// addresses come again.
func TestUnmapUnpoisons(t *testing.T) {
	for _, src := range []backing.Source{backing.Heap(), backing.Mmap()} {
		for range 20 {
			mem, err := src.Map(1 << 16)
			if err != nil {
				t.Fatal(err)
			}
			for i := range mem {
				sink += mem[i]
			}
			backing.Poison(mem)
			if err := src.Unmap(mem); err != nil {
				t.Fatal(err)
			}
		}
	}
}
