// Readerpool is a server of lines that takes its readers from a pool, one for each
// connection: what a client sends comes back in upper case.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/gomem-go/gomem"
)

// ConnectionPool keeps readers between connections. Their blocks are not kept with
// them: Recycle gives those back to the allocator that all readers share.
type ConnectionPool struct{ readers sync.Pool }

// GetReader returns a reader over conn.
func (p *ConnectionPool) GetReader(conn net.Conn) *gomem.BufReader {
	if r, ok := p.readers.Get().(*gomem.BufReader); ok {
		r.Reset(conn)
		return r
	}
	return gomem.NewBufReaderWithBufLen(conn, 4<<10) // lines are short
}

// PutReader takes a reader back; nobody may look at its views any more.
func (p *ConnectionPool) PutReader(r *gomem.BufReader) {
	r.Recycle()
	p.readers.Put(r)
}

func handleConnection(pool *ConnectionPool, conn net.Conn) error {
	defer conn.Close()
	r := pool.GetReader(conn)
	defer pool.PutReader(r)
	for {
		line, err := r.ReadLine()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := io.WriteString(conn, strings.ToUpper(line)+"\n"); err != nil {
			return err
		}
	}
}

// serve handles connections until l is closed, and waits for those it has.
func serve(l net.Listener) error {
	var pool ConnectionPool
	var conns sync.WaitGroup
	defer conns.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		conns.Go(func() {
			if err := handleConnection(&pool, conn); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		fmt.Println("listening on", l.Addr())
		err = serve(l)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
