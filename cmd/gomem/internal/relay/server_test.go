package relay

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
)

func mustInput(t testing.TB) *input {
	t.Helper()
	in, err := load(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// relayUnderTest is a server for strangers that must end without a byte in use.
type relayUnderTest struct {
	*server
	t    *testing.T
	addr string

	mu    sync.Mutex
	notes []string
}

func startRelay(t *testing.T, open func() engine) *relayUnderTest {
	t.Helper()
	srv, err := listen("127.0.0.1:0", open())
	if err != nil {
		t.Fatal(err)
	}
	r := &relayUnderTest{server: srv, t: t, addr: srv.listener.Addr().String()}
	srv.report = func(format string, args ...any) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.notes = append(r.notes, fmt.Sprintf(format, args...))
	}
	srv.quiet = time.Minute // who is late is no subscriber
	var accepting sync.WaitGroup
	accepting.Go(srv.serve)
	t.Cleanup(func() {
		srv.close()
		accepting.Wait()
		if err := srv.engine.close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, n := range r.notes {
				t.Log(n)
			}
		}
	})
	return r
}

// waitQuietly changes how long the clients to come may say nothing.
func (r *relayUnderTest) waitQuietly(d time.Duration) {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	r.quiet = d
}

// said reports whether a note contains part.
func (r *relayUnderTest) said(part string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.notes {
		if bytes.Contains([]byte(n), []byte(part)) {
			return true
		}
	}
	return false
}

// until waits for a condition that must come true.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still waiting: %s", what)
		}
	}
}

func (r *relayUnderTest) dial() *net.TCPConn {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		r.t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func (r *relayUnderTest) publish(name string, parts ...[]byte) *net.TCPConn {
	r.t.Helper()
	conn := r.dial()
	r.send(conn, fmt.Appendf(nil, "PUBLISH %s\n", name))
	for _, p := range parts {
		r.send(conn, p)
	}
	return conn
}

func (r *relayUnderTest) send(conn net.Conn, b []byte) {
	r.t.Helper()
	if _, err := conn.Write(b); err != nil {
		r.t.Fatal(err)
	}
}

// pull joins a stream by HTTP and returns once it is on the list.
func (r *relayUnderTest) pull(name string) *net.TCPConn {
	r.t.Helper()
	conn := r.dial()
	r.send(conn, fmt.Appendf(nil, "GET /%s HTTP/1.1\r\n\r\n", name))
	head := make([]byte, len(httpHead))
	if _, err := io.ReadFull(conn, head); err != nil || string(head) != httpHead {
		r.t.Fatalf("%q, %v", head, err)
	}
	return conn
}

// wantAll reads to the end and compares.
func wantAll(t *testing.T, who string, conn io.Reader, want ...[]byte) {
	t.Helper()
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Errorf("%s: %v", who, err)
	}
	if w := bytes.Join(want, nil); !bytes.Equal(got, w) {
		t.Errorf("%s: got %d bytes, want %d", who, len(got), len(w))
	}
}

// eachEngine runs a test for both.
func eachEngine(t *testing.T, test func(t *testing.T, open func() engine)) {
	for _, name := range []string{"gomem", "std"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newEngine(name))
		})
	}
}

func TestRawClients(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func() engine) {
		in := mustInput(t)
		r := startRelay(t, open)
		r.waitQuietly(quietTime)
		early := r.dial() // says nothing
		until(t, "the silent subscriber", func() bool { return r.count.subscribers.Load() == 1 })
		r.waitQuietly(time.Minute)
		pub := r.dial()
		r.send(pub, in.preamble)
		r.send(pub, in.tags)
		pub.CloseWrite()
		wantAll(t, "raw", early, in.preamble, in.tags)
	})
}

func TestSlowPublisher(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func() engine) {
		in := mustInput(t)
		r := startRelay(t, open)
		sub := r.pull("live")
		pub := r.dial()
		tags := in.tags[:in.cuts[3].end]
		for i, part := range [][]byte{in.preamble[:2], in.preamble[2:5], in.preamble[5:]} {
			r.send(pub, part)
			time.Sleep(time.Duration(i+1) * 5 * time.Millisecond)
		}
		for i := range tags {
			r.send(pub, tags[i:i+1])
		}
		pub.CloseWrite()
		wantAll(t, "subscriber", sub, in.preamble, tags)
	})
}

func TestNames(t *testing.T) {
	r := startRelay(t, newGomemEngine)
	in := mustInput(t)
	subs := map[string]*net.TCPConn{"live": r.pull("?token=1"), "live2": r.pull("live2.flv"), "a/b": r.pull("a/b")}
	first, second := r.dial(), r.dial()
	r.send(first, in.preamble)
	until(t, "live", func() bool { return r.said("publishes live") })
	r.send(second, in.preamble)
	until(t, "live2", func() bool { return r.said("publishes live2") })
	third := r.publish("a/b", in.preamble)
	until(t, "a/b", func() bool { return r.said("publishes a/b") })
	fourth := r.publish("a/b", in.preamble)
	until(t, "refusal", func() bool { return r.said("stream a/b has a publisher") })
	wantAll(t, "refused publisher", fourth)
	for name, pub := range map[string]*net.TCPConn{"live": first, "live2": second, "a/b": third} {
		tags := in.tags[:in.cuts[len(name)].end]
		r.send(pub, tags)
		pub.CloseWrite()
		wantAll(t, name, subs[name], in.preamble, tags)
	}
}

func TestStreamName(t *testing.T) {
	for in, want := range map[string]string{
		"": "live", "/": "live", "/x.flv": "x", "/app/x": "app/x", "/a?b=c": "a", "/.flv": "live",
	} {
		if got, err := streamName(in); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"/a b", "/%00", "/ü", "/" + string(make([]byte, 65))} {
		if got, err := streamName(in); err == nil {
			t.Errorf("%q: %q, want an error", in, got)
		}
	}
}

// What comes by HTTP and is no request for a stream gets an answer.
func TestHTTPAnswers(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func() engine) {
		r := startRelay(t, open)
		for _, c := range []struct{ request, want string }{
			{"HEAD /x HTTP/1.1\r\nHost: y\r\n\r\n", httpHead},
			{"HEADS /x HTTP/1.1\r\n\r\n", notAllowed},
			{"POST /x HTTP/1.1\r\n\r\n", notAllowed},
			{"GET /%zz HTTP/1.1\r\n\r\n", badRequest},
			{"GET /x HTTP/1.1\r\n", badRequest},
		} {
			conn := r.dial()
			r.send(conn, []byte(c.request))
			conn.CloseWrite()
			wantAll(t, c.request, conn, []byte(c.want))
		}
		if n := r.count.faults.Load(); n != 4 {
			t.Errorf("%d faults counted, want 4", n)
		}
	})
}

// A subscriber that joins late gets the header, the configuration, and then the
// stream from the next key frame on.
func TestLateJoiner(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func() engine) {
		in := mustInput(t)
		r := startRelay(t, open)
		pub := r.publish("x", in.preamble)
		config, keys := configAndKeys(t, in)
		r.send(pub, in.tags[:keys[1]-100]) // into the middle of a frame
		whole := 0
		for in.cuts[whole].end <= keys[1]-100 {
			whole++
		}
		until(t, "the first half", func() bool { return r.count.framesIn.Load() == int64(whole) })
		sub := r.pull("x")
		r.send(pub, in.tags[keys[1]-100:])
		pub.CloseWrite()
		wantAll(t, "late", sub, in.preamble, config, in.tags[keys[1]:])
	})
}

// What a stream carries is seen from its frames: many encoders announce video that
// never comes, or write the header before they know. Then, too, a late subscriber
// gets the stream from the next frame on that it can begin with.
func TestLateJoinerBehindAWrongHeader(t *testing.T) {
	in := mustInput(t)
	config, keys := configAndKeys(t, in)
	audioConfig, audio := audioTags(t, in)
	for _, c := range []struct {
		name          string
		header        flv.Header
		before, after []byte
		frames        int64 // in before
		want          []byte
	}{
		{"video announced, none sent", flv.Header{Audio: true, Video: true},
			slices.Concat(audioConfig, audio[0], audio[1]), slices.Concat(audio[2:]...), 3,
			slices.Concat(audioConfig, slices.Concat(audio[2:]...))},
		{"video sent, none announced", flv.Header{},
			in.tags[:in.cuts[9].end], in.tags[in.cuts[9].end:], 10,
			slices.Concat(config, in.tags[keys[1]:])},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startRelay(t, newGomemEngine)
			preamble := c.header.AppendPreamble(nil)
			pub := r.publish("x", preamble, c.before)
			until(t, "the first frames", func() bool { return r.count.framesIn.Load() == c.frames })
			sub := r.pull("x")
			r.send(pub, c.after)
			pub.CloseWrite()
			wantAll(t, "late", sub, preamble, c.want)
		})
	}
}

// audioTags returns the audio of the input: its configuration, and its frames.
func audioTags(t *testing.T, in *input) (config []byte, frames [][]byte) {
	t.Helper()
	from := 0
	for _, c := range in.cuts {
		tag := in.tags[from:c.end]
		from = c.end
		switch {
		case flv.Type(tag[0]) != flv.Audio:
		case tag[flv.TagHeaderSize+1] == 0:
			config = append(config, tag...)
		default:
			frames = append(frames, tag)
		}
	}
	if len(frames) < 3 || config == nil {
		t.Fatalf("%d frames of audio, %d bytes of configuration", len(frames), len(config))
	}
	return config, frames
}

// Who still drains a stream that ended does not take its successor along.
func TestNameIsUsedAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func() engine) {
		in := mustInput(t)
		r := startRelay(t, open)
		slow := r.pull("x")
		pub := r.publish("x", in.preamble)
		for range 40 { // more than the socket buffers hold
			r.send(pub, in.tags)
		}
		pub.CloseWrite()
		until(t, "the end", func() bool { return r.said("ended x") })
		next := r.pull("x")
		slow.Close()
		until(t, "the slow one's departure", func() bool { return r.said("left x") })
		second := r.publish("x", in.preamble, in.tags)
		second.CloseWrite()
		wantAll(t, "next", next, in.preamble, in.tags)
	})
}

// configAndKeys returns the configuration frames of the input, and where its key
// frames start.
func configAndKeys(t *testing.T, in *input) (config []byte, keys []int) {
	t.Helper()
	file, err := flv.Parse(append(bytes.Clone(in.preamble), in.tags...))
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range file.Tags {
		at := int(tag.Offset) - len(in.preamble)
		switch kind := tag.Kind(in.tags[at:]); {
		case kind.IsConfig():
			config = append(config, in.tags[at:at+tag.Size()]...)
		case kind == flv.KeyFrame:
			keys = append(keys, at)
		}
	}
	if len(keys) < 3 {
		t.Fatalf("%d key frames", len(keys))
	}
	return config, keys
}
