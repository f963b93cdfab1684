package relay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
)

// Limits of the greeting.
const (
	quietTime    = 300 * time.Millisecond // after it a quiet client is a subscriber
	greetTimeout = 10 * time.Second
	maxHead      = 8 << 10 // of an HTTP request
	maxName      = 64
	defaultName  = "live"
)

var (
	errGone    = errors.New("left without a word")
	errRequest = errors.New("bad request")
)

// role is what a client came for.
type role uint8

const (
	publishes role = iota + 1
	pulls          // raw FLV
	pullsHTTP      // FLV as the body of an HTTP response
)

// greeting is the first thing a client says.
type greeting struct {
	role role
	name string // of the stream; "" for a publisher that does not care
}

// greet finds out what a client wants by its first bytes:
//
//	"FLV…"                     publishes
//	"PUBLISH name\n" "FLV…"    publishes under that name
//	"GET /name HTTP/1.1…"      pulls by HTTP; HEAD asks what that would give
//	nothing for 300 ms         pulls
//
// What follows the greeting is left unread, and it is FLV for a publisher. Quiet is
// how long nothing may be.
func greet(conn *net.TCPConn, src source, quiet time.Duration) (greeting, error) {
	if err := conn.SetReadDeadline(time.Now().Add(quiet)); err != nil {
		return greeting{}, err
	}
	start, err := src.peek(4)
	if os.IsTimeout(err) {
		if src.buffered() == 0 {
			return greeting{pulls, defaultName}, nil
		}
	} else if err != nil && src.buffered() == 0 {
		return greeting{}, errGone
	}
	if err := conn.SetReadDeadline(time.Now().Add(greetTimeout)); err != nil {
		return greeting{}, err
	}
	if err != nil {
		if start, err = src.peek(4); err != nil {
			return greeting{}, fmt.Errorf("left after %d bytes: %w", src.buffered(), err)
		}
	}
	switch {
	case string(start[:3]) == "FLV":
		return greeting{publishes, ""}, nil
	case string(start) == "PUBL":
		line, err := readHead(src, "\n")
		if err != nil {
			return greeting{}, err
		}
		name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), "PUBLISH ")
		if !ok {
			return greeting{}, fmt.Errorf("%w: %.40q", errRequest, line)
		}
		name, err = streamName(name)
		return greeting{publishes, name}, err
	case !bytes.ContainsFunc(start, func(r rune) bool { return r != ' ' && (r < 'A' || r > 'Z') }):
		return greetHTTP(conn, src)
	}
	return greeting{}, &flv.Error{Err: flv.ErrSignature, Detail: fmt.Sprintf("signature % x, want 46 4c 56", start[:3])}
}

// What a client that came by HTTP is told before it is sent away.
const (
	badRequest = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	notAllowed = "HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)

// greetHTTP is greet for one that begins with a method. It answers what is no request for
// a stream.
func greetHTTP(conn *net.TCPConn, src source) (greeting, error) {
	line, err := readHead(src, "\r\n\r\n")
	method, rest, _ := strings.Cut(line, " ")
	path, _, _ := strings.Cut(rest, " ")
	name, nameErr := streamName(path)
	answer := badRequest
	switch {
	case err != nil:
	case method != "GET" && method != "HEAD":
		answer, err = notAllowed, fmt.Errorf("%w: %.40q", errRequest, line)
	case nameErr != nil:
		err = nameErr
	case method == "HEAD":
		answer, err = httpHead, errGone
	default:
		return greeting{pullsHTTP, name}, nil
	}
	_, _ = io.WriteString(conn, answer) // it is sent away in any case
	return greeting{}, err
}

// readHead takes everything up to and including end and returns its first line.
func readHead(src source, end string) (line string, err error) {
	for n := 4; ; n++ {
		n = max(n, src.buffered())
		b, err := src.peek(min(n, maxHead))
		if err != nil {
			return "", fmt.Errorf("%w: %w", errRequest, err)
		}
		if i := bytes.Index(b, []byte(end)); i >= 0 {
			first, _, _ := bytes.Cut(b[:i+len(end)], []byte("\n"))
			line = strings.TrimSuffix(string(first), "\r")
			return line, src.skip(i + len(end))
		}
		if n >= maxHead {
			return "", fmt.Errorf("%w: longer than %d bytes", errRequest, maxHead)
		}
	}
}

// streamName checks a name or the path of a URL: letters, digits and ._-/ with
// an optional .flv at the end.
func streamName(path string) (string, error) {
	name, _, _ := strings.Cut(path, "?")
	name = strings.TrimSuffix(strings.Trim(name, "/"), ".flv")
	if name == "" {
		return defaultName, nil
	}
	strange := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r)
	}
	if len(name) > maxName || strings.ContainsFunc(name, strange) {
		return "", fmt.Errorf("%w: stream name %.40q", errRequest, name)
	}
	return name, nil
}
