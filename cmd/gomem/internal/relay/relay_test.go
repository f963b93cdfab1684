package relay

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
	"github.com/gomem-go/gomem/internal/check"
)

// runCommand runs the command line and returns the status and what it wrote.
func runCommand(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(t.Context(), args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestRunBothEngines(t *testing.T) {
	status, out, errs := runCommand(t, "-duration", "400ms", "-streams", "2", "-subscribers", "3")
	if status != 0 {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	for _, want := range []string{"gomem/std", "every subscriber received exactly what was published"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in the output:\n%s", want, out)
		}
	}
	for _, r := range rows {
		if !strings.Contains(out, r.label) {
			t.Errorf("row %q is missing", r.label)
		}
	}
}

func TestRunRealtime(t *testing.T) {
	for _, e := range []string{"gomem", "std"} {
		status, out, errs := runCommand(t, "-duration", "600ms", "-engine", e, "-realtime", "-streams", "8", "-subscribers", "2")
		if status != 0 {
			t.Errorf("%s: status %d\n%s%s", e, status, out, errs)
		}
	}
}

// What was measured until the interrupt is printed; if that is nothing, the interrupt
// is what the command says.
func TestRunCanceled(t *testing.T) {
	const success = "every subscriber received exactly what was published"
	interrupt := errors.New("interrupted by test")
	for _, c := range []struct {
		name   string
		after  time.Duration
		status int
	}{
		{"before", 0, 1},
		{"in the warm-up", 50 * time.Millisecond, 1},
		{"while measuring", 1200 * time.Millisecond, 0},
	} {
		// No deadline: a dial knows of it, and may fail by it a moment before ctx is done.
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(c.after, func() { cancel(interrupt) })
		var out, errs bytes.Buffer
		begin := time.Now()
		if status := Run(ctx, []string{"-duration", "1m"}, &out, &errs); status != c.status {
			t.Errorf("%s: status %d\n%s%s", c.name, status, &out, &errs)
		}
		done := c.status == 0
		for _, text := range []string{success, rows[0].label} {
			if strings.Contains(out.String(), text) != done {
				t.Errorf("%s: %q in the output: %v\n%s", c.name, text, !done, &out)
			}
		}
		if !strings.Contains(errs.String(), "gomem relay: "+interrupt.Error()) {
			t.Errorf("%s: %q", c.name, &errs)
		}
		if d := time.Since(begin); d > 20*time.Second {
			t.Errorf("%s: canceling took %v", c.name, d)
		}
	}
}

// A recording of a stream that was under way starts with the time the stream had
// then. It is played from its first frame on all the same.
func TestRecordingOfAStreamUnderWay(t *testing.T) {
	const underWay = 0x01020304 // ms
	file, err := flv.Parse(testsrc)
	if err != nil {
		t.Fatal(err)
	}
	late := bytes.Clone(testsrc)
	for _, tag := range file.Tags {
		b := late[tag.Offset:]
		if !tag.Kind(b).IsConfig() { // which a relay repeats as it was sent
			binary.BigEndian.PutUint32(b[4:], (tag.Timestamp+underWay)<<8|(tag.Timestamp+underWay)>>24)
		}
	}
	want := mustInput(t)
	got, err := newInput("late", late)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.cuts, want.cuts) || got.length != want.length {
		t.Errorf("the first tags are due at %v and all is over after %v, want %v and %v",
			got.cuts[:4], got.length, want.cuts[:4], want.length)
	}
	if first := got.cuts[3].due; first != 0 {
		t.Errorf("the first frame is due after %v", first)
	}
}

// One byte that differs is found, whichever engine carries it.
func TestRunFindsOneWrongByte(t *testing.T) {
	in := mustInput(t)
	for _, e := range []string{"gomem", "std"} {
		done := false
		cfg := &config{
			streams: 1, subscribers: 2, duration: 200 * time.Millisecond, engine: e,
			corrupt: func(f frame) {
				if !done {
					pieces := f.appendTo(nil)
					pieces[len(pieces)-1][0] ^= 0x10
					done = true
				}
			},
		}
		_, err := measureAll(t.Context(), cfg, in, newProgress(&bytes.Buffer{}))
		if err == nil || strings.Count(err.Error(), "published were") != 2 {
			t.Errorf("%s: %v, want both subscribers to differ", e, err)
		}
	}
}

func TestRunBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := bytes.Clone(testsrc[:2000])
	copy(long[14:], "\xff\xff\xff") // the first tag claims 16 MiB
	header := bytes.Clone(testsrc[:2000])
	binary.BigEndian.PutUint32(header[5:], 0xffffffff)
	for _, c := range []struct{ name, path, want string }{
		{"no such file", filepath.Join(dir, "none"), "none"},
		{"a directory", dir, "directory"},
		{"empty", write("empty", nil), "not FLV at offset 0"},
		{"text", write("text", []byte("hello, this is text")), "not FLV at offset 0"},
		{"cut", write("cut", testsrc[:100_000]), "truncated at offset 100000"},
		{"long", write("long", long), "truncated at offset 2000"},
		{"header", write("header", header), "bad header size at offset 5"},
		{"no tags", write("notags", testsrc[:13]), "no tags"},
	} {
		status, out, errs := runCommand(t, "-input", c.path)
		if status != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q, want one line with %q", c.name, status, out, errs, c.want)
		}
	}
}

// A name is shown as a terminal may show it.
func TestRunPrintsNoEscapes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "\x1b[31m.flv")
	if err := os.WriteFile(path, testsrc, 0o600); err != nil {
		t.Skip(err)
	}
	for _, input := range []string{path, path + ".none"} {
		_, out, errs := runCommand(t, "-input", input, "-duration", "100ms", "-engine", "std")
		if text := out + errs; strings.Contains(text, "\x1b") || !strings.Contains(text, `\x1b[31m`) {
			t.Errorf("%q: printed %q", input, text)
		}
	}
}

func TestRunBadFlags(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"-streams 0, want 1 to 1000", []string{"-streams", "0"}},
		{"-streams -1, want 1 to 1000", []string{"-streams", "-1"}},
		{"-streams many, want 1 to 1000", []string{"-streams", "many"}},
		{"-subscribers 0, want 1 to 1000", []string{"-subscribers", "0"}},
		{"-subscribers 1000000, want 1 to 1000", []string{"-subscribers", "1000000"}},
		{"-duration 1ms, want a time of at least 100ms", []string{"-duration", "1ms"}},
		{"-duration -1s, want a time of at least 100ms", []string{"-duration", "-1s"}},
		{"-engine fast, want gomem, std or both", []string{"-engine", "fast"}},
		{"-engine both, want gomem or std with -listen", []string{"-listen", "127.0.0.1:0", "-engine", "both"}},
		{"-input and -listen exclude each other", []string{"-listen", "127.0.0.1:0", "-input", "x"}},
		{`-listen "", want an address such as 127.0.0.1:1985`, []string{"-listen", ""}},
		{`-input "", want the name of a file`, []string{"-input", ""}},
		{"flag provided but not defined: -nonsense", []string{"-nonsense"}},
		{`unexpected argument "surplus"`, []string{"surplus"}},
	} {
		if status, out, errs := runCommand(t, c.args...); status != 2 || out != "" || errs != "gomem relay: "+c.want+"\n" {
			t.Errorf("%q: status %d, stdout %q, stderr %q, want 2 and %q", c.args, status, out, errs, c.want)
		}
	}
	if status, _, errs := runCommand(t, "-listen", "256.0.0.1:http"); status != 1 || strings.Count(errs, "\n") != 1 {
		t.Errorf("bad address: status %d, %q", status, errs)
	}
	if status, out, errs := runCommand(t, "-h"); status != 0 || errs != "" || !strings.Contains(out, "usage: gomem relay") {
		t.Errorf("-h: status %d, %q, %q", status, out, errs)
	}
}

func TestTable(t *testing.T) {
	a := &figures{engine: "gomem", elapsed: 2 * time.Second, framesIn: 1000, framesOut: 3_000_000, heap: 1 << 20, rss: -1}
	b := &figures{engine: "std", elapsed: 2 * time.Second, framesIn: 1000, framesOut: 1_500_000, allocs: 1000, gcWorst: 1500 * time.Microsecond, heap: 4 << 20, rss: -1}
	var out bytes.Buffer
	printTable(&out, []*figures{a, b})
	for _, want := range []string{
		fmt.Sprintf("%-32s%15s%15s%15s\n", "frames delivered/s", "1,500,000", "750,000", "2.000"),
		fmt.Sprintf("%-32s%15s%15s%15s\n", "allocations per frame received", "0.000", "1.000", "0.000"),
		fmt.Sprintf("%-32s%15s%15s%15s\n", "GC pause, worst", "0s", "1.5ms", "0.000"),
		fmt.Sprintf("%-32s%15s%15s%15s\n", "RSS, peak", "unknown", "unknown", "-"),
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

func TestAppendCount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 12_034: "12,034", 1_000_007: "1,000,007", -5_000: "-5,000",
	} {
		if got := string(appendCount(nil, n)); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	var c counters
	p.reset()
	c.framesOut.Store(5000)
	p.show("gomem", "measuring", time.Second, 2*time.Second, &c)
	if out.Len() != 0 {
		t.Errorf("a line too early: %q", &out)
	}
	due := func() { p.shown = p.shown.Add(-plainTick) }
	due()
	p.show("gomem", "measuring", time.Second, 2*time.Second, &c)
	if s := out.String(); !strings.HasPrefix(s, "gomem: measuring 1.0 of 2.0 s  ") || strings.Count(s, "\n") != 1 {
		t.Errorf("line %q", s)
	}
	p = newProgress(discard{})
	if n := testing.AllocsPerRun(1000, func() {
		due()
		p.show("gomem", "measuring", time.Second, 2*time.Second, &c)
	}); n != 0 {
		t.Errorf("%v allocations per line", n)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// Once queues and lists have grown to the load, a frame costs the Go heap nothing.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	if raceEnabled || check.Enabled {
		t.Skip("pools do not keep everything in this build")
	}
	cfg := &config{streams: 2, subscribers: 4, duration: time.Second, engine: "gomem"}
	all, err := measureAll(t.Context(), cfg, mustInput(t), newProgress(discard{}))
	if err != nil {
		t.Fatal(err)
	}
	// What the runtime does beside, stacks, timers, waiting goroutines, and the last
	// queue that grows do not depend on how many frames the machine can do.
	const beside = 2000
	perFrame := 0.01
	if runtime.GOOS == "windows" {
		perFrame = 0.5 // package net keeps no list for more than 128 buffers there
	}
	if f := all[0]; f.framesIn == 0 || float64(f.allocs) > beside+perFrame*float64(f.framesIn) {
		t.Errorf("%d allocations for %d frames", f.allocs, f.framesIn)
	}
}
