package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// ReadFile decodes the file path; see [Decode].
func ReadFile(path string, limits Limits) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := Decode(f, limits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Decode reads a trace in either form, compressed or not, until r ends. Errors:
// an [*OpError] for a trace that breaks the format, and what r returns. Cost:
// O(operations); the stream is never held as a whole.
func Decode(r io.Reader, limits Limits) (*Trace, error) {
	b := &builder{limits: limits}
	in := bufio.NewReaderSize(r, 64<<10)
	if head, _ := in.Peek(4); isGzip(head) {
		z, err := gzip.NewReader(in)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, b.fail(ErrTruncated, "%s", endsInside)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the compressed trace: %w", err)
		}
		defer z.Close()
		in = bufio.NewReaderSize(z, 64<<10)
		if head, _ := in.Peek(4); isGzip(head) {
			return nil, b.fail(ErrSyntax, "a trace that was compressed twice")
		}
	}
	decode := b.decodeBinary
	switch head, _ := in.Peek(4); {
	case isUTF16(head):
		return nil, b.fail(ErrSyntax, "text in UTF-16, where UTF-8 is read")
	case isText(head):
		decode = b.decodeText
	}
	if err := decode(in); err != nil {
		return nil, err
	}
	return b.trace(), nil
}

const (
	// endsInside is the detail of a stream that gzip has not seen the end of.
	endsInside = "the compressed stream ends early"
	// goesOn is that of one with something behind that gzip does not know.
	goesOn = "the compressed stream is followed by something else"
)

// isGzip reports whether a stream that begins with head is compressed: the two
// bytes that gzip is known by, its one method, and no flag that it does not have.
// The first two alone are also an allocation of 35,615 bytes.
func isGzip(head []byte) bool {
	return len(head) == 4 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8 && head[3] < 0x20
}

// byteOrderMark may begin a text in UTF-8.
const byteOrderMark = "\ufeff"

// isText reports whether a stream that begins with head is text: printable, with other
// letters than those of ASCII in a comment or behind a byte order mark alone.
func isText(head []byte) bool {
	marked := bytes.HasPrefix(head, []byte(byteOrderMark))
	for _, c := range head {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f || c >= 0x80 && head[0] != '#' && !marked {
			return false
		}
	}
	return len(head) > 0
}

// isUTF16 reports whether a stream that begins with head is text as other systems may
// redirect it into a file: its byte order mark and a character of ASCII.
func isUTF16(head []byte) bool {
	return len(head) == 4 && (head[0] == 0xff && head[1] == 0xfe && head[3] == 0 && isText(head[2:3]) ||
		head[0] == 0xfe && head[1] == 0xff && head[2] == 0 && isText(head[3:]))
}

func (b *builder) decodeBinary(in *bufio.Reader) error {
	var word [4]byte
	for {
		n, err := io.ReadFull(in, word[:])
		switch {
		case n == 0 && errors.Is(err, io.ErrUnexpectedEOF):
			return b.fail(ErrTruncated, "%s", endsInside)
		case errors.Is(err, io.ErrUnexpectedEOF):
			return b.fail(ErrTruncated, "%d of 4 bytes", n)
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, gzip.ErrHeader):
			return b.fail(ErrSyntax, "%s", goesOn)
		case err != nil:
			return fmt.Errorf("operation %d: %w", len(b.t.Ops), err)
		}
		if err := b.add(binary.LittleEndian.Uint32(word[:])); err != nil {
			return err
		}
	}
}

func (b *builder) decodeText(in *bufio.Reader) error {
	lines := bufio.NewScanner(in)
	for b.line = 1; lines.Scan(); b.line++ {
		line := lines.Text()
		if b.line == 1 {
			line = strings.TrimPrefix(line, byteOrderMark)
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := b.addLine(line); err != nil {
			if lines.Err() != nil {
				break // the line may have been cut by that
			}
			return err
		}
	}
	switch err := lines.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, bufio.ErrTooLong):
		return b.fail(ErrSyntax, "a line of more than %d bytes", bufio.MaxScanTokenSize-1)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return b.fail(ErrTruncated, "%s", endsInside)
	case errors.Is(err, gzip.ErrHeader):
		return b.fail(ErrSyntax, "%s", goesOn)
	default:
		return fmt.Errorf("line %d: %w", b.line, err)
	}
}

func (b *builder) addLine(line string) error {
	fields := strings.Fields(line)
	var args [2]uint32
	want := map[string]int{"malloc": 2, "free": 1}[fields[0]]
	if want == 0 || len(fields) != want+1 {
		return b.fail(ErrSyntax, "%.40q", line)
	}
	for i, field := range fields[1:] {
		v, err := strconv.ParseUint(field, 10, 31)
		if err != nil {
			return b.fail(ErrSyntax, "%.40q: a number from 0 to %d is wanted", line, uint32(FreeBit-1))
		}
		args[i] = uint32(v)
	}
	if fields[0] == "free" {
		return b.add(FreeBit | args[0])
	}
	if args[0] != b.next {
		return b.fail(ErrUnsorted, "id %d where %d is next", args[0], b.next)
	}
	return b.add(args[1])
}

// EncodeText writes the recorded operations of t in the text form. Errors: what
// w returns.
func (t *Trace) EncodeText(w io.Writer) error {
	out := bufio.NewWriter(w)
	id := 0
	for _, op := range t.Ops[:t.Recorded] {
		if op&FreeBit != 0 {
			fmt.Fprintf(out, "free %d\n", op&^FreeBit)
			continue
		}
		fmt.Fprintf(out, "malloc %d %d\n", id, op)
		id++
	}
	return out.Flush()
}

// opening is op as the first word of the binary form: an allocation which would be
// taken for the head of another form is written a few bytes larger, 95 at most.
func opening(op uint32) uint32 {
	for {
		var head [4]byte
		binary.LittleEndian.PutUint32(head[:], op)
		if !isGzip(head[:]) && !isText(head[:]) && !isUTF16(head[:]) {
			return op
		}
		op++
	}
}

// EncodeBinary writes the recorded operations of t in the binary form; see
// [opening] for the first. Errors: what w returns.
func (t *Trace) EncodeBinary(w io.Writer) error {
	out := bufio.NewWriter(w)
	for i, op := range t.Ops[:t.Recorded] {
		if i == 0 {
			op = opening(op)
		}
		var word [4]byte
		binary.LittleEndian.PutUint32(word[:], op)
		if _, err := out.Write(word[:]); err != nil {
			return err
		}
	}
	return out.Flush()
}
