package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A line is cut to the width of the terminal: of a longer one "\r" leads back to the
// last row only. A shorter one leaves nothing of the one before.
func TestLineOnATerminal(t *testing.T) {
	var out bytes.Buffer
	l := NewLine(&out)
	l.terminal, l.most = true, 10
	for _, c := range []struct{ text, want string }{
		{"0123456789abc", "\r\r0123456789"},
		{"short", "\r          \rshort"},
		{"漢字漢字漢字", "\r     \r漢字漢字漢"},
		{"1234567漢字", "\r          \r1234567漢"},
		{"", "\r         \r"},
	} {
		out.Reset()
		l.Show([]byte(c.text))
		if got := out.String(); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.text, got, c.want)
		}
	}
	l.Show([]byte("abc"))
	out.Reset()
	l.Clear()
	l.Clear()
	if got := out.String(); got != "\r   \r" {
		t.Errorf("cleared by %q", got)
	}
}

func TestLineElsewhere(t *testing.T) {
	var out bytes.Buffer
	l := NewLine(&out)
	long := strings.Repeat("x", 200)
	l.Show([]byte(long))
	l.Clear()
	l.Show([]byte("y"))
	if want := long + "\ny\n"; out.String() != want || l.Terminal() {
		t.Errorf("printed %q, want %q", &out, want)
	}
}

// A text is shown as it is, but for what a terminal would obey and what is no text.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"git.trace.gz": "git.trace.gz", "grün.txt": "grün.txt", "a\\b": "a\\b", "\ufffd": "\ufffd",
		"a\x1b[2Jb": `a\x1b[2Jb`, "a\xffb": `a\xffb`, "a\nb\u202e": `a\nb\u202e`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
	var out strings.Builder
	Complain(&out, "fly", errors.Join(errors.New("a\x1bb"), errors.New("c")))
	if want := "gomem fly: a\\x1bb\ngomem fly: c\n"; out.String() != want {
		t.Errorf("printed %q, want %q", &out, want)
	}
}
