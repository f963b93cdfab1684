// Protobuf-arena builds a graph of generated protobuf messages twice, on the Go
// heap and in a linear arena, marshals both with google.golang.org/protobuf, and
// shows time, allocations and the work of the collector side by side.
//
// The messages are descriptors, the proto2 types that every installation of the
// protobuf module has. Nothing else is needed: a nil *lac.Allocator is the Go
// heap, so one function builds both.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/gomem-go/gomem/lac"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// names are constants of the program: pointers to them need no Attach, but
// String copies them into the arena anyway, as it would a name from a request.
var names = []string{"id", "price", "class", "display_name", "active", "created_at"}

// build makes a file descriptor with n messages of a few fields each.
func build(ac *lac.Allocator, n int) *descriptorpb.FileDescriptorProto {
	file := lac.New[descriptorpb.FileDescriptorProto](ac)
	file.Name = ac.String("shop/item.proto")
	file.Package = ac.String("shop")
	file.MessageType = lac.NewSlice[*descriptorpb.DescriptorProto](ac, 0, n)
	for i := range n {
		message := lac.New[descriptorpb.DescriptorProto](ac)
		message.Name = ac.String("Item")
		for k, name := range names {
			field := lac.New[descriptorpb.FieldDescriptorProto](ac)
			field.Name = ac.String(name)
			field.Number = ac.Int32(int32(k + 1))
			field.Label = lac.NewEnum(ac, descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL)
			field.Type = lac.NewEnum(ac, descriptorpb.FieldDescriptorProto_TYPE_INT64)
			field.OneofIndex = ac.Int32(int32(i % 7))
			message.Field = lac.Append(ac, message.Field, field)
		}
		file.MessageType = lac.Append(ac, file.MessageType, message)
	}
	return file
}

// newPool makes a pool for arenas of these messages. Each message points to the
// description of its type, which a variable of the protobuf module keeps alive;
// debug mode has to know that.
func newPool(opts ...lac.Option) *lac.AllocatorPool {
	opts = append(opts, lac.WithAttached(
		(*descriptorpb.FileDescriptorProto)(nil).ProtoReflect().Type(),
		(*descriptorpb.DescriptorProto)(nil).ProtoReflect().Type(),
		(*descriptorpb.FieldDescriptorProto)(nil).ProtoReflect().Type(),
	))
	return lac.NewPool("messages", opts...)
}

// encode builds and marshals one file, into buf.
func encode(ac *lac.Allocator, n int, buf []byte) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend(buf[:0], build(ac, n))
}

func run() error {
	messages := flag.Int("messages", 200, "messages in a file")
	rounds := flag.Int("rounds", 300, "files built and marshalled")
	flag.Parse()
	if *rounds < 1 || *messages < 0 {
		return errors.New("-rounds must be at least 1, and -messages 0")
	}

	pool := newPool()
	var fromHeap, fromArena []byte
	heap, err := measure(*rounds, func() (err error) {
		fromHeap, err = encode(nil, *messages, fromHeap)
		return err
	})
	if err != nil {
		return err
	}
	arena, err := measure(*rounds, func() (err error) {
		ac := pool.Get()
		defer ac.Release()
		fromArena, err = encode(ac, *messages, fromArena)
		return err
	})
	if err != nil {
		return err
	}
	if !bytes.Equal(fromHeap, fromArena) {
		return fmt.Errorf("%d bytes from the heap differ from %d bytes from the arena", len(fromHeap), len(fromArena))
	}
	fmt.Printf("%d files of %d messages, %d identical bytes each\n\n", *rounds, *messages, len(fromHeap))
	return printTable(os.Stdout, heap, arena)
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
