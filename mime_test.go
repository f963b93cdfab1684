package gomem

import (
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// headerOf reads a header that follows a byte, with everything behind it there or
// coming byte by byte.
func headerOf(t *testing.T, text string, whole bool, set func(*BufReader)) (*BufReader, textproto.MIMEHeader, error) {
	t.Helper()
	src := io.Reader(strings.NewReader("x" + text))
	if !whole {
		src = iotest.OneByteReader(src)
	}
	b := newTestReader(t, src, 64<<10)
	set(b)
	_, err := b.ReadByte()
	expectError(t, err, nil)
	h, err := b.ReadMIMEHeader()
	return b, h, err
}

// TestHeaderKeyBytes: a key is made of what RFC 9110 calls a token, and nothing else.
func TestHeaderKeyBytes(t *testing.T) {
	const token = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for c := range 256 {
		key := "K" + string([]byte{byte(c)}) + "y"
		_, h, err := headerOf(t, key+": v\n\n", true, func(*BufReader) {})
		_, refused := errors.AsType[textproto.ProtocolError](err)
		if strings.IndexByte(token, byte(c)) >= 0 {
			if err != nil || h.Get(key) != "v" {
				t.Errorf("key %q: %v, %v", key, h, err)
			}
		} else if c != '\n' && c != ':' && !refused {
			t.Errorf("key %q is accepted: %v, %v", key, h, err)
		}
	}
}

// TestHeaderValueBytes: a value has no control character but tabs.
func TestHeaderValueBytes(t *testing.T) {
	for c := range 256 {
		want := "v" + string([]byte{byte(c)}) + "w"
		_, h, err := headerOf(t, "Key: "+want+"\n\n", true, func(*BufReader) {})
		switch {
		case c == '\n':
		case c < ' ' && c != '\t' || c == 0x7f:
			if _, ok := errors.AsType[textproto.ProtocolError](err); !ok || len(h) > 0 {
				t.Errorf("value %q: %v, %v", want, h, err)
			}
		case err != nil || h.Get("Key") != want:
			t.Errorf("value %q: %v, %v", want, h, err)
		}
	}
}

// TestHeaderContinued: lines that begin with a blank are joined by one space each, and
// empty ones add nothing, wherever they are.
func TestHeaderContinued(t *testing.T) {
	for text, want := range map[string]string{
		"A:\n b\n\n": "b", "A: \t \n \n\tb \n\n": "b", "A: b\n \n c\n\n": "b c", "A: b\n\t \n\n": "b",
		"A:b\r\n  c  \r\n\td\r\n\r\n": "b c d", "A: b  c\n d  e\n\n": "b  c d  e",
	} {
		for _, whole := range []bool{false, true} {
			_, h, err := headerOf(t, text, whole, func(*BufReader) {})
			if want := (textproto.MIMEHeader{"A": {want}}); err != nil || !reflect.DeepEqual(h, want) {
				t.Errorf("%q: %q, %v, want %q", text, h, err, want)
			}
		}
	}
}

// TestHeaderLimits: each limit lets through what it says, not a byte or line more, and
// the error says which it was and how much there was.
func TestHeaderLimits(t *testing.T) {
	long := strings.Repeat("A: 1234\r\n", 2) + "\r\n" // 20 bytes
	lines := func(n int) string { return strings.Repeat("A:\n", n) + "\n" }
	for _, c := range []struct {
		name         string
		text         string
		header, line int // the limits
		want         *LimitError
		kept         int // header lines before the error
	}{
		{"bytes", long, 20, 0, nil, 2},
		{"a byte too many", long, 19, 0, &LimitError{Limit: "MaxHeaderBytes", Max: 19, Size: 20}, 2},
		{"none left", long, 18, 0, &LimitError{Limit: "MaxHeaderBytes", Max: 18, Size: 20}, 2},
		{"in the second line", long, 17, 0, &LimitError{Limit: "MaxHeaderBytes", Max: 17, Size: 18}, 1},
		{"in the first line", long, 8, 0, &LimitError{Limit: "MaxHeaderBytes", Max: 8, Size: 9}, 0},
		{"continued", "A: 1\n 2\n\n", 8, 0, &LimitError{Limit: "MaxHeaderBytes", Max: 8, Size: 9}, 1},
		{"line", long, 0, 9, nil, 2},
		{"line too long", long, 0, 8, &LimitError{Limit: "MaxLineBytes", Max: 8, Size: 9}, 0},
		{"line of a short header", long, 20, 8, &LimitError{Limit: "MaxLineBytes", Max: 8, Size: 9}, 0},
		{"continued line", "A: 1\n 2345\n\n", 0, 5, &LimitError{Limit: "MaxLineBytes", Max: 5, Size: 6}, 1},
		{"lines", lines(maxHeaderLines - 1), 0, 0, nil, maxHeaderLines - 1},
		{"a line too many", lines(maxHeaderLines), 0, 0,
			&LimitError{Limit: "header lines", Max: maxHeaderLines, Size: maxHeaderLines + 1}, maxHeaderLines},
		{"lines without limit", lines(maxHeaderLines), -1, 0, nil, maxHeaderLines},
	} {
		for _, whole := range []bool{false, true} {
			name := fmt.Sprintf("%s, whole=%v", c.name, whole)
			b, h, err := headerOf(t, c.text+"behind it", whole, func(b *BufReader) {
				b.MaxHeaderBytes, b.MaxLineBytes = c.header, c.line
			})
			got, ok := errors.AsType[*LimitError](err)
			if ok && c.want != nil {
				c.want.Op = "ReadMIMEHeader"
				if !whole && got.Size > got.Max && got.Size <= c.want.Size {
					got.Size = c.want.Size // it has not seen more
				}
			}
			unit := map[bool]string{true: " lines exceed ", false: " bytes exceed "}[c.name == "a line too many"]
			if ok && !strings.Contains(err.Error(), unit) {
				t.Errorf("%s: %v", name, err)
			}
			if ok != (c.want != nil) || ok && *got != *c.want || !ok && err != nil {
				t.Errorf("%s: %#v, want %#v", name, err, c.want)
			}
			if len(h["A"]) != c.kept {
				t.Errorf("%s: %d lines, want %d", name, len(h["A"]), c.kept)
			}
			if !ok {
				rest, err := io.ReadAll(b)
				expectRead(t, name, string(rest), err, "behind it", nil)
			}
		}
	}
}

// TestHeaderCutOff: the end of the stream within a header is told from its end before.
func TestHeaderCutOff(t *testing.T) {
	for text, want := range map[string]error{
		"": io.EOF, "A": io.ErrUnexpectedEOF, "A:\n": io.ErrUnexpectedEOF, "A: b": io.ErrUnexpectedEOF,
		"A: b\r\n": io.ErrUnexpectedEOF, "A: b\n c": io.ErrUnexpectedEOF, "A: b\n c\n": io.ErrUnexpectedEOF, "\n": nil,
	} {
		for _, whole := range []bool{false, true} {
			_, h, err := headerOf(t, text, whole, func(*BufReader) {})
			if err != want || (len(h) > 0) != (len(text) > 1) {
				t.Errorf("%q, whole=%v: %v, %v, want %v", text, whole, h, err, want)
			}
		}
	}
}

// TestHeaderAsksNoMoreThanItMust: the end of the stream, where a header line lacks its
// ending, is its end also for a source that would go on, or wait; and a malformed line
// is refused before its successor is asked for, so that no error of the source hides it.
func TestHeaderAsksNoMoreThanItMust(t *testing.T) {
	cut, refused := io.ErrUnexpectedEOF, textproto.ProtocolError("")
	for text, row := range map[string]struct {
		want error
		kept string
	}{
		"A: b": {cut, "b"}, "A: b\n c": {cut, "b c"}, "A": {cut, ""}, "A: \x01": {cut, ""}, "A: b\n \x01": {cut, "b"},
		"A\n": {refused, ""}, "A: \x01\n": {refused, ""}, "A: b\n \x01\n": {refused, "b"}, "A: b\n c\n \x01\n": {refused, "b c"},
	} {
		calls := 0
		b := newTestReader(t, oddReader(func(p []byte) (int, error) {
			switch calls++; {
			case calls == 1:
				return copy(p, text), nil
			case calls == 2 && row.want == cut:
				return 0, io.EOF
			}
			t.Errorf("%q: the source is asked for more", text)
			return 0, errReset
		}), 0)
		h, err := b.ReadMIMEHeader()
		if reflect.TypeOf(err) != reflect.TypeOf(row.want) || row.want == cut && err != cut {
			t.Errorf("%q: %v, want %T %v", text, err, row.want, row.want)
		}
		expectRead(t, text, h.Get("A"), nil, row.kept, nil)
	}
}

// TestMalformedIsQuotedBriefly: an error does not repeat what a peer made long.
func TestMalformedIsQuotedBriefly(t *testing.T) {
	for n, want := range map[int]int{5: 5, 128: 128, 129: 128, 5000: 128} {
		_, _, err := headerOf(t, strings.Repeat("x", n)+"\n\n", true, func(*BufReader) {})
		if err == nil || strings.Count(err.Error(), "x") != want {
			t.Errorf("a line of %d bytes: %v", n, err)
		}
	}
}
