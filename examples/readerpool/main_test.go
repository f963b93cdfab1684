package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback: ", err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := serve(l); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	for range 3 { // readers of one round serve the next
		var clients sync.WaitGroup
		for i := range 20 {
			clients.Go(func() { talk(t, l.Addr().String(), i) })
		}
		clients.Wait()
	}
	_ = l.Close()
	serving.Wait()
}

func talk(t *testing.T, address string, id int) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for i := range 10 {
		line := fmt.Sprintf("client %d line %d\n", id, i)
		if _, err := c.Write([]byte(line)); err != nil {
			t.Error(err)
			return
		}
		if got, err := in.ReadString('\n'); err != nil || got != strings.ToUpper(line) {
			t.Errorf("%q, %v, want %q", got, err, strings.ToUpper(line))
			return
		}
	}
}
