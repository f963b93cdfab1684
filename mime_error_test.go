package gomem

import (
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// interruptedFields are the fields of a header.
var interruptedFields = []string{"A: b\r\n", "C:\r\n d\r\n\te\r\n", "A: " + strings.Repeat("f", 40) + "\r\n g\r\n", "H:\n"}

// interruptedAt delivers text, and before its byte at offset at an error.
func interruptedAt(text string, at int, bytewise bool) io.Reader {
	parts := []io.Reader{strings.NewReader(text[:at]), &once{err: os.ErrDeadlineExceeded}, strings.NewReader(text[at:])}
	if bytewise {
		parts[0], parts[2] = iotest.OneByteReader(parts[0]), iotest.OneByteReader(parts[2])
	}
	return io.MultiReader(parts...)
}

// once returns an error, and is at its end from then on.
type once struct{ err error }

func (o *once) Read([]byte) (int, error) {
	err := o.err
	o.err = io.EOF
	return 0, err
}

// joinHeaders adds the values of h to those of to.
func joinHeaders(to, h textproto.MIMEHeader) {
	for key, values := range h {
		to[key] = append(to[key], values...)
	}
}

// eachHeaderReader calls f with the kinds of readers of a header that an error interrupts.
func eachHeaderReader(t *testing.T, f func(name string, bytewise bool, reader func(io.Reader) *BufReader)) {
	for _, bufLen := range []int{16, 40, 64 << 10} {
		for _, bytewise := range []bool{false, true} {
			for _, hold := range []bool{false, true} {
				name := fmt.Sprintf("blocks of %d, bytewise=%v, hold=%v", bufLen, bytewise, hold)
				f(name, bytewise, func(src io.Reader) *BufReader {
					b := newTestReader(t, src, bufLen)
					b.HoldViews = hold
					return b
				})
			}
		}
	}
}

// TestHeaderGoesOnAfterError: an error of the source, wherever it comes, leaves unread
// the field that it interrupts, and the next call returns that whole.
func TestHeaderGoesOnAfterError(t *testing.T) {
	text := strings.Join(interruptedFields, "") + "\r\n"
	want := textproto.MIMEHeader{"A": {"b", strings.Repeat("f", 40) + " g"}, "C": {"d e"}, "H": {""}}
	eachHeaderReader(t, func(name string, bytewise bool, reader func(io.Reader) *BufReader) {
		for at := range len(text) {
			ended, end := 0, 0
			for _, field := range interruptedFields {
				if end += len(field); end < at {
					ended++
				}
			}
			b := reader(interruptedAt(text+"behind it", at, bytewise))
			h, err := b.ReadMIMEHeader()
			n := 0
			for _, values := range h {
				n += len(values)
			}
			if err != os.ErrDeadlineExceeded || n != ended {
				t.Fatalf("%s, error at %d: %q, %v, want %d fields", name, at, h, err, ended)
			}
			rest, err := b.ReadMIMEHeader()
			joinHeaders(h, rest)
			if err != nil || !reflect.DeepEqual(h, want) {
				t.Fatalf("%s, error at %d: %q, %v", name, at, h, err)
			}
			behind, err := io.ReadAll(b)
			expectRead(t, name, string(behind), err, "behind it", nil)
		}
	})
}

// TestHeaderGoesOnAfterErrors: the source fails after each byte.
func TestHeaderGoesOnAfterErrors(t *testing.T) {
	text := strings.Join(interruptedFields, "") + "\r\n"
	want := textproto.MIMEHeader{"A": {"b", strings.Repeat("f", 40) + " g"}, "C": {"d e"}, "H": {""}}
	eachHeaderReader(t, func(name string, bytewise bool, reader func(io.Reader) *BufReader) {
		calls := 0
		b := reader(oddReader(func(p []byte) (int, error) {
			if calls++; calls%2 == 0 {
				return 0, os.ErrDeadlineExceeded
			}
			return copy(p[:1], text[calls/2:]), nil
		}))
		h := make(textproto.MIMEHeader)
		err := os.ErrDeadlineExceeded
		for n := 0; err == os.ErrDeadlineExceeded && n < 2*len(text); n++ {
			var more textproto.MIMEHeader
			more, err = b.ReadMIMEHeader()
			joinHeaders(h, more)
		}
		if err != nil || !reflect.DeepEqual(h, want) {
			t.Fatalf("%s: %q, %v", name, h, err)
		}
	})
}

// TestHeaderEndsAfterError: a stream that ends after an error within the header ends
// within the header.
func TestHeaderEndsAfterError(t *testing.T) {
	text := strings.Join(interruptedFields, "")
	eachHeaderReader(t, func(name string, bytewise bool, reader func(io.Reader) *BufReader) {
		for at := range len(text) + 1 {
			_, whole, _ := headerOf(t, text[:at], true, func(*BufReader) {})
			b := reader(interruptedAt(text[:at], at, bytewise))
			h, err := b.ReadMIMEHeader()
			if err != os.ErrDeadlineExceeded {
				t.Fatalf("%s, error at %d: %v", name, at, err)
			}
			rest, err := b.ReadMIMEHeader()
			joinHeaders(h, rest)
			if want := truncated(io.EOF, at); err != want || !reflect.DeepEqual(h, whole) {
				t.Fatalf("%s, end at %d: %q, %v, want %q, %v", name, at, h, err, whole, want)
			}
		}
	})
}

// TestHeaderWithoutMemory: a field whose lines cannot be put together stays unread until
// there is memory.
func TestHeaderWithoutMemory(t *testing.T) {
	closed := NewScalableMemoryAllocator(1 << 16)
	expectError(t, closed.Close(), nil)
	long := strings.Repeat("l", 2*smallPacket)
	feed := make(chan []byte, 4)
	for _, packet := range []string{"A: b\nC: c\n " + long, long + "\n", "\n"} {
		feed <- []byte(packet)
	}
	b := NewBufReaderChan(feed)
	defer b.Recycle()
	b.Allocator = closed
	h, err := b.ReadMIMEHeader()
	if !errors.Is(err, ErrClosed) || !reflect.DeepEqual(h, textproto.MIMEHeader{"A": {"b"}}) {
		t.Errorf("without memory: %q, %v", h, err)
	}
	b.Allocator = nil
	h, err = b.ReadMIMEHeader()
	if err != nil || !reflect.DeepEqual(h, textproto.MIMEHeader{"C": {"c " + long + long}}) {
		t.Errorf("with memory: %q, %v", h, err)
	}
}

// TestHeaderErrorOfTheSource: an error of the source interrupts a header, also one of a
// type that the parser refuses lines with.
func TestHeaderErrorOfTheSource(t *testing.T) {
	inner := &LimitError{Op: "ReadLine", Limit: "MaxLineBytes", Max: 100, Size: 101}
	for _, want := range []error{inner, textproto.ProtocolError("inner")} {
		for _, at := range []int{4, 6, 8} { // in a line, behind it, in the next one
			text := "A: b\r\n c\r\n\r\n"
			b := newTestReader(t, &script{list: []any{[]byte(text[:at]), want, []byte(text[at:])}}, 0)
			if h, err := b.ReadMIMEHeader(); err != want || len(h) != 0 {
				t.Errorf("%T at %d: %v, %v", want, at, h, err)
			}
			if h, err := b.ReadMIMEHeader(); err != nil || h.Get("A") != "b c" {
				t.Errorf("%T at %d, then: %v, %v", want, at, h, err)
			}
		}
	}
}
