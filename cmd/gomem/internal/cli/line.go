package cli

import (
	"io"
	"os"
	"unicode/utf8"
)

// Line shows how far a command is: on a terminal in one line that is written over and
// cut to the terminal's width, elsewhere in a line each time.
type Line struct {
	w        io.Writer
	terminal bool
	most     int // columns that a line may take
	width    int // of the line on the terminal, or more
	buf      []byte
}

// NewLine returns a line on w, which is a terminal if it is a device.
func NewLine(w io.Writer) *Line {
	l := &Line{w: w, most: 79}
	f, ok := w.(*os.File)
	if !ok {
		return l
	}
	info, err := f.Stat()
	l.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	if n := columns(f); n > 1 {
		l.most = n - 1 // some go to the next line with the last column
	}
	return l
}

// Terminal reports that the line is written over.
func (l *Line) Terminal() bool { return l.terminal }

// Show writes text in place of what was there. It allocates nothing once it has shown
// a line as long.
func (l *Line) Show(text []byte) {
	if !l.terminal {
		l.buf = append(append(l.buf[:0], text...), '\n')
		l.w.Write(l.buf)
		return
	}
	l.erase()
	text, l.width = cut(text, l.most)
	l.buf = append(l.buf, text...)
	l.w.Write(l.buf)
}

// Clear makes room for other output.
func (l *Line) Clear() {
	if l.width > 0 {
		l.erase()
		l.w.Write(l.buf)
		l.width = 0
	}
}

// erase begins buf with what removes the line.
func (l *Line) erase() {
	l.buf = append(l.buf[:0], '\r')
	for range l.width {
		l.buf = append(l.buf, ' ')
	}
	l.buf = append(l.buf, '\r')
}

// cut returns the start of text that fits into so many columns, and how many it takes at
// most: any letter beyond ASCII may be as wide as two.
func cut(text []byte, columns int) (start []byte, width int) {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		wide := 1
		if r >= utf8.RuneSelf {
			wide = 2
		}
		if width+wide > columns {
			return text[:at], width
		}
		at += n
		width += wide
	}
	return text, width
}
