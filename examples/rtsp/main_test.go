package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/textproto"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gomem-go/gomem"
)

const recorded = "../../testdata/rtsp-publish.bin"

func TestParseRecorded(t *testing.T) {
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole":    func(r io.Reader) io.Reader { return r },
		"one byte": iotest.OneByteReader,
		"half":     iotest.HalfReader,
	} {
		f, err := os.Open(recorded)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r := gomem.NewBufReaderWithBufLen(wrap(f), 4<<10)
		defer r.Recycle()
		p := NewParser(r)
		var methods []string
		var sdp strings.Builder
		frames := 0
		for {
			u, err := p.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if u.Request != nil {
				methods = append(methods, u.Request.Method)
				sdp.WriteString(u.Request.Body)
				continue
			}
			frames++
			if m := u.Frame.Payload.Memory(); u.Frame.Channel > 3 || m.Buffers[0][0]>>6 != 2 {
				t.Errorf("%s: frame %d on channel %d is no RTP", name, frames, u.Frame.Channel)
			}
			if err := u.Frame.Payload.Release(); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(methods, " "); got != "OPTIONS ANNOUNCE SETUP SETUP RECORD TEARDOWN" || frames != 108 {
			t.Errorf("%s: %s and %d frames", name, got, frames)
		}
		text := sdp.String()
		if !strings.HasPrefix(text, "v=0\r\n") || !strings.Contains(text, "m=video") || !strings.Contains(text, "m=audio") {
			t.Errorf("%s: SDP %q", name, text)
		}
	}
}

func TestParseRejects(t *testing.T) {
	for text, want := range map[string]error{
		"":                                  io.EOF,
		"\r\n\r\n":                          io.EOF,
		"$\x00\x00":                         io.ErrUnexpectedEOF,
		"$\x00\x00\x04abc":                  io.ErrUnexpectedEOF,
		"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n": io.ErrUnexpectedEOF,
		"ANNOUNCE x RTSP/1.0\r\nContent-Length: 4\r\n\r\nabc":     io.ErrUnexpectedEOF,
		"ANNOUNCE x RTSP/1.0\r\nContent-Length: 99999999\r\n\r\n": gomem.ErrTooLong,
		"ANNOUNCE x RTSP/1.0\r\nContent-Length: -1\r\n\r\n":       errMalformed,
		"GET / HTTP/1.1\r\n\r\n":                                  errMalformed,
		"OPTIONS * RTSP/1.0\r\nno colon\r\n\r\n":                  errMalformed,
		strings.Repeat("x", 1<<20):                                gomem.ErrTooLong,
	} {
		r := gomem.NewBufReader(strings.NewReader(text))
		_, err := NewParser(r).Next()
		if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
			err = errMalformed
		}
		if !errors.Is(err, want) {
			t.Errorf("%.60q: %v, want %v", text, err, want)
		}
		r.Recycle()
	}
}

var errMalformed = errors.New("a textproto.ProtocolError")

// TestPublish lets a real ffmpeg publish to the server.
func TestPublish(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("ffmpeg is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback: ", err)
	}
	var mu sync.Mutex
	frames := map[byte]int{}
	var sdp string
	s := &Server{
		OnSDP: func(_, text string) { mu.Lock(); sdp = text; mu.Unlock() },
		OnFrame: func(_ string, f Frame) {
			mu.Lock()
			frames[f.Channel]++
			mu.Unlock()
			if err := f.Payload.Release(); err != nil {
				t.Error(err)
			}
		},
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, ffmpeg, "-v", "error", "-i", "../../testdata/testsrc.flv", "-t", "2", "-c", "copy",
		"-f", "rtsp", "-rtsp_transport", "tcp", "rtsp://"+l.Addr().String()+"/live").CombinedOutput()
	if err != nil {
		t.Errorf("ffmpeg: %v: %s", err, out)
	}
	_ = l.Close()
	serving.Wait()
	if frames[0] < 40 || frames[2] < 5 || !strings.Contains(sdp, "H264") {
		t.Errorf("frames by channel: %v, SDP %q", frames, sdp)
	}
}

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"parse", recorded}, &out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"ANNOUNCE rtsp://127.0.0.1:8554/live/x: 4 header fields, body of 509 bytes",
		"channel 0: 93 frames, 103130 bytes",
		"channel 2: 13 frames, 16745 bytes",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no line %q in\n%s", line, out.String())
		}
	}
	if run(nil, &out) == nil || run([]string{"parse", "nowhere"}, &out) == nil || run([]string{"serve", "nowhere:x"}, &out) == nil {
		t.Error("wrong arguments were accepted")
	}
}

// full is a disk that has no room for lines that begin so.
type full string

var errFull = errors.New("no room")

func (f full) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), string(f)) {
		return 0, errFull
	}
	return len(p), nil
}

// Output that is lost is an error.
func TestLostOutput(t *testing.T) {
	for _, line := range []full{"OPTIONS", "channel 2"} {
		if err := run([]string{"parse", recorded}, line); !errors.Is(err, errFull) {
			t.Errorf("without room for %s: %v", line, err)
		}
	}
}
