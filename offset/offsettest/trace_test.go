package offsettest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gomem-go/gomem/offset/offsettest"
)

const free = offsettest.FreeBit

// encode writes the words of a trace as they are stored.
func encode(words ...uint32) io.Reader {
	var b bytes.Buffer
	for _, w := range words {
		binary.Write(&b, binary.LittleEndian, w)
	}
	return &b
}

func TestReadTrace(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		in   io.Reader
		want error
		at   string
	}{
		{"empty", encode(), nil, ""},
		{"two blocks", encode(10, 20, free|1, free), nil, ""},
		{"left live", encode(10), nil, ""},
		{"cut short", io.LimitReader(encode(10, 20), 6), offsettest.ErrTruncated, "operation 1"},
		{"free of an id to come", encode(10, free|1), offsettest.ErrUnknownID, "operation 1"},
		{"free of the largest id", encode(^uint32(0)), offsettest.ErrUnknownID, "operation 0"},
		{"freed twice", encode(10, free, free), offsettest.ErrFreedID, "operation 2"},
		{"reader fails", iotest.ErrReader(broken), broken, "reading"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := offsettest.ReadTrace(c.in)
			if !errors.Is(err, c.want) {
				t.Fatalf("err = %v, want %v", err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), c.at) {
				t.Errorf("%q does not say %q", err, c.at)
			}
		})
	}
}

func TestPlay(t *testing.T) {
	l := newList(100)
	got, err := offsettest.Play(offsettest.Trace{40, 0, 50, 60, free, 30, free | 3, free | 1}, l)
	want := offsettest.Played{Ops: 8, Peak: 90, Reach: 90, LiveEnd: 80, Fallback: 1}
	if err != nil || got != want {
		t.Errorf("Play = %+v, %v, want %+v", got, err, want)
	}
	if l.FreeBytes() != 100 {
		t.Errorf("%d bytes were not given back", 100-l.FreeBytes())
	}
	if _, err := offsettest.Play(offsettest.Trace{40, free | 1}, l); !errors.Is(err, offsettest.ErrUnknownID) {
		t.Errorf("free of an id to come: %v", err)
	}
}
