package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gomem-go/gomem"
)

// records returns a stream of n records and what they hold.
func records(n, most int) (stream []byte, want [][]byte) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range n {
		p := make([]byte, rng.IntN(most+1))
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		stream = binary.BigEndian.AppendUint32(stream, uint32(len(p)))
		stream = append(stream, p...)
		want = append(want, p)
	}
	return stream, want
}

func TestRecordsAcrossBlocks(t *testing.T) {
	for _, most := range []int{0, 3, 100, 5000, 100_000} {
		stream, want := records(50, most)
		for _, bufLen := range []int{16, 100, 4096, 64 << 10} {
			src := io.Reader(bytes.NewReader(stream))
			if most < 5000 {
				src = iotest.HalfReader(src)
			}
			r := gomem.NewBufReaderWithBufLen(src, bufLen)
			i := 0
			err := optimizedBatchRead(r, func(p []byte) error {
				if !bytes.Equal(p, want[i]) {
					t.Fatalf("records up to %d, blocks of %d: record %d is damaged", most, bufLen, i)
				}
				i++
				return nil
			})
			if err != nil || i != len(want) {
				t.Fatalf("records up to %d, blocks of %d: %d of %d records, %v", most, bufLen, i, len(want), err)
			}
			r.Recycle()
		}
	}
}

func TestFaults(t *testing.T) {
	stop := errors.New("stop")
	nothing := func([]byte) error { return nil }
	for stream, want := range map[string]error{
		"":                          nil,
		"\x00\x00\x00\x00":          nil,
		"\x00\x00":                  io.ErrUnexpectedEOF,
		"\x00\x00\x00\x05four":      io.ErrUnexpectedEOF,
		"\x00\x00\x00\x01x\x00\x00": io.ErrUnexpectedEOF,
	} {
		r := gomem.NewBufReader(strings.NewReader(stream))
		if err := optimizedBatchRead(r, nothing); err != want {
			t.Errorf("%q: %v, want %v", stream, err, want)
		}
		r.Recycle()
	}
	for _, wrap := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		r := gomem.NewBufReader(wrap(strings.NewReader("\xff\xff\xff\xffrest")))
		if err := optimizedBatchRead(r, nothing); err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("a record of 4 GiB: %v", err)
		}
		r.Reset(wrap(strings.NewReader("\x00\x00\x00\x01x\x00\x00\x00\x01y")))
		calls := 0
		if err := optimizedBatchRead(r, func([]byte) error { calls++; return stop }); err != stop || calls != 1 {
			t.Errorf("after an error of process: %v, %d calls", err, calls)
		}
		r.Recycle()
	}
}

// Who sits at a terminal is told what the program waits for; the null device is of that
// kind, too.
func TestTell(t *testing.T) {
	for path, lines := range map[string]int{os.DevNull: 1, "main.go": 0} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		tell(f, &out)
		f.Close()
		if n := strings.Count(out.String(), "usage: batch < FILE\n"); n != lines {
			t.Errorf("of %s: %q", path, out.String())
		}
	}
}

func TestRun(t *testing.T) {
	var out strings.Builder
	stream := "\x00\x00\x00\x01x"
	if err := run(nil, strings.NewReader(stream), &out); err != nil || out.String() != "1 records, 1 bytes\n" {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := run([]string{"file"}, strings.NewReader(stream), &out); err == nil || !strings.Contains(err.Error(), "usage: batch < FILE") {
		t.Errorf("with an argument: %v", err)
	}
}

// full is a disk without room.
type full struct{}

var errFull = errors.New("no room")

func (full) Write([]byte) (int, error) { return 0, errFull }

// Output that is lost is an error.
func TestLostOutput(t *testing.T) {
	if err := run(nil, strings.NewReader("\x00\x00\x00\x01x"), full{}); !errors.Is(err, errFull) {
		t.Errorf("on a full disk: %v", err)
	}
}
