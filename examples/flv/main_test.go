package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

const recorded = "../../testdata/testsrc.flv"

func TestList(t *testing.T) {
	f, err := os.Open(recorded)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out strings.Builder
	if err := list(f, &out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"script: 1 tags, ", "video: ", "audio: ", " ms\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
}

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run([]string{recorded}, strings.NewReader(""), &out); err != nil || !strings.Contains(out.String(), "video: ") {
		t.Errorf("%v: %s", err, &out)
	}
	if err := run(nil, strings.NewReader(""), &out); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("nothing: %v", err)
	}
	if run([]string{"nowhere"}, nil, &out) == nil || run([]string{recorded, recorded}, nil, &out) == nil {
		t.Error("wrong arguments were accepted")
	}
}

// Who sits at a terminal is told what the program waits for; the null device is of that
// kind, too.
func TestTell(t *testing.T) {
	for path, lines := range map[string]int{os.DevNull: 1, recorded: 0} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		tell(f, &out)
		f.Close()
		if n := strings.Count(out.String(), "usage: flv [FILE]\n"); n != lines {
			t.Errorf("of %s: %q", path, out.String())
		}
	}
}

func TestCutAndDamaged(t *testing.T) {
	data, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	for end := 14; end < 2000; end++ {
		err := list(bytes.NewReader(data[:end]), io.Discard)
		if err != nil && err != io.ErrUnexpectedEOF {
			t.Fatalf("cut at %d: %v", end, err)
		}
	}
	damaged := bytes.Clone(data[:5000])
	damaged[16]++ // the size of the first tag
	if err := list(bytes.NewReader(damaged), io.Discard); !errors.Is(err, errFormat) {
		t.Errorf("damaged: %v", err)
	}
	if err := list(strings.NewReader("GIF89a and further bytes"), io.Discard); !errors.Is(err, errFormat) {
		t.Errorf("another format: %v", err)
	}
}

// full is a disk without room.
type full struct{}

var errFull = errors.New("no room")

func (full) Write([]byte) (int, error) { return 0, errFull }

// Output that is lost is an error.
func TestLostOutput(t *testing.T) {
	if err := run([]string{recorded}, nil, full{}); !errors.Is(err, errFull) {
		t.Errorf("on a full disk: %v", err)
	}
}
