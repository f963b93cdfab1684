package gomem

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/textproto"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// headerRead is all that a caller sees of a header: what came of it, and what is left.
type headerRead struct {
	header textproto.MIMEHeader
	err    string
	rest   string
}

// readHeader reads the header that a source, or a channel, begins with.
func readHeader(t *testing.T, b *BufReader, set func(*BufReader)) headerRead {
	mem := NewScalableMemoryAllocator(1 << 16)
	defer mem.Close()
	b.Allocator = mem
	set(b)
	h, err := b.ReadMIMEHeader()
	for err == os.ErrDeadlineExceeded {
		var more textproto.MIMEHeader
		more, err = b.ReadMIMEHeader()
		joinHeaders(h, more)
	}
	if f, ok := b.src.(*faltering); ok {
		f.ahead = false // the rest is read at once
	}
	if limit, ok := errors.AsType[*LimitError](err); ok {
		limit.Size = limit.Max // how much was seen of it depends on the pieces
	}
	rest, restErr := io.ReadAll(b)
	expectError(t, restErr, nil)
	b.Recycle()
	if live := mem.GetTotalMalloc() - mem.GetTotalFree(); live != 0 {
		t.Fatalf("%d bytes are still taken", live)
	}
	return headerRead{h, fmt.Sprint(err), string(rest)}
}

// faltering returns an error before each read of its source.
type faltering struct {
	src         io.Reader
	ahead, last bool // errors come; the last read was one
}

func (f *faltering) Read(p []byte) (int, error) {
	if f.last = f.ahead && !f.last; f.last {
		return 0, os.ErrDeadlineExceeded
	}
	return f.src.Read(p)
}

// FuzzMIMEHeader: what is accepted here, net/textproto reads alike, and what it alone
// accepts has a blank in a key. What comes of a header is no matter of the pieces it
// comes in, nor of the blocks it is read into, nor of errors in between.
func FuzzMIMEHeader(f *testing.F) {
	for _, s := range []string{
		"A: b\r\n\r\n", "a:b\nA: c\n d\n\te\n\n", "Key : v\n\n", "x\n\n", " x: y\n\n", ":v\n\n",
		"A-B:\tx\n\n", "A: \x01\n\n", "A: b", "A: b\n", "A:\n \n\n", "0:0\n \n\n", "Å: b\n\n",
		"A: b\n \x01\nC: d\n\nrest", "A: b\r", "A: b\r\n\r", "A: b\n c",
	} {
		f.Add([]byte(s), byte(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, size byte) {
		if len(data) > 1<<14 {
			t.Skip("too long to be told apart from the shorter ones")
		}
		whole := bufio.NewReaderSize(bytes.NewReader(data), len(data)+16)
		std, stdErr := textproto.NewReader(whole).ReadMIMEHeader()
		behind, _ := io.ReadAll(whole)
		for _, limit := range []int{0, int(size)} {
			set := func(b *BufReader) { b.MaxHeaderBytes, b.MaxLineBytes = limit, limit/2 }
			want := readHeader(t, NewBufReaderWithBufLen(bytes.NewReader(data), len(data)), set)
			for name, source := range map[string]func() *BufReader{
				"pieces": func() *BufReader {
					return NewBufReaderWithBufLen(&chunked{data: data, sizes: []byte{size | 1, 2}, err: io.EOF}, 16)
				},
				"pieces that end with an error": func() *BufReader {
					return NewBufReaderWithBufLen(&chunked{data: data, sizes: []byte{size | 1}, err: io.EOF, with: true}, 40)
				},
				"packets": func() *BufReader { return NewBufReaderChan(packetsOf(data, []byte{3, size | 1})) },
				"pieces with errors between": func() *BufReader {
					pieces := &chunked{data: data, sizes: []byte{size | 1, 2}, err: io.EOF}
					// Each call has limits of its own, and reads a field from its beginning.
					return NewBufReaderWithBufLen(&faltering{src: pieces, ahead: limit == 0 && len(data) < 1024}, 16)
				},
			} {
				for _, hold := range []bool{false, true} {
					got := readHeader(t, source(), func(b *BufReader) { set(b); b.HoldViews = hold })
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("%q in %s, hold %v, limit %d: %q, whole: %q", data, name, hold, limit, got, want)
					}
				}
			}
			if limit > 0 {
				continue
			}
			blankKey := slices.ContainsFunc(slices.Collect(maps.Keys(std)), func(k string) bool { return strings.Contains(k, " ") })
			oneBlank(std)
			oneBlank(want.header)
			if accepted := want.err == "<nil>"; accepted && (stdErr != nil || !reflect.DeepEqual(want, headerRead{std, "<nil>", string(behind)})) {
				t.Fatalf("%q = %q, textproto: %q, %v, then %q", data, want, std, stdErr, behind)
			} else if !accepted && stdErr == nil && !blankKey {
				t.Fatalf("%q is refused: %v, textproto: %q", data, want.err, std)
			}
		}
	})
}

// oneBlank takes out what the two readers do differently: textproto keeps a blank
// for a continuation line that is empty.
func oneBlank(h textproto.MIMEHeader) {
	for _, values := range h {
		for i, v := range values {
			values[i] = strings.Join(strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == '\t' }), " ")
		}
	}
}
