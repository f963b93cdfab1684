package pionmem

import (
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/transport/v5/packetio"
)

// Two writes may wake one reader, who then wakes the next.
func TestReadersWakeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBuffer(nil)
		var reading sync.WaitGroup
		for range 3 {
			reading.Go(func() {
				if _, err := b.Read(nil); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		b.mu.Lock() // as if the readers had not waited yet at these writes
		for range 3 {
			b.q.push(nil, nil)
		}
		b.wake()
		b.mu.Unlock()
		reading.Wait()
	})
}

func TestReadWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBuffer(nil)
		start := time.Now()
		results := make(chan error, 10)
		read := func() {
			_, err := b.Read(make([]byte, 10))
			results <- err
		}
		expect := func(want error) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-results:
				if !errors.Is(err, want) {
					t.Errorf("after %v: %v, want %v", time.Since(start), err, want)
				}
			default:
				t.Errorf("after %v: it waits, want %v", time.Since(start), want)
			}
		}
		still := func() {
			t.Helper()
			synctest.Wait()
			if len(results) > 0 {
				t.Errorf("after %v: it did not wait: %v", time.Since(start), <-results)
			}
		}

		for range 3 { // one packet wakes one reader, several wake several
			go read()
		}
		still()
		write(t, b, nil)
		expect(nil)
		still()
		write(t, b, nil)
		write(t, b, nil)
		expect(nil)
		expect(nil)

		go read()
		_ = b.SetReadDeadline(start.Add(2 * time.Second)) // for who waits already, too
		time.Sleep(time.Second)
		still()
		_ = b.SetReadDeadline(start.Add(4 * time.Second))
		time.Sleep(2 * time.Second)
		still()
		time.Sleep(time.Second)
		expect(packetio.ErrTimeout)
		write(t, b, nil)
		go read()
		expect(packetio.ErrTimeout) // it has passed, whatever is queued
		_ = b.SetReadDeadline(time.Time{})
		go read()
		expect(nil)

		_ = b.SetReadDeadline(time.Now().Add(time.Second))
		for range 3 {
			go read()
		}
		still()
		_ = b.Close()
		for range 3 {
			expect(io.EOF)
		}
		time.Sleep(time.Second)
	})
}
