package flv_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
)

// appendTag writes a tag as a muxer would.
func appendTag(b []byte, typ flv.Type, time uint32, data []byte) []byte {
	n := len(data)
	b = append(b, byte(typ), byte(n>>16), byte(n>>8), byte(n),
		byte(time>>16), byte(time>>8), byte(time), byte(time>>24), 0, 0, 0)
	b = append(b, data...)
	return binary.BigEndian.AppendUint32(b, uint32(flv.TagHeaderSize+n))
}

// small is a complete stream with one tag of most kinds.
func small() []byte {
	b := flv.Header{Audio: true, Video: true}.AppendPreamble(nil)
	b = appendTag(b, flv.Script, 0, []byte("\x02\x00\x0aonMetaData\x08"))
	b = appendTag(b, flv.Video, 0, []byte{0x17, 0, 0, 0, 0, 1})
	b = appendTag(b, flv.Audio, 0, []byte{0xaf, 0, 0x12})
	b = appendTag(b, flv.Video, 0, []byte{0x17, 1, 0, 0, 0, 9, 9, 9})
	b = appendTag(b, flv.Audio, 5, nil)
	return appendTag(b, flv.Video, 0x12345678, []byte{0x27, 1, 0, 0, 0, 7})
}

func recorded(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("../relay/testdata/testsrc.flv")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseSmall(t *testing.T) {
	b := small()
	f, err := flv.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Header.Audio || !f.Header.Video || f.Header.Size != flv.HeaderSize {
		t.Errorf("header = %+v", f.Header)
	}
	var kinds []flv.Kind
	at := int64(flv.PreambleSize)
	for _, tag := range f.Tags {
		if tag.Offset != at {
			t.Errorf("tag at %d, want %d", tag.Offset, at)
		}
		at += int64(tag.Size())
		kinds = append(kinds, tag.Kind(b[tag.Offset:]))
	}
	want := []flv.Kind{flv.Metadata, flv.VideoConfig, flv.AudioConfig, flv.KeyFrame, flv.AudioFrame, flv.InterFrame}
	if !slices.Equal(kinds, want) {
		t.Errorf("kinds = %v, want %v", kinds, want)
	}
	if last := f.Tags[len(f.Tags)-1]; last.Timestamp != 0x12345678 {
		t.Errorf("timestamp = %#x", last.Timestamp)
	}
	if at != int64(len(b)) {
		t.Errorf("tags end at %d of %d", at, len(b))
	}
}

func TestParseRecorded(t *testing.T) {
	b := recorded(t)
	f, err := flv.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	count := map[flv.Kind]int{}
	for _, tag := range f.Tags {
		count[tag.Kind(b[tag.Offset:])]++
	}
	if count[flv.Metadata] != 1 || count[flv.VideoConfig] != 1 || count[flv.AudioConfig] != 1 {
		t.Errorf("configuration tags: %v", count)
	}
	if video := count[flv.KeyFrame] + count[flv.InterFrame]; video < 180 || count[flv.KeyFrame] == 0 || count[flv.KeyFrame] > 20 {
		t.Errorf("frames: %v", count)
	}
	if count[flv.AudioFrame] < 250 {
		t.Errorf("audio: %v", count)
	}
}

func TestKind(t *testing.T) {
	for _, c := range []struct {
		name string
		typ  flv.Type
		data []byte
		want flv.Kind
	}{
		{"avc config", flv.Video, []byte{0x17, 0}, flv.VideoConfig},
		{"avc key", flv.Video, []byte{0x17, 1}, flv.KeyFrame},
		{"avc inter", flv.Video, []byte{0x27, 1}, flv.InterFrame},
		{"avc end of sequence", flv.Video, []byte{0x17, 2}, flv.InterFrame},
		{"avc cut short", flv.Video, []byte{0x17}, flv.InterFrame},
		{"hevc config", flv.Video, []byte{0x1c, 0}, flv.VideoConfig},
		{"h263 key, no packet type", flv.Video, []byte{0x12, 0}, flv.KeyFrame},
		{"h263 inter", flv.Video, []byte{0x22, 0}, flv.InterFrame},
		{"extended config", flv.Video, []byte{0x90, 'h'}, flv.VideoConfig},
		{"extended key", flv.Video, []byte{0x91, 'h'}, flv.KeyFrame},
		{"extended key without time", flv.Video, []byte{0x93, 'h'}, flv.KeyFrame},
		{"extended inter", flv.Video, []byte{0xa1, 'h'}, flv.InterFrame},
		{"extended metadata", flv.Video, []byte{0x94, 'h'}, flv.InterFrame},
		{"empty video", flv.Video, nil, flv.InterFrame},
		{"aac config", flv.Audio, []byte{0xaf, 0}, flv.AudioConfig},
		{"aac frame", flv.Audio, []byte{0xaf, 1}, flv.AudioFrame},
		{"mp3", flv.Audio, []byte{0x2f, 0}, flv.AudioFrame},
		{"extended audio config", flv.Audio, []byte{0x90, 'O'}, flv.AudioConfig},
		{"extended audio frame", flv.Audio, []byte{0x91, 'O'}, flv.AudioFrame},
		{"empty audio", flv.Audio, nil, flv.AudioFrame},
		{"metadata", flv.Script, []byte("\x02\x00\x0aonMetaData"), flv.Metadata},
		{"cue point", flv.Script, []byte("\x02\x00\x0aonCuePoint"), flv.Data},
		{"empty script", flv.Script, nil, flv.Data},
	} {
		b := appendTag(nil, c.typ, 0, c.data)
		tag, err := new(flv.Demuxer).Tag(b)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if got := tag.Kind(b[:tag.KindSize()]); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Every prefix of a stream is either whole tags or reported as truncated at
// exactly its end.
func TestTruncatedEverywhere(t *testing.T) {
	for name, b := range map[string][]byte{"small": small(), "recorded": recorded(t)[:9000]} {
		whole, _ := flv.Parse(b)
		boundary := map[int]int{flv.PreambleSize: 0}
		for i, tag := range whole.Tags {
			boundary[int(tag.Offset)+tag.Size()] = i + 1
		}
		for n := range len(b) {
			f, err := flv.Parse(b[:n])
			if tags, ok := boundary[n]; ok {
				if err != nil || len(f.Tags) != tags {
					t.Fatalf("%s: %d bytes: %d tags, %v; want %d", name, n, len(f.Tags), err, tags)
				}
				continue
			}
			want := flv.ErrTruncated
			if n < 3 {
				want = flv.ErrSignature
			}
			e, ok := errors.AsType[*flv.Error](err)
			if !ok || !errors.Is(err, want) {
				t.Fatalf("%s: %d bytes: %v, want %v", name, n, err, want)
			}
			if n >= 3 && e.Offset != int64(n) {
				t.Fatalf("%s: %d bytes: offset %d", name, n, e.Offset)
			}
		}
	}
}

func TestBadInput(t *testing.T) {
	const second = 13 + 11 + 14 + 4 // the second tag of small
	edit := func(at int, with ...byte) []byte {
		b := small()
		copy(b[at:], with)
		return b
	}
	for _, c := range []struct {
		name   string
		in     []byte
		err    error
		offset int64
	}{
		{"empty", nil, flv.ErrSignature, 0},
		{"text", []byte("this is not a video"), flv.ErrSignature, 0},
		{"mp4", []byte("\x00\x00\x00\x20ftypisom"), flv.ErrSignature, 0},
		{"version", edit(3, 2), flv.ErrSignature, 3},
		{"header of 4 GiB", edit(5, 0xff, 0xff, 0xff, 0xff), flv.ErrHeaderSize, 5},
		{"header of 2 GiB", edit(5, 0x80, 0, 0, 0), flv.ErrHeaderSize, 5},
		{"header of 8", edit(8, 8), flv.ErrHeaderSize, 5},
		{"header beyond the file", edit(5, 0, 0, 4, 0), flv.ErrTruncated, int64(len(small()))},
		{"tag type", edit(second, 7), flv.ErrTagType, second},
		{"tag of 16 MiB", edit(second+1, 0xff, 0xff, 0xff), flv.ErrTruncated, int64(len(small()))},
		{"tag one byte longer", edit(second+3, 7), flv.ErrTrailer, second + 11 + 7},
		{"trailer of 4 GiB", edit(second+17, 0xff, 0xff, 0xff, 0xff), flv.ErrTrailer, second + 17},
	} {
		_, err := flv.Parse(c.in)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
			continue
		}
		if e, ok := errors.AsType[*flv.Error](err); !ok || e.Offset != c.offset {
			t.Errorf("%s: %v, want offset %d", c.name, err, c.offset)
		}
	}
}

func TestTagLimit(t *testing.T) {
	d := flv.Demuxer{MaxTag: 100}
	if _, err := d.Tag(appendTag(nil, flv.Video, 0, make([]byte, 85))); err != nil {
		t.Error(err)
	}
	if _, err := d.Tag(appendTag(nil, flv.Video, 0, make([]byte, 86))); !errors.Is(err, flv.ErrTagSize) {
		t.Errorf("tag of 101 bytes: %v", err)
	}
	if got := d.Offset(); got != 0 {
		t.Errorf("offset moved to %d", got)
	}
}

func TestGarbage(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, seed))
	good := recorded(t)[:20000]
	for range 2000 {
		b := bytes.Clone(good)
		for range 1 + rnd.IntN(4) {
			b[rnd.IntN(len(b))] = byte(rnd.Uint32())
		}
		checkParse(t, b)
		for i := range b[:64] {
			b[i] = byte(rnd.Uint32())
		}
		checkParse(t, b[:64])
	}
}

// checkParse holds Parse to its promises on any input.
func checkParse(t testing.TB, b []byte) {
	t.Helper()
	f, err := flv.Parse(b)
	var end int64
	for i, tag := range f.Tags {
		if i > 0 && tag.Offset != end {
			t.Fatalf("tag %d at %d, want %d", i, tag.Offset, end)
		}
		end = tag.Offset + int64(tag.Size())
		if end > int64(len(b)) {
			t.Fatalf("tag %d ends at %d of %d", i, end, len(b))
		}
		_ = tag.Kind(b[tag.Offset:end]).String()
	}
	if err == nil {
		if len(f.Tags) > 0 && end != int64(len(b)) {
			t.Fatalf("no error, yet only %d of %d bytes were read", end, len(b))
		}
		return
	}
	e, ok := errors.AsType[*flv.Error](err)
	if !ok {
		t.Fatalf("untyped error %v", err)
	}
	if e.Offset < end || e.Offset > int64(len(b)) {
		t.Fatalf("%v: offset outside [%d, %d]", err, end, len(b))
	}
}

func TestDemuxerNeverAllocates(t *testing.T) {
	tag := appendTag(nil, flv.Video, 0, []byte{0x17, 1})
	var d flv.Demuxer
	if n := testing.AllocsPerRun(1000, func() {
		got, err := d.Tag(tag)
		if err != nil || got.Kind(tag) != flv.KeyFrame {
			t.Fatal(got, err)
		}
		if err := d.Trailer(got, binary.BigEndian.Uint32(tag[len(tag)-4:])); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per tag", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(small())
	f.Add(small()[:30])
	f.Add([]byte("FLV\x01\x05\xff\xff\xff\xff"))
	f.Add(recorded(f)[:1200])
	f.Fuzz(func(t *testing.T, b []byte) { checkParse(t, b) })
}
