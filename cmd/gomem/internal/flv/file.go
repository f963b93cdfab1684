package flv

import "encoding/binary"

// File is the table of contents of a whole FLV file.
type File struct {
	Header Header
	Tags   []Tag
}

// Parse reads a whole file and checks every tag of it; b may hold anything.
// The result refers to b by offsets and keeps no reference to it. The error is
// an [*Error]; with it come the tags before the fault. O(number of tags).
func Parse(b []byte) (*File, error) {
	var (
		f File
		d Demuxer
	)
	if len(b) < HeaderSize {
		if len(b) < 3 || string(b[:3]) != "FLV" {
			return &f, d.fail(0, ErrSignature, "%d bytes, a header has %d", len(b), HeaderSize)
		}
		return &f, d.Truncated(len(b), HeaderSize)
	}
	header, err := d.Header(b)
	if err != nil {
		return &f, err
	}
	f.Header = header
	if d.Offset() > int64(len(b)) {
		return &f, (&Demuxer{}).Truncated(len(b), header.Size+TrailerSize)
	}
	rest := b[d.Offset():]
	for len(rest) > 0 {
		if len(rest) < TagHeaderSize {
			return &f, d.Truncated(len(rest), TagHeaderSize)
		}
		tag, err := d.Tag(rest)
		if err != nil {
			return &f, err
		}
		if len(rest) < tag.Size() {
			return &f, d.Truncated(len(rest), tag.Size())
		}
		if err := d.Trailer(tag, binary.BigEndian.Uint32(rest[tag.Size()-TrailerSize:])); err != nil {
			return &f, err
		}
		f.Tags = append(f.Tags, tag)
		rest = rest[tag.Size():]
	}
	return &f, nil
}
