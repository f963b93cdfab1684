package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable is text as a terminal and a page may show it: what a terminal would obey and
// what is no UTF-8 is written as in a Go string.
func Printable(text string) string {
	var b strings.Builder
	for text != "" {
		c, n := utf8.DecodeRuneInString(text)
		shown := text[:n]
		if !unicode.IsPrint(c) || c == utf8.RuneError && n == 1 {
			quoted := strconv.Quote(shown)
			shown = quoted[1 : len(quoted)-1]
		}
		b.WriteString(shown)
		text = text[n:]
	}
	return b.String()
}

// Complain prints err, behind the name of the command in each line.
func Complain(w io.Writer, command string, err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(w, "gomem %s: %s\n", command, Printable(strings.TrimSuffix(line, "\n")))
	}
}
