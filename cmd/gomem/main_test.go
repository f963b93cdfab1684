package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestMain is the program itself in the process that TestEndings starts, and what ends it
// in the one that TestIgnoredEndings does.
func TestMain(m *testing.M) {
	switch os.Getenv("GOMEM_AS_PROGRAM") {
	case "":
		m.Run()
	case "endings":
		fmt.Print(endings())
	default:
		main()
	}
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		args           []string
		status         int
		stdout, stderr string // what they contain; nothing if empty
	}{
		{nil, 2, "", "usage: gomem command"},
		{[]string{"help"}, 0, "usage: gomem command", ""},
		{[]string{"-h"}, 0, "usage: gomem command", ""},
		{[]string{"help", "help"}, 0, "usage: gomem command", ""},
		{[]string{"-h", "--help"}, 0, "usage: gomem command", ""},
		{[]string{"help", "relay"}, 0, "usage: gomem relay [flags]", ""},
		{[]string{"-h", "wcet"}, 0, "usage: gomem wcet [flags]", ""},
		{[]string{"help", "relay", "foo"}, 2, "", `gomem help: unexpected argument "foo"`},
		{[]string{"help", "help", "foo"}, 2, "", `gomem help: unexpected argument "foo"`},
		{[]string{"help", "fly"}, 2, "", `gomem: unknown command "fly"`},
		{[]string{"wcet", "-h"}, 0, "usage: gomem wcet [flags]", ""},
		{[]string{"soak", "-fly"}, 2, "", "gomem soak: flag provided but not defined: -fly\n"},
		{[]string{"fly"}, 2, "", `gomem: unknown command "fly"`},
		{[]string{"relay", "-streams", "0"}, 2, "", "gomem relay: -streams 0"},
		{[]string{"relay", "-listen", "here"}, 1, "", "gomem relay: -listen here: "},
	} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), c.args, &out, &errs); status != c.status {
			t.Errorf("%q: status %d, want %d", c.args, status, c.status)
		}
		for _, s := range []struct{ name, got, want string }{{"stdout", out.String(), c.stdout}, {"stderr", errs.String(), c.stderr}} {
			if !strings.Contains(s.got, s.want) || s.want == "" && s.got != "" {
				t.Errorf("%q: %s is %q, want %q in it", c.args, s.name, s.got, s.want)
			}
		}
	}
}

// full is a disk without room.
type full struct{}

var errFull = errors.New("no room")

func (full) Write([]byte) (int, error) { return 0, errFull }

// Output that is lost is an error, also of the commands that do not look.
func TestLostOutput(t *testing.T) {
	for _, args := range [][]string{
		{"help"},
		{"help", "soak"},
		{"soak", "-duration", "1ms", "-goroutines", "1", "-live", "1"},
		{"wcet", "-samples", "1", "-pool", "1", "-evict", "0"},
	} {
		var errs bytes.Buffer
		if status := run(t.Context(), args, full{}, &errs); status != 1 || !strings.Contains(errs.String(), "gomem "+args[0]+": "+errFull.Error()+"\n") {
			t.Errorf("%q: status %d, %q", args, status, &errs)
		}
	}
	var errs bytes.Buffer
	if status := run(t.Context(), []string{"-h"}, full{}, &errs); status != 1 || errs.String() != "gomem help: "+errFull.Error()+"\n" {
		t.Errorf("-h: status %d, %q", status, &errs)
	}
}

// Every command says what its flags and its exit statuses are, an interrupt's too.
func TestHelpOfCommands(t *testing.T) {
	for _, c := range commands {
		var out bytes.Buffer
		if status := run(t.Context(), []string{"help", c.name}, &out, io.Discard); status != 0 {
			t.Errorf("%s: status %d", c.name, status)
		}
		for _, want := range []string{"usage: gomem " + c.name + " ", "\nThe exit status is 0", "nterrupt", "\n\nflags:\n  -"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the help of %s has no %q:\n%s", c.name, want, &out)
			}
		}
	}
}

// Every command has its line of help.
func TestHelp(t *testing.T) {
	var out bytes.Buffer
	printHelp(&out)
	for _, c := range commands {
		if c.help == "" || !strings.Contains(out.String(), "  "+c.name+" ") {
			t.Errorf("%s is not in the help:\n%s", c.name, &out)
		}
	}
}

// TestIgnoredEndings: who starts the program with a signal ignored keeps it from ending so.
func TestIgnoredEndings(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals there")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for trap, ignored := range map[string][]os.Signal{"INT": {os.Interrupt}, "HUP": hangup} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "trap '' "+trap+"; exec \"$0\"", self)
		cmd.Env = append(os.Environ(), "GOMEM_AS_PROGRAM=endings")
		out, err := cmd.Output()
		if err != nil {
			t.Skip("no shell: ", err)
		}
		want := slices.DeleteFunc(endings(), func(s os.Signal) bool { return slices.Contains(ignored, s) })
		if got := string(out); got != fmt.Sprint(want) {
			t.Errorf("with %s ignored these end the program: %s, want %v", trap, got, want)
		}
	}
}

// TestEndings: a command that is told to end prints what it has so far.
func TestEndings(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals there")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range endings() {
		cmd := exec.CommandContext(t.Context(), self, "soak", "-duration", "1h", "-goroutines", "1", "-live", "1")
		cmd.Env = append(os.Environ(), "GOMEM_AS_PROGRAM=1")
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(stdout)
		first, _ := out.ReadString('\n')
		if err := cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
		rest, _ := io.ReadAll(out)
		if err := cmd.Wait(); err != nil || !strings.Contains(string(rest), "wrong frees") {
			t.Errorf("%v after %q: %v, and then it prints %q", s, first, err, rest)
		}
	}
}
