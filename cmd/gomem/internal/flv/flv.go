// Package flv reads the container format FLV without copying it.
//
// A file or stream is a header, then tags, each followed by a trailer that
// repeats its size so that a file can be walked backwards:
//
//	"FLV" version flags headerSize:4 | 0:4 | tag | tag | …
//	tag = type:1 dataSize:3 time:3 timeHigh:1 stream:3 data trailer:4
//
// All numbers are big-endian. The trailer counts the eleven bytes of the tag's
// header too. Here a tag includes its trailer: it is the unit that can be
// forwarded as it is, and a stream is a header followed by whole tags.
//
// Source: Adobe Flash Video File Format Specification 10.1, annex E, and
// Enhanced RTMP v1 for the packet types of newer codecs.
package flv

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Sizes of the fixed parts, in bytes.
const (
	HeaderSize    = 9  // the file header, without the four zero bytes after it
	PreambleSize  = 13 // the file header with them: what precedes the first tag
	TagHeaderSize = 11
	TrailerSize   = 4
	// MinTagSize is the size of a tag without data.
	MinTagSize = TagHeaderSize + TrailerSize
	// MaxTagSize is the size of the largest tag that the format can express.
	MaxTagSize = TagHeaderSize + 1<<24 - 1 + TrailerSize
	// MaxHeaderSize is the largest file header this package accepts. The field
	// could claim 4 GiB; every known writer uses 9.
	MaxHeaderSize = 1024
)

// The ways in which input is not FLV. They arrive wrapped in an [*Error].
var (
	ErrSignature  = errors.New("not FLV")
	ErrHeaderSize = errors.New("bad header size")
	ErrTagType    = errors.New("unknown tag type")
	ErrTagSize    = errors.New("tag size beyond the limit")
	ErrTrailer    = errors.New("tag and trailer disagree on the size")
	ErrTruncated  = errors.New("truncated")
)

// Error says what is wrong with the input and where.
type Error struct {
	Offset int64  // of the first byte that does not fit the format
	Detail string // what was found there
	Err    error  // one of the errors above
}

func (e *Error) Error() string {
	return fmt.Sprintf("%v at offset %d: %s", e.Err, e.Offset, e.Detail)
}

func (e *Error) Unwrap() error { return e.Err }

// Type is what a tag carries.
type Type uint8

// The tag types of the format.
const (
	Audio  Type = 8
	Video  Type = 9
	Script Type = 18
)

// Tag is the header of a tag.
type Tag struct {
	Type      Type
	DataSize  int
	Timestamp uint32 // milliseconds; wraps after 49 days
	Offset    int64  // of the tag's first byte in the stream
}

// Size is the number of bytes from the tag's first to the end of its trailer.
func (t Tag) Size() int { return TagHeaderSize + t.DataSize + TrailerSize }

// Kind is what a tag means to somebody who forwards it.
type Kind uint8

// The kinds of tags. Metadata, VideoConfig and AudioConfig are needed by every
// receiver, whenever it joins.
const (
	Data        Kind = iota // any script tag but the metadata
	Metadata                // script tag onMetaData
	VideoConfig             // sequence header of the video codec
	AudioConfig             // sequence header of the audio codec
	KeyFrame                // video that can be decoded without what was before
	InterFrame              // any other video
	AudioFrame
)

func (k Kind) String() string {
	return [...]string{"data", "metadata", "video config", "audio config", "key frame", "inter frame", "audio"}[k]
}

// IsConfig reports whether a receiver that joins later needs the tag.
func (k Kind) IsConfig() bool { return k == Metadata || k == VideoConfig || k == AudioConfig }

// metadataStart is how the data of a metadata tag begins: an AMF0 string.
const metadataStart = "\x02\x00\x0aonMetaData"

// KindSize is how many bytes of the tag, from its first, [Tag.Kind] looks at.
func (t Tag) KindSize() int {
	want := 2
	if t.Type == Script {
		want = len(metadataStart)
	}
	return TagHeaderSize + min(want, t.DataSize)
}

// Kind tells what the tag means. b holds the tag from its first byte, at least
// KindSize bytes of it. O(1), never allocates.
func (t Tag) Kind(b []byte) Kind {
	data := b[TagHeaderSize:t.KindSize()]
	switch t.Type {
	case Audio:
		return audioKind(data)
	case Video:
		return videoKind(data)
	}
	if string(data) == metadataStart {
		return Metadata
	}
	return Data
}

func audioKind(data []byte) Kind {
	const aac, extended = 10, 9
	if len(data) > 0 {
		switch data[0] >> 4 {
		case aac:
			if len(data) > 1 && data[1] == 0 {
				return AudioConfig
			}
		case extended:
			if data[0]&0x0f == 0 {
				return AudioConfig
			}
		}
	}
	return AudioFrame
}

// videoKind knows three layouts: codecs with a packet type in the second byte,
// the extended header with it in the low bits of the first, and older codecs
// without one.
func videoKind(data []byte) Kind {
	const (
		key                 = 1
		avc, hevc, av1      = 7, 12, 13
		config, frame, bare = 0, 1, 3 // packet types; bare: a frame without composition time
	)
	if len(data) == 0 {
		return InterFrame
	}
	frameType, packet := data[0]>>4, byte(frame)
	if extended := data[0]&0x80 != 0; extended {
		frameType &= 7
		packet = data[0] & 0x0f
		if packet == bare {
			packet = frame
		}
	} else if codec := data[0] & 0x0f; codec == avc || codec == hevc || codec == av1 {
		if len(data) < 2 {
			return InterFrame
		}
		packet = data[1]
	}
	switch {
	case packet == config:
		return VideoConfig
	case packet == frame && frameType == key:
		return KeyFrame
	}
	return InterFrame
}

// Header is the file header.
type Header struct {
	Audio, Video bool
	Size         int // where the four bytes before the first tag start
}

// AppendPreamble appends a header of the ordinary size and what separates it
// from the first tag: PreambleSize bytes.
func (h Header) AppendPreamble(b []byte) []byte {
	var flags byte
	if h.Video {
		flags |= 1
	}
	if h.Audio {
		flags |= 4
	}
	return append(b, 'F', 'L', 'V', 1, flags, 0, 0, 0, HeaderSize, 0, 0, 0, 0)
}

func uint24(b []byte) uint32 { return binary.BigEndian.Uint32(b) >> 8 }
