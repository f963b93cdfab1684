package cli

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The width is the terminal's, where there is one.
func TestLineOfTheTerminalsWidth(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer terminal.Close()
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 132}); err != nil {
		t.Skip(err)
	}
	if l := NewLine(terminal); !l.terminal || l.most != 131 {
		t.Errorf("terminal %v of at most %d columns, want 131", l.terminal, l.most)
	}
	nothing, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer nothing.Close()
	if l := NewLine(nothing); l.most != 79 {
		t.Errorf("at most %d columns of an unknown width, want 79", l.most)
	}
}
