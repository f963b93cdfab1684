// Rtsp takes RTSP over TCP apart without copying a packet.
//
//	rtsp parse FILE      list what a recorded connection holds
//	rtsp serve ADDRESS   be the server that ffmpeg publishes to:
//	                     ffmpeg -re -i in.flv -c copy -f rtsp -rtsp_transport tcp rtsp://ADDRESS/live
package main

import (
	"fmt"
	"io"
	"net"
	"os"

	"github.com/gomem-go/gomem"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 2 && args[0] == "parse" {
		f, err := os.Open(args[1])
		if err != nil {
			return err
		}
		defer f.Close()
		return list(f, out)
	}
	if len(args) == 2 && args[0] == "serve" {
		l, err := net.Listen("tcp", args[1])
		if err != nil {
			return err
		}
		fmt.Fprintln(out, "listening on", l.Addr())
		s := &Server{
			OnSDP: func(stream, sdp string) { fmt.Fprintf(out, "%s announced\n%s", stream, sdp) },
			OnFrame: func(stream string, f Frame) {
				fmt.Fprintf(out, "%s channel %d: %d bytes\n", stream, f.Channel, f.Payload.Len())
				_ = f.Payload.Release()
			},
		}
		return s.Serve(l)
	}
	return fmt.Errorf("usage: rtsp parse FILE | rtsp serve ADDRESS")
}

// list prints each request and, at the end, what came on each channel.
func list(src io.Reader, out io.Writer) error {
	r := gomem.NewBufReader(src)
	defer r.Recycle()
	p := NewParser(r)
	var frames, bytes [256]int
	for {
		u, err := p.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if q := u.Request; q != nil {
			_, err := fmt.Fprintf(out, "%s %s: %d header fields, body of %d bytes\n", q.Method, q.URL, len(q.Header), len(q.Body))
			if err != nil {
				return err
			}
			continue
		}
		frames[u.Frame.Channel]++
		bytes[u.Frame.Channel] += u.Frame.Payload.Len()
		if err := u.Frame.Payload.Release(); err != nil {
			return err
		}
	}
	for c, n := range frames {
		if n > 0 {
			if _, err := fmt.Fprintf(out, "channel %d: %d frames, %d bytes\n", c, n, bytes[c]); err != nil {
				return err
			}
		}
	}
	return nil
}
