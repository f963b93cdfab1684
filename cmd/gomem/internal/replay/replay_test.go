package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/trace"
)

// program returns the operations of a random program that keeps up to 50
// blocks.
func program(seed uint64, ops int) []uint32 {
	random := rand.New(rand.NewPCG(seed, seed))
	var live, all []uint32
	id := uint32(0)
	for range ops {
		if len(live) == 50 || len(live) > 0 && random.IntN(2) == 0 {
			i := random.IntN(len(live))
			all = append(all, trace.FreeBit|live[i])
			live = slices.Delete(live, i, i+1)
			continue
		}
		all = append(all, 1+uint32(random.IntN(5000)))
		live = append(live, id)
		id++
	}
	return all
}

func writeTrace(t *testing.T, name string, ops []uint32) string {
	t.Helper()
	var b []byte
	for _, op := range ops {
		b = binary.LittleEndian.AppendUint32(b, op)
	}
	return writeBytes(t, name, b)
}

func writeBytes(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunPrintsEveryConfiguration(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	html := filepath.Join(t.TempDir(), "page.html")
	file := writeTrace(t, "prog&b.trace", program(seed, 2000))
	var stdout, stderr bytes.Buffer
	if status := Run(t.Context(), []string{"-rounds", "1", "-html", html, file}, &stdout, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	text, err := os.ReadFile(html)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs() {
		if !strings.Contains(stdout.String(), c.name) {
			t.Errorf("the table has no row for %q", c.name)
		}
		if !strings.Contains(stderr.String(), c.name) {
			t.Errorf("no progress was shown for %q", c.name)
		}
		if n := strings.Count(string(text), c.name); n < 4 {
			t.Errorf("the page names %q %d times", c.name, n)
		}
	}
	checkPage(t, string(text))
	if !strings.Contains(string(text), "prog&amp;b.trace") {
		t.Error("the file's name is not on the page, escaped")
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(html), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left beside the page: %v, %v", left, err)
	}
}

// What an allocator recorded is a trace for the command.
func TestRunReplaysARecording(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "recorded.trace"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a := gomem.NewScalableMemoryAllocator(0, gomem.WithTrace(file))
	for i := range 500 {
		b := a.Malloc(1 + i*37)
		a.FreeRest(&b, len(b)/2)
		if i%3 > 0 {
			a.Free(b)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := Run(t.Context(), []string{"-rounds", "1", file.Name()}, &stdout, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	if !strings.Contains(stdout.String(), "recorded.trace") {
		t.Errorf("the trace is not in the table:\n%s", stdout.String())
	}
}

// checkPage: nothing is loaded from elsewhere, and the drawings are XML, each with a label
// of its own.
func checkPage(t *testing.T, text string) {
	t.Helper()
	if m := regexp.MustCompile(`(?i)(src|href|@import|url\()[ =("']*[a-z]`).FindString(text); m != "" {
		t.Errorf("the page refers to something: %q", m)
	}
	pictures := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(text, -1)
	if want := 3 * len(configs()); len(pictures) != want {
		t.Errorf("%d pictures, want %d", len(pictures), want)
	}
	labels := regexp.MustCompile(`aria-label="[^"]*"`).FindAllString(text, -1)
	slices.Sort(labels)
	if n := len(slices.Compact(labels)); n != len(pictures) {
		t.Errorf("%d labels for %d pictures", n, len(pictures))
	}
	for _, p := range pictures {
		dec := xml.NewDecoder(strings.NewReader(p))
		for {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("a picture is not XML: %v", err)
				break
			}
		}
		if strings.Contains(p, "NaN") || strings.Contains(p, "Inf") {
			t.Error("a picture has a coordinate that is no number")
		}
	}
}

func TestRunRefusesBadArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"-rounds", "0", "x"}, {"-rounds", "9223372036854775807", "x"}, {"-rounds", "1000001", "x"}, {"-max-live", "0", "x"}, {"-max-ops", "0", "x"}, {"-only", "abacus", "x"}, {"-html", "", "x"}, {"-nonsense"}} {
		var stdout, stderr bytes.Buffer
		if status := Run(t.Context(), args, &stdout, &stderr); status != 2 || stdout.Len() > 0 ||
			!strings.HasPrefix(stderr.String(), "gomem replay: ") || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("Run(%q) = %d, printed %q", args, status, stderr.String())
		}
		if len(args) > 0 && !strings.Contains(stderr.String(), args[0]) {
			t.Errorf("Run(%q) does not name the flag: %q", args, stderr.String())
		}
	}
	var stdout bytes.Buffer
	if status := Run(t.Context(), []string{"-h"}, &stdout, io.Discard); status != 0 || !strings.Contains(stdout.String(), "usage:") {
		t.Errorf("-h: status %d, %q", status, &stdout)
	}
}

// TestNoRoomNamesTheOperation: the memory that a trace needs is not there.
func TestNoRoomNamesTheOperation(t *testing.T) {
	tr, err := trace.New([]uint32{100, 100, 1 << 24, trace.FreeBit}, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	faulty := backing.NewFaulty(backing.Heap())
	faulty.FailFrom(backing.OpMap, 1, errors.New("injected"))
	_, err = measure(t.Context(), config{"faulty", func() backing.Source { return faulty }, gomem.SizeClasses}, tr, 1)
	var op *trace.OpError
	if !errors.As(err, &op) || op.Op != 0 || !errors.Is(err, backing.ErrOutOfMemory) {
		t.Errorf("measure: %v", err)
	}
	if n, held := faulty.Live(); n != 0 || held != 0 {
		t.Errorf("%d mappings of %d bytes are left", n, held)
	}
}

func TestPageLeavesTheOldOne(t *testing.T) {
	const old = "<!doctype html>\nold"
	path := writeBytes(t, "page.html", []byte(old))
	broken := errors.New("broken")
	page, err := openPage(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	err = page.write(func(w io.Writer) error {
		if _, err := io.WriteString(w, "half a page"); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("write: %v", err)
	}
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		t.Errorf("beside the page: %v, %v", names, err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != old {
		t.Errorf("the page became %q, %v", b, err)
	}
}

// A page that cannot be written is found before anything is measured, and nothing
// is left beside it when the measurement fails.
func TestPageIsMadeFirst(t *testing.T) {
	good := writeTrace(t, "good", program(2, 100))
	dir := t.TempDir()
	for _, html := range []string{filepath.Join(dir, "none", "x.html"), dir} {
		var stdout, stderr bytes.Buffer
		if status := Run(t.Context(), []string{"-html", html, good}, &stdout, &stderr); status != 1 || stdout.Len() > 0 ||
			!strings.HasPrefix(stderr.String(), "gomem replay: the page cannot be written: ") {
			t.Errorf("%s: status %d, stdout %q, stderr %q", html, status, &stdout, &stderr)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status := Run(ctx, []string{"-html", filepath.Join(dir, "x.html"), good}, io.Discard, io.Discard); status != 1 {
		t.Errorf("cancelled: status %d", status)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("left in the directory: %v, %v", names, err)
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	for i := range buckets - 1 {
		if start := bucketStart(i); bucketOf(start) != i || bucketOf(bucketStart(i+1)-1) != i {
			t.Fatalf("bucket %d holds [%d, %d): its ends are in %d and %d",
				i, start, bucketStart(i+1), bucketOf(start), bucketOf(bucketStart(i+1)-1))
		}
	}
	if got := bucketOf(1<<63 - 1); got != buckets-1 {
		t.Errorf("the longest duration is in bucket %d of %d", got, buckets)
	}
	if h.quantile(0.99) != 0 {
		t.Error("a quantile of nothing")
	}
	for i := range 1000 {
		h.add(time.Duration(i))
	}
	if p := h.quantile(0.5); p < 499 || p > 511 {
		t.Errorf("median %v of 0 to 999", p)
	}
	if p := h.quantile(1); p != 999 {
		t.Errorf("p100 %v of 0 to 999", p)
	}
	if h.worst != 999 || h.total != 1000 {
		t.Errorf("worst %v of %d", h.worst, h.total)
	}
}

// A share is reached where that many of all values lie, not one later: the worst of a
// hundred is not their p99.
func TestQuantileIsWhereTheShareIsReached(t *testing.T) {
	var h histogram
	for range 99 {
		h.add(5)
	}
	h.add(time.Millisecond)
	if p := h.quantile(0.99); p != 5 {
		t.Errorf("p99 %v of 99 times 5ns and once 1ms", p)
	}
	if p := h.quantile(1); p != time.Millisecond {
		t.Errorf("p100 %v of 99 times 5ns and once 1ms", p)
	}
	if p := h.quantile(0); p != 5 {
		t.Errorf("p0 %v of 99 times 5ns and once 1ms", p)
	}
}

// sameAddress is a source in which other goroutines map while one unmaps, and get
// the address that has just become free.
type sameAddress struct {
	backing.Source // nil: there is no more to it than to map and unmap
	r              *recorder
	mem            []byte
	err            error // of Unmap, which then unmaps nothing
}

func (s *sameAddress) Map(int) ([]byte, error) { return s.mem, nil }
func (s *sameAddress) Unmap(mem []byte) error {
	if s.err == nil {
		s.r.Map(len(mem))
	}
	return s.err
}

// The recorder knows what is mapped although an address comes again before it is
// done with the one that had it, and although an unmap fails.
func TestRecorderOfAnAddressThatComesAgain(t *testing.T) {
	src := &sameAddress{mem: make([]byte, 4096)}
	r := &recorder{Source: src}
	src.r = r
	mem, _ := r.Map(4096)
	if err := r.Unmap(mem); err != nil {
		t.Fatal(err)
	}
	if now, most := r.now(); len(r.all()) != 1 || now != 4096 || most != 4096 {
		t.Errorf("%d mappings of %d bytes, %d at most; want the one that came again", len(r.all()), now, most)
	}
	src.err = errors.New("refused")
	if err := r.Unmap(mem); err != src.err {
		t.Errorf("error %v, want that of the source", err)
	}
	if now, _ := r.now(); len(r.all()) != 1 || now != 4096 {
		t.Errorf("%d mappings of %d bytes; want the one that was not unmapped", len(r.all()), now)
	}
}

func TestWatchSeesWhatIsHeld(t *testing.T) {
	tr, err := trace.New([]uint32{1 << 20, 1 << 19, trace.FreeBit, 64, trace.FreeBit | 1}, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs() {
		src := newRecorder(c)
		al := newAllocator(c, src, tr)
		m, err := al.watch(t.Context(), src, tr)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Samples) != len(tr.Ops) || m.Samples[1].Live != 3<<19 || m.Samples[len(tr.Ops)-1].Live != 0 {
			t.Errorf("%s: samples %+v", c.name, m.Samples)
		}
		if src == nil {
			continue
		}
		if m.PeakBacking < 3<<19 || m.Fragmentation < 0 || m.Fragmentation > 1 {
			t.Errorf("%s: peak backing %d, fragmentation %v", c.name, m.PeakBacking, m.Fragmentation)
		}
		sum := 0.0
		for _, cell := range m.Fullest.Cells {
			sum += cell
		}
		drawn := sum / float64(len(m.Fullest.Cells)) * float64(m.Fullest.Size)
		if live := float64(m.Fullest.Live); live == 0 || drawn < live*0.99 || drawn > live*1.01 {
			t.Errorf("%s: the map shows %.0f bytes of %.0f", c.name, drawn, live)
		}
		if err := al.close(); err != nil {
			t.Error(err)
		}
	}
}
