package grpcmem_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/adapter/grpcmem"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
)

// A server and a client share an allocator, which is closed when both have ended.
func Example() {
	a := gomem.NewScalableMemoryAllocator(4<<20, gomem.WithMaxBytes(256<<20))
	pool := grpcmem.New(a)

	server := grpc.NewServer(experimental.BufferPool(pool), grpc.WaitForHandlers(true),
		grpc.ForceServerCodecV2(raw{pool}), grpc.UnknownServiceHandler(echo))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go server.Serve(l)

	client, err := grpc.NewClient(l.Addr().String(), experimental.WithBufferPool(pool),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{pool})))
	if err != nil {
		log.Fatal(err)
	}
	request, reply := make([]byte, 50_000), []byte(nil)
	if err := client.Invoke(context.Background(), "/service/Echo", &request, &reply); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(reply), "bytes")

	client.Close()
	server.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println(pool.Drain(ctx), a.Close())
	fmt.Println("lost:", pool.Lost())
	// Output:
	// 50000 bytes
	// <nil> <nil>
	// lost: 0
}

func ExampleNew() {
	a := gomem.NewScalableMemoryAllocator(4 << 20)
	pool := grpcmem.New(a)
	server := grpc.NewServer(experimental.BufferPool(pool))
	defer server.Stop()
	// Output:
}

func ExamplePool_Get() {
	a := gomem.NewScalableMemoryAllocator(4 << 20)
	pool := grpcmem.New(a)
	small, large := pool.Get(1024), pool.Get(1025)
	fmt.Println(len(*small), len(*large), a.Stats().Live)
	pool.Put(large)
	// Output: 1024 1025 1025
}

func ExamplePool_Put() {
	a := gomem.NewScalableMemoryAllocator(4 << 20)
	pool := grpcmem.New(a)
	b := pool.Get(16 << 10)
	*b = (*b)[:100] // gRPC shortens buffers
	pool.Put(b)
	fmt.Println(a.Stats().Live)
	// Output: 0
}

func ExamplePool_Lost() {
	a := gomem.NewScalableMemoryAllocator(4 << 20)
	pool := grpcmem.New(a)
	pool.Get(16 << 10) // and forgotten, as gRPC does with what nobody reads
	fmt.Println(pool.Drain(context.Background()), pool.Lost())
	// Output: <nil> 1
}

func ExamplePool_Drain() {
	a := gomem.NewScalableMemoryAllocator(4 << 20)
	pool := grpcmem.New(a)
	held := pool.Get(16 << 10)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	fmt.Println(pool.Drain(ctx))
	pool.Put(held)
	fmt.Println(pool.Drain(context.Background()), a.Close())
	// Output:
	// grpcmem: buffers in use: 1: context deadline exceeded
	// <nil> <nil>
}
