// Batch reads length-prefixed records as many at a time as have arrived, where they
// lie. A record that crosses two blocks, or two batches, is put together in a small
// buffer; all others are never copied.
//
//	batch < FILE
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gomem-go/gomem"
)

const (
	batchSize = 64 << 10
	prefix    = 4       // bytes of length, big-endian, before each record
	maxRecord = 1 << 20 // a longer one is an error, before memory is taken for it
)

// splitter cuts a stream that comes in pieces into records.
type splitter struct {
	process func(record []byte) error // a view, valid during the call
	part    []byte                    // the beginning of a record that is not whole yet
	err     error                     // the first error; later pieces are ignored
}

// feed takes the next piece of the stream.
func (s *splitter) feed(chunk []byte) {
	for s.err == nil && len(chunk) > 0 {
		if len(s.part) == 0 {
			if n, ok := s.whole(chunk); ok {
				s.err = s.process(chunk[prefix:n])
				chunk = chunk[n:]
				continue
			}
		}
		// The record is cut: take what it lacks, first of its length, then of its data.
		n := min(s.lacks(), len(chunk))
		s.part = append(s.part, chunk[:n]...)
		chunk = chunk[n:]
		if n, ok := s.whole(s.part); ok {
			s.err = s.process(s.part[prefix:n])
			s.part = s.part[:0]
		}
	}
}

// whole reports that p begins with a whole record, and how long it is.
func (s *splitter) whole(p []byte) (int, bool) {
	if len(p) < prefix {
		return 0, false
	}
	n := binary.BigEndian.Uint32(p)
	if n > maxRecord {
		s.err = fmt.Errorf("a record of %d bytes, at most %d are allowed", n, maxRecord)
		return 0, false
	}
	return prefix + int(n), len(p) >= prefix+int(n)
}

// lacks is how many bytes part needs until its length, or its data, is there.
func (s *splitter) lacks() int {
	if len(s.part) < prefix || s.err != nil {
		return prefix - min(len(s.part), prefix)
	}
	return prefix + int(binary.BigEndian.Uint32(s.part)) - len(s.part)
}

// optimizedBatchRead calls process for each record of the stream. It handles what
// has arrived, up to a batch, and never waits while there is something to do.
func optimizedBatchRead(r *gomem.BufReader, process func(record []byte) error) error {
	s := splitter{process: process}
	for s.err == nil {
		if _, err := r.Peek(1); err != nil {
			if err == io.EOF && len(s.part) > 0 {
				return io.ErrUnexpectedEOF
			}
			if err == io.EOF {
				return nil
			}
			return err
		}
		if err := r.ReadRange(min(r.Buffered(), batchSize), s.feed); err != nil {
			return err
		}
	}
	return s.err
}

func main() {
	tell(os.Stdin, os.Stderr)
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tell says what the program waits for if its input is a terminal.
func tell(in *os.File, out io.Writer) {
	if info, err := in.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintln(out, "batch: reads records from the terminal, each behind its length in 4 bytes; usage: batch < FILE")
	}
}

// run counts the records of the stream, also of one that ends with an error.
func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) > 0 {
		return errors.New("usage: batch < FILE")
	}
	r := gomem.NewBufReader(in)
	defer r.Recycle()
	records, bytes := 0, 0
	err := optimizedBatchRead(r, func(record []byte) error {
		records++
		bytes += len(record)
		return nil
	})
	_, lost := fmt.Fprintf(out, "%d records, %d bytes\n", records, bytes)
	return errors.Join(err, lost)
}
