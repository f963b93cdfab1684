package relay

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gomem-go/gomem/cmd/gomem/internal/cli"
	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
)

//go:embed testdata/testsrc.flv
var testsrc []byte

// maxInput bounds the file, which is held in memory.
const maxInput = 1 << 30

// pieceSize is about how much an unpaced publisher writes at once.
const pieceSize = 256 << 10

// input is what the publishers send: a file header, then the tags of a file
// over and over.
type input struct {
	name     string
	preamble []byte
	tags     []byte // all of them
	cuts     []cut  // in order; the last ends the file
	pieces   []cut  // the cuts that are about pieceSize apart
	length   time.Duration
}

// cut is the end of a tag.
type cut struct {
	end int           // in input.tags
	due time.Duration // when the tag is played, from the first frame on
}

// load reads and checks path, or the recording in the program if path is empty.
func load(ctx context.Context, path string) (*input, error) {
	if path == "" {
		return newInput("testsrc.flv", testsrc)
	}
	f, err := cli.Open(ctx, path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in, stop := cli.ReadFrom(ctx, f)
	defer stop()
	b, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", path, context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	if len(b) > maxInput {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxInput)
	}
	return newInput(path, b)
}

func newInput(name string, b []byte) (*input, error) {
	file, err := flv.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(file.Tags) == 0 {
		return nil, fmt.Errorf("%s: no tags", name)
	}
	in := &input{
		name:     name,
		preamble: file.Header.AppendPreamble(nil),
		tags:     b[file.Tags[0].Offset:],
	}
	last := 0
	begin := firstFrame(file.Tags, b)
	for _, tag := range file.Tags {
		due := time.Duration(tag.Timestamp-min(tag.Timestamp, begin)) * time.Millisecond
		c := cut{int(tag.Offset-file.Tags[0].Offset) + tag.Size(), due}
		in.cuts = append(in.cuts, c)
		in.length = max(in.length, due)
		if c.end-last >= pieceSize {
			in.pieces = append(in.pieces, c)
			last = c.end
		}
	}
	if last < len(in.tags) {
		in.pieces = append(in.pieces, in.cuts[len(in.cuts)-1])
	}
	// The file repeats after its last tag has been shown as long as the others.
	in.length += in.length / time.Duration(len(file.Tags))
	return in, nil
}

// firstFrame is the timestamp of the first tag of file b that is no configuration:
// the recording of a stream that was under way does not start at zero.
func firstFrame(tags []flv.Tag, b []byte) uint32 {
	for _, tag := range tags {
		if !tag.Kind(b[tag.Offset:]).IsConfig() {
			return tag.Timestamp
		}
	}
	return 0
}
