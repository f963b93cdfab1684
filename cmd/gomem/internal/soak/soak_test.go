package soak

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// duration is how long one of several soaks takes: GOMEM_SOAK=10m is for all of
// them together.
func duration(t *testing.T, soaks int) time.Duration {
	if long := os.Getenv("GOMEM_SOAK"); long != "" {
		d, err := time.ParseDuration(long)
		if err != nil {
			t.Fatal(err)
		}
		return d / time.Duration(soaks)
	}
	return 800 * time.Millisecond
}

func TestSoak(t *testing.T) {
	soaks := []struct {
		placement, backing string
		goroutines         int
		more               string
	}{
		{"sizeclasses", "mmap", 1000, ""},
		{"sizeclasses", "heap", 30, ""},
		{"sizeclasses", "mmap", 100, "-sample"},
		{"tlsf", "mmap", 30, ""},
		{"singletree", "mmap", 30, ""},
		{"twotree", "heap", 30, ""},
		{"sizeclasses", "mmap", 30, "-debug"},
	}
	for _, c := range soaks {
		t.Run(fmt.Sprintf("%s/%s%s", c.placement, c.backing, c.more), func(t *testing.T) {
			args := []string{
				"-duration", duration(t, len(soaks)).String(), "-seed", "1", "-live", "8",
				"-goroutines", fmt.Sprint(c.goroutines), "-placement", c.placement, "-backing", c.backing,
			}
			if c.more != "" {
				args = append(args, c.more)
			}
			var out, complaints bytes.Buffer
			if status := Run(t.Context(), args, &out, &complaints); status != 0 {
				t.Fatalf("gomem soak %s: status %d\n%s\n%s", strings.Join(args, " "), status, &complaints, &out)
			}
			checkLines(t, complaints.String())
			for _, want := range []string{"seed 1", "operations, Verify", "wrong frees", "Malloc  p50", "RSS MiB"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, &out)
				}
			}
		})
	}
}

// checkLines sees that progress that goes to no terminal is in lines of its own.
func checkLines(t *testing.T, progress string) {
	t.Helper()
	if !strings.HasSuffix(progress, "\n") || strings.Contains(progress, "\r") || strings.Contains(progress, "  \n") {
		t.Errorf("the progress is %q", progress)
	}
}

// TestBrokenPromise: what the allocator gets wrong ends the soak. The allocator
// is innocent here: the test meddles.
func TestBrokenPromise(t *testing.T) {
	for _, c := range []struct {
		name, want string
		meddle     func(l *load) bool // false: there was no occasion
	}{
		{"leak", "everything is freed", func(l *load) bool { return l.a.Malloc(100) != nil }},
		{"wrong free", "wrong frees", func(l *load) bool { return !l.a.Free(make([]byte, 10)) }},
		{"closed", "goroutine", func(l *load) bool { return l.a.Close() == nil }},
		{"stolen block", "somebody wrote to", func(l *load) bool {
			for i := 0; l.phase.Load() != drain; i++ {
				time.Sleep(time.Microsecond)
				// Whoever takes it from here finds a byte changed.
				if p := l.swap[i%len(l.swap)].Swap(nil); p != nil {
					p.b[len(p.b)-1]++
					l.swap[i%len(l.swap)].Store(p)
					return true
				}
			}
			return false
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			for duration, meddled := 600*time.Millisecond, false; !meddled; duration *= 2 {
				l := newLoad(settings{
					duration: duration, goroutines: 20, seed: 1,
					placement: "sizeclasses", backing: "heap", live: 4 << 20,
				})
				var meddler sync.WaitGroup
				var over atomic.Bool
				meddler.Go(func() {
					for l.phase.Load() != plateau && !over.Load() {
						time.Sleep(time.Millisecond)
					}
					// On a busy machine this may come too late.
					meddled = !over.Load() && c.meddle(l)
				})
				err = l.run(t.Context(), io.Discard)
				over.Store(true)
				meddler.Wait()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "seed 1") {
				t.Fatalf("got %v, want something with %q and the seed", err, c.want)
			}
		})
	}
}

func TestStamp(t *testing.T) {
	for n := 1; n < 70; n++ {
		p := part{make([]byte, n), 0x1122334455667788}
		p.fill()
		for from := range n {
			for to := from + 1; to <= n; to++ {
				if !p.cut(from, to).intact() {
					t.Fatalf("[%d,%d) of %d is not intact", from, to, n)
				}
			}
		}
		for i := range n {
			p.b[i] ^= 1
			if p.intact() {
				t.Fatalf("byte %d of %d changed, and nobody notices", i, n)
			}
			p.b[i] ^= 1
		}
	}
}

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-duration 0s":        "-duration 0s, want a time of at least 1ms",
		"-goroutines 0":       "-goroutines 0, want 1 to 100000",
		"-goroutines 1000000": "-goroutines 1000000, want 1 to 100000",
		"-placement best":     "-placement best, want singletree, sizeclasses, tlsf or twotree",
		"-backing disk":       "-backing disk, want heap or mmap",
		"-live 0":             fmt.Sprint("-live 0, want 1 to ", maxLive),
		"-seed x":             "-seed x, want 0 to 18446744073709551615",
		"-debug -sample":      "-debug and -sample exclude each other: debug mode watches every block",
		"more":                `unexpected argument "more"`,
		"-what":               "flag provided but not defined: -what",
	} {
		var out bytes.Buffer
		if status := Run(t.Context(), strings.Fields(args), io.Discard, &out); status != 2 || out.String() != "gomem soak: "+want+"\n" {
			t.Errorf("%s: status %d, %q", args, status, &out)
		}
	}
	// As many bytes as a 32-bit program can count.
	if s, err := parse([]string{"-live", fmt.Sprint(maxLive)}, io.Discard); err != nil || s.live>>20 != maxLive {
		t.Errorf("-live %d: %d bytes, %v", maxLive, s.live, err)
	}
	var out bytes.Buffer
	if status := Run(t.Context(), []string{"-h"}, &out, io.Discard); status != 0 || !strings.Contains(out.String(), "usage:") {
		t.Errorf("-h: status %d, %q", status, &out)
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	if h.quantile(0.5) != 0 {
		t.Error("a median of nothing")
	}
	for n := range time.Duration(1000) {
		h.add(n)
	}
	h.add(time.Hour)
	for q, want := range map[float64]time.Duration{0.5: 500, 0.99: 990, 1: time.Hour} {
		if got := h.quantile(q); got < want || got > want*5/4 {
			t.Errorf("quantile %v is %v, want %v or a little more", q, got, want)
		}
	}
}
