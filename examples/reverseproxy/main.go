// Reverseproxy passes HTTP on to a backend. The bodies of responses are copied through
// blocks of one allocator: outside the Go heap, of a limited number, and held only while
// a response runs.
//
//	reverseproxy localhost:8080 http://localhost:9000
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
)

const (
	bufLen  = 16 << 10 // a response holds one of these from its first byte to its last
	maxBufs = 64 << 20 // bytes of all of them
)

// BufferPool is an [httputil.BufferPool]. ReverseProxy takes one buffer for each response,
// also for one without a body, and gives it back once and whole, even if it panics. It takes
// none for upgraded connections such as WebSocket, nor for the bodies of requests.
type BufferPool struct {
	Allocator *gomem.ScalableMemoryAllocator
}

// Get returns nil at the limit: then ReverseProxy makes a buffer of its own.
func (p BufferPool) Get() []byte { return p.Allocator.Malloc(bufLen) }

// Put takes a buffer back, or nil.
func (p BufferPool) Put(b []byte) { p.Allocator.Free(b) }

// newProxy returns a handler with buffers of a. Do not close a: the server may be closed
// before a handler has returned.
func newProxy(backend *url.URL, a *gomem.ScalableMemoryAllocator) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(backend)
			r.SetXForwarded()
		},
		BufferPool: BufferPool{a},
	}
}

func main() {
	err := run(os.Args[1:], os.Stdout)
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: reverseproxy ADDRESS BACKEND")
	}
	backend, err := url.Parse(args[1])
	if err != nil {
		return err
	}
	if backend.Scheme != "http" && backend.Scheme != "https" || backend.Host == "" {
		return fmt.Errorf("%s is not the URL of a server", args[1])
	}
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	defer l.Close()
	if _, err := fmt.Fprintln(out, "listening on", l.Addr()); err != nil {
		return err
	}
	a := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithBacking(backing.Mmap()), gomem.WithMaxBytes(maxBufs))
	s := &http.Server{Handler: newProxy(backend, a), ReadHeaderTimeout: 10 * time.Second}
	return s.Serve(l)
}
