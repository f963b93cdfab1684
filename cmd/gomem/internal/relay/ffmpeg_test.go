package relay

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// watcher collects what the command writes while it runs.
type watcher struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *watcher) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(b)
}

func (w *watcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// startListening runs the command with -listen and returns its address, what it
// says, and how to end it.
func startListening(t *testing.T, e string) (addr string, errs *watcher, end func() (status int, out string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var (
		out    watcher
		status int
		done   = make(chan struct{})
	)
	errs = new(watcher)
	go func() {
		defer close(done)
		status = Run(ctx, []string{"-listen", "127.0.0.1:0", "-engine", e}, &out, errs)
	}()
	end = func() (int, string) {
		cancel()
		<-done
		return status, out.String()
	}
	t.Cleanup(func() { end() })
	where := regexp.MustCompile(`listening on (\S+);`)
	until(t, "the address", func() bool { return where.MatchString(errs.String()) })
	return where.FindStringSubmatch(errs.String())[1], errs, end
}

func TestListen(t *testing.T) {
	in := mustInput(t)
	for _, e := range []string{"gomem", "std"} {
		addr, errs, end := startListening(t, e)
		sub, err := dialSubscriber(t.Context(), addr, "s")
		if err != nil {
			t.Fatal(err)
		}
		pub, err := dialPublisher(t.Context(), addr, "s", in)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range [][]byte{in.preamble, in.tags} {
			if _, err := pub.conn.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		pub.conn.Close()
		pub.sent.add(in.tags)
		if err := sub.run(in.preamble); err != nil || sub.got != pub.sent {
			t.Errorf("%s: got %v, %v; want %v", e, sub.got, err, pub.sent)
		}
		status, out := end()
		if status != 0 || !strings.Contains(out, "frames received/s") {
			t.Errorf("%s: status %d\n%s\n%s", e, status, out, errs)
		}
	}
}

// ffmpeg publishes the recording and ffmpeg pulls it, both ways there are; what
// they decode is what the recording decodes to.
func TestFFmpeg(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("ffmpeg is not installed")
	}
	if testing.Short() {
		t.Skip("takes as long as the recording")
	}
	run := func(args ...string) (stdout []byte, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, ffmpeg, append([]string{"-nostdin", "-hide_banner", "-loglevel", "error"}, args...)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		stdout, err = cmd.Output()
		if errs.Len() > 0 {
			t.Logf("ffmpeg: %s", &errs)
		}
		return stdout, err
	}
	file := filepath.Join(t.TempDir(), "in.flv")
	if err := os.WriteFile(file, testsrc, 0o600); err != nil {
		t.Fatal(err)
	}
	md5, err := run("-i", file, "-f", "framemd5", "-")
	if err != nil {
		t.Fatal(err)
	}
	want := frameSums(md5)
	if len(want["0"]) < 180 || len(want["1"]) < 250 {
		t.Fatalf("the recording decodes to %d and %d frames", len(want["0"]), len(want["1"]))
	}

	addr, errs, end := startListening(t, "gomem")
	var pulling sync.WaitGroup
	for _, url := range []string{"tcp://" + addr, "http://" + addr + "/live.flv"} {
		pulling.Go(func() {
			md5, err := run("-f", "flv", "-i", url, "-f", "framemd5", "-")
			if err != nil {
				t.Errorf("%s: %v", url, err)
				return
			}
			for stream, sums := range frameSums(md5) {
				if got, want := strings.Join(sums, " "), strings.Join(want[stream], " "); got != want {
					t.Errorf("%s: stream %s decodes to %d frames that are not the %d of the recording",
						url, stream, len(sums), len(strings.Fields(want)))
				}
			}
		})
	}
	until(t, "both subscribers", func() bool { return strings.Count(errs.String(), "pulls live") == 2 })
	if _, err := run("-re", "-i", file, "-c", "copy", "-f", "flv", "tcp://"+addr); err != nil {
		t.Error(err)
	}
	pulling.Wait()
	if status, out := end(); status != 0 {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
}

// frameSums picks the checksums from the output of -f framemd5, by stream.
func frameSums(out []byte) map[string][]string {
	sums := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
		if len(fields) < 6 || strings.HasPrefix(line, "#") {
			continue
		}
		sums[fields[0]] = append(sums[fields[0]], fields[len(fields)-1])
	}
	return sums
}
