package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/gomemtest"
)

// nowhere takes what proxies and servers log about aborted bodies.
var nowhere = log.New(io.Discard, "", 0)

// body is what the backend answers with, n bytes of it.
func body(n int) []byte { return bytes.Repeat([]byte("0123456789abcdef."), n/17+1)[:n] }

// handle is the backend. The path says what it does.
func handle(w http.ResponseWriter, r *http.Request) {
	op, arg, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	n, _ := strconv.Atoi(arg)
	switch op {
	case "body":
		w.Header().Set("Content-Length", arg)
		_, _ = w.Write(body(n))
	case "status":
		w.WriteHeader(n)
	case "endless": // until the client goes away
		for r.Context().Err() == nil {
			_, _ = w.Write(body(50_000))
		}
	case "abort": // in the middle
		_, _ = w.Write(body(n))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case "stream": // a piece, and the rest when the client has it
		_, _ = w.Write(body(n))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case "upgrade":
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(c, rw)
	}
}

// serve starts a backend and the proxy in front of it, whose buffers are a's. They end with
// the test, and before a is looked at.
func serve(t *testing.T, a *gomem.ScalableMemoryAllocator, http2 bool) *httptest.Server {
	t.Helper()
	t.Cleanup(func() { // a server that ends does not wait for its handlers with HTTP/2
		for end := time.Now().Add(time.Minute); a.Stats().Live > 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	})
	backend := httptest.NewServer(http.HandlerFunc(handle))
	t.Cleanup(backend.Close)
	u, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(u, a)
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	p.Transport = transport
	p.ErrorLog = nowhere
	proxy := httptest.NewUnstartedServer(p)
	proxy.Config.ErrorLog = nowhere
	proxy.EnableHTTP2 = http2
	if http2 {
		proxy.StartTLS()
	} else {
		proxy.Start()
	}
	t.Cleanup(proxy.Close)
	return proxy
}

func get(s *httptest.Server, ctx context.Context, method, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, nil)
	if err != nil {
		return nil, err
	}
	return s.Client().Do(r)
}

func eachProtocol(t *testing.T, f func(t *testing.T, a *gomem.ScalableMemoryAllocator, s *httptest.Server)) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%t", http2), func(t *testing.T) {
			a := gomemtest.New(t)
			f(t, a, serve(t, a, http2))
		})
	}
}

func TestBodies(t *testing.T) {
	eachProtocol(t, func(t *testing.T, a *gomem.ScalableMemoryAllocator, s *httptest.Server) {
		var clients sync.WaitGroup
		for c := range 8 {
			clients.Go(func() {
				for _, n := range []int{0, 1, bufLen - 1, bufLen, bufLen + 1, 300_000 + c} {
					res, err := get(s, t.Context(), "GET", fmt.Sprint("/body/", n))
					if err != nil {
						t.Error(err)
						return
					}
					got, err := io.ReadAll(res.Body)
					_ = res.Body.Close()
					if err != nil || !bytes.Equal(got, body(n)) {
						t.Errorf("a body of %d bytes: %d, %v", n, len(got), err)
					}
				}
			})
		}
		clients.Wait()
		for _, q := range []string{"HEAD /body/100", "GET /status/304", "GET /status/204", "GET /status/500"} {
			method, path, _ := strings.Cut(q, " ")
			res, err := get(s, t.Context(), method, path)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(res.Body); err != nil || len(got) > 0 {
				t.Errorf("%s: %q, %v", q, got, err)
			}
			_ = res.Body.Close()
		}
		if n := a.Stats().Malloced; n != (8*6+4)*bufLen {
			t.Errorf("%d bytes of buffers were used", n)
		}
	})
}

func TestClientGoesAway(t *testing.T) {
	eachProtocol(t, func(t *testing.T, a *gomem.ScalableMemoryAllocator, s *httptest.Server) {
		var clients sync.WaitGroup
		for c := range 4 {
			clients.Go(func() {
				for i := range 10 {
					ctx, cancel := context.WithCancel(t.Context())
					res, err := get(s, ctx, "GET", "/endless")
					if err != nil {
						t.Error(err)
						cancel()
						return
					}
					n := c * 10_000 * i
					if got, err := io.CopyN(io.Discard, res.Body, int64(n)); err != nil {
						t.Errorf("%d bytes of %d, %v", got, n, err)
					}
					cancel()
					_ = res.Body.Close()
				}
			})
		}
		clients.Wait()
	})
}

func TestBackendAborts(t *testing.T) {
	eachProtocol(t, func(t *testing.T, a *gomem.ScalableMemoryAllocator, s *httptest.Server) {
		for _, n := range []int{1, 100_000} {
			res, err := get(s, t.Context(), "GET", fmt.Sprint("/abort/", n))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(res.Body)
			if err == nil || !bytes.HasPrefix(body(n), got) {
				t.Errorf("%d bytes of %d, %v", len(got), n, err)
			}
			_ = res.Body.Close()
		}
	})
}

// panicking is a writer that panics in the middle of a body.
type panicking struct{ *httptest.ResponseRecorder }

func (panicking) Write([]byte) (int, error) { panic("in Write") }

func TestWriterPanics(t *testing.T) {
	a := gomemtest.New(t)
	p := serve(t, a, false).Config.Handler
	defer func() {
		if v := recover(); v != "in Write" {
			t.Errorf("it panicked with %v", v)
		}
		if n := a.Stats().Malloced; n != bufLen {
			t.Errorf("%d bytes of buffers were used", n)
		}
	}()
	p.ServeHTTP(panicking{httptest.NewRecorder()}, httptest.NewRequest("GET", "/body/100", nil))
}

// A response holds one buffer as long as it runs; beyond the limit others go without.
func TestLimit(t *testing.T) {
	const streams, limit = 20, 4*bufLen + 20_000 // of which debug mode takes some
	a := gomemtest.New(t, gomem.WithMaxBytes(limit))
	s := serve(t, a, false)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range streams {
		res, err := get(s, ctx, "GET", "/stream/5000")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		got := make([]byte, 5000)
		if _, err := io.ReadFull(res.Body, got); err != nil || !bytes.Equal(got, body(5000)) {
			t.Fatalf("stream %d: %v", i, err)
		}
		if live := a.Stats().Live; live > limit || i == 0 && live != bufLen {
			t.Errorf("%d streams use %d bytes", i+1, live)
		}
	}
	if live := a.Stats().Live; live == 0 || live == streams*bufLen {
		t.Errorf("%d streams use %d bytes", streams, live)
	}
}

func TestUpgrade(t *testing.T) {
	a := gomemtest.New(t)
	s := serve(t, a, false)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET /upgrade HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(res, err)
	}
	for i := range 3 {
		want := string(body(1000 * i))
		got := make([]byte, len(want))
		_, _ = io.WriteString(c, want)
		if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
			t.Errorf("echo %d: %v", i, err)
		}
	}
	if n := a.Stats().Malloced; n != 0 {
		t.Errorf("%d bytes of buffers were used", n)
	}
}

// address passes on what run prints.
type address struct{ seen chan string }

func (a address) Write(p []byte) (int, error) {
	a.seen <- strings.TrimPrefix(strings.TrimSpace(string(p)), "listening on ")
	return len(p), nil
}

func TestRun(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(handle))
	defer backend.Close()
	out := address{make(chan string)}
	go func() { // it serves until the end
		t.Error(run([]string{"127.0.0.1:0", backend.URL}, out))
		close(out.seen)
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + <-out.seen + "/body/100000")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(got, body(100_000)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"127.0.0.1:0"}, {"127.0.0.1:0", "http://x", "y"}, {"127.0.0.1:0", "localhost:80"},
		{"127.0.0.1:0", "http://"}, {"127.0.0.1:0", "%"}, {"127.0.0.1:-1", "http://localhost"}} {
		if err := run(args, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	if err := run([]string{"127.0.0.1:0", "http://localhost"}, full{}); !errors.Is(err, errFull) {
		t.Errorf("on a full disk: %v", err)
	}
}

// full is a disk without room.
type full struct{}

var errFull = errors.New("no room")

func (full) Write([]byte) (int, error) { return 0, errFull }
