package gomem_test

import (
	"fmt"
	"testing"

	"github.com/gomem-go/gomem"
)

func ExamplePool() {
	pool := gomem.NewPool(func() *gomem.Memory { return new(gomem.Memory) })
	m := pool.Get()
	m.PushOne([]byte("in use"))
	fmt.Println(m.Size)
	m.Reset()
	pool.Put(m)
	// Output: 6
}

func ExamplePool_SetNew() {
	var pool gomem.Pool[[]byte]
	fmt.Println(pool.Get() == nil)
	pool.SetNew(func() []byte { return make([]byte, 4) })
	fmt.Println(len(pool.Get()))
	// Output:
	// true
	// 4
}

// TestPoolWithoutConstructor: an empty pool gives the zero value, of interfaces too.
func TestPoolWithoutConstructor(t *testing.T) {
	if err := gomem.NewPool[error](nil).Get(); err != nil {
		t.Errorf("got %v", err)
	}
	var p gomem.Pool[int]
	p.SetNew(func() int { return 7 })
	if p.Get() != 7 {
		t.Error("the constructor was not called")
	}
	p.SetNew(nil)
	if p.Get() != 0 {
		t.Error("the constructor was called after it was taken away")
	}
}
