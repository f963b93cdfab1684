// Flv lists the tags of an FLV stream, from a file or the standard input, without
// copying their data.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gomem-go/gomem"
)

var errFormat = errors.New("not an FLV stream")

// Tag is one FLV tag (Adobe, Video File Format Specification, version 10, annex E).
type Tag struct {
	Type      byte // 8 audio, 9 video, 18 script
	Timestamp uint32
	Data      []byte // a view, valid until the next tag is read
}

// ReadHeader reads the file header and the empty size behind it.
func ReadHeader(r *gomem.BufReader) error {
	head, err := r.Next(13)
	if err != nil {
		return err
	}
	if string(head[:3]) != "FLV" {
		return errFormat
	}
	return nil
}

// ReadTag reads a tag and the size behind it, which must match. The error is
// io.EOF at the end of the stream between two tags.
func ReadTag(r *gomem.BufReader) (Tag, error) {
	kind, err := r.ReadByte()
	if err != nil {
		return Tag{}, err
	}
	t := Tag{Type: kind & 0x1f}
	size, err := r.ReadBE32(3)
	if err != nil {
		return t, inside(err)
	}
	low, err := r.ReadBE32(3)
	if err != nil {
		return t, inside(err)
	}
	high, err := r.ReadByte()
	if err != nil {
		return t, inside(err)
	}
	t.Timestamp = uint32(high)<<24 | low
	if err := r.Skip(3); err != nil { // the stream's id, always 0
		return t, inside(err)
	}
	// The size behind the data comes with it: one view, valid until the next read.
	data, err := r.Next(int(size) + 4)
	if err != nil {
		return t, inside(err)
	}
	t.Data = data[:size:size]
	back := data[size:]
	if n := uint32(back[0])<<24 | uint32(back[1])<<16 | uint32(back[2])<<8 | uint32(back[3]); n != size+11 {
		return t, fmt.Errorf("%w: a tag of %d bytes is followed by the size %d", errFormat, size+11, n)
	}
	return t, nil
}

func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func main() {
	if len(os.Args) == 1 {
		tell(os.Stdin, os.Stderr)
	}
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tell says what the program waits for if its input is a terminal.
func tell(in *os.File, out io.Writer) {
	if info, err := in.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintln(out, "flv: reads an FLV stream from the terminal; usage: flv [FILE]")
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	switch len(args) {
	case 0:
		return list(in, out)
	case 1:
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		return list(f, out)
	}
	return errors.New("usage: flv [FILE]")
}

// list prints how many tags and bytes there are of each type.
func list(src io.Reader, out io.Writer) error {
	r := gomem.NewBufReader(src)
	defer r.Recycle()
	if err := ReadHeader(r); err != nil {
		return inside(err) // a stream without a header is none
	}
	var tags, bytes [32]int
	var last uint32
	for {
		t, err := ReadTag(r)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		tags[t.Type]++
		bytes[t.Type] += len(t.Data)
		last = t.Timestamp
	}
	for kind, name := range [...]string{8: "audio", 9: "video", 18: "script"} {
		if tags[kind] > 0 {
			fmt.Fprintf(out, "%s: %d tags, %d bytes\n", name, tags[kind], bytes[kind])
		}
	}
	_, err := fmt.Fprintf(out, "%d ms\n", last)
	return err
}
