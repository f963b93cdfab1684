//go:build asan

package tlsf_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/tlsf"
)

var sink byte

// Each of these accesses must end the process with the sanitizer's report.
func TestSanitizerSeesThePool(t *testing.T) {
	const env = "GOMEM_TLSF_BAD_ACCESS"
	bad := map[string]func(p *tlsf.Pool, b []byte){
		"read after free":   func(p *tlsf.Pool, b []byte) { mustFree(t, p, b); sink += b[5] },
		"write after free":  func(p *tlsf.Pool, b []byte) { mustFree(t, p, b); b[5] = 1 },
		"read after reset":  func(p *tlsf.Pool, b []byte) { _ = p.Reset(); sink += b[5] },
		"tail after resize": func(p *tlsf.Pool, b []byte) { _, _ = p.Resize(b, 50); sink += b[51] },
		"moved by resize":   func(p *tlsf.Pool, b []byte) { _, _ = p.Resize(b, 5000); sink += b[5] },
	}
	if name := os.Getenv(env); name != "" {
		var opts []tlsf.Option
		if strings.HasSuffix(name, "/mmap") {
			opts = append(opts, tlsf.WithMmap())
		}
		p := mustNew(t, 64<<10, opts...)
		b := mustAlloc(t, p, 100)
		mustAlloc(t, p, 100)
		sink += b[0] + b[99]
		os.Stdout.WriteString("alive before\n")
		bad[name[:strings.Index(name, "/")]](p, b)
		os.Stdout.WriteString("alive after\n")
		return
	}
	for name := range bad {
		for _, kind := range []string{"/heap", "/mmap"} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestSanitizerSeesThePool$")
			cmd.Env = append(os.Environ(), env+"="+name+kind)
			out, err := cmd.CombinedOutput()
			text := string(out)
			if err == nil || !strings.Contains(text, "use-after-poison") ||
				!strings.Contains(text, "alive before") || strings.Contains(text, "alive after") {
				t.Errorf("%s: child ended with %v\n%s", name+kind, err, text)
			}
		}
	}
}
