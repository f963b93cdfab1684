package flv

import (
	"encoding/binary"
	"fmt"
)

// Demuxer checks a stream piece by piece and knows the offset of each piece. It
// holds no bytes: the caller brings them, from wherever it keeps them, in the
// order Header, then for each tag Tag and Trailer.
//
// The zero Demuxer stands before the first byte and accepts every tag that the
// format can express. A Demuxer is for one goroutine.
type Demuxer struct {
	MaxTag int   // the largest Tag.Size accepted; 0 means MaxTagSize
	offset int64 // of what is expected next
}

// Offset is the position of the header or tag that is expected next.
func (d *Demuxer) Offset() int64 { return d.offset }

// Header reads the file header. b holds at least HeaderSize bytes. The first
// tag starts Header.Size + TrailerSize bytes after the start of b. Errors wrap
// ErrSignature or ErrHeaderSize. O(1).
func (d *Demuxer) Header(b []byte) (Header, error) {
	if string(b[:3]) != "FLV" {
		return Header{}, d.fail(0, ErrSignature, "signature % x, want 46 4c 56", b[:3])
	}
	if b[3] != 1 {
		return Header{}, d.fail(3, ErrSignature, "version %d, want 1", b[3])
	}
	size := binary.BigEndian.Uint32(b[5:])
	if size < HeaderSize || size > MaxHeaderSize {
		return Header{}, d.fail(5, ErrHeaderSize, "%d bytes, want %d to %d", size, HeaderSize, MaxHeaderSize)
	}
	d.offset += int64(size) + TrailerSize
	return Header{Audio: b[4]&4 != 0, Video: b[4]&1 != 0, Size: int(size)}, nil
}

// Tag reads the header of the next tag. b holds at least TagHeaderSize bytes.
// Errors wrap ErrTagType or ErrTagSize and leave the Demuxer where it was. O(1),
// never allocates unless it fails.
func (d *Demuxer) Tag(b []byte) (Tag, error) {
	const typeBits = 0x1f // above: one bit says that the data is encrypted, two are reserved
	t := Tag{
		Type:      Type(b[0] & typeBits),
		DataSize:  int(uint24(b[1:])),
		Timestamp: uint24(b[4:]) | uint32(b[7])<<24,
		Offset:    d.offset,
	}
	if t.Type != Audio && t.Type != Video && t.Type != Script {
		return Tag{}, d.fail(0, ErrTagType, "type %d, want 8, 9 or 18", t.Type)
	}
	if limit := d.limit(); t.Size() > limit {
		return Tag{}, d.fail(1, ErrTagSize, "tag of %d bytes, limit %d", t.Size(), limit)
	}
	return t, nil
}

// Trailer checks the four bytes that end t and moves on to the next tag. The
// error wraps ErrTrailer. O(1), never allocates unless it fails.
func (d *Demuxer) Trailer(t Tag, trailer uint32) error {
	want := TagHeaderSize + t.DataSize
	if int64(trailer) != int64(want) {
		return d.fail(int64(want), ErrTrailer, "trailer says %d, the tag has %d bytes", trailer, want)
	}
	d.offset += int64(t.Size())
	return nil
}

// Truncated is the error for a stream that ends inside the header or tag that
// is expected next: have bytes of it are there, want were announced. It wraps
// ErrTruncated.
func (d *Demuxer) Truncated(have, want int) error {
	return d.fail(int64(have), ErrTruncated, "the input ends %d bytes into a piece of %d", have, want)
}

func (d *Demuxer) limit() int {
	if d.MaxTag == 0 {
		return MaxTagSize
	}
	return d.MaxTag
}

func (d *Demuxer) fail(at int64, err error, format string, args ...any) error {
	return &Error{Offset: d.offset + at, Err: err, Detail: fmt.Sprintf(format, args...)}
}
