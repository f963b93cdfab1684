package wazeromem_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/adapter/wazeromem"
	"github.com/gomem-go/gomem/backing"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// A module that exports a memory of 16 pages, 1 MiB, and nothing else.
var wasm = []byte("\x00asm\x01\x00\x00\x00" + "\x05\x03\x01\x00\x10" + "\x07\x0a\x01\x06memory\x02\x00")

func ExampleNew() {
	guests := gomem.NewScalableMemoryAllocator(16<<20, gomem.WithBacking(backing.Mmap()))
	defer guests.Close()
	ctx := experimental.WithMemoryAllocator(context.Background(), wazeromem.New(guests))
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)

	mod, err := r.Instantiate(ctx, wasm)
	if err != nil {
		log.Fatal(err)
	}
	mod.Memory().Grow(4)
	fmt.Println(mod.Memory().Size()>>16, "pages")

	mod.Close(ctx)
	fmt.Println(guests.Stats().Live, "bytes in use")
	// Output:
	// 20 pages
	// 0 bytes in use
}

func ExampleInstantiate() {
	guests := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithMaxBytes(2500<<10)) // of all guests
	defer guests.Close()
	ctx := experimental.WithMemoryAllocator(context.Background(), wazeromem.New(guests))
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	compiled, err := r.CompileModule(ctx, wasm)
	if err != nil {
		log.Fatal(err)
	}

	for n := 1; ; n++ {
		_, err := wazeromem.Instantiate(ctx, r, compiled, wazero.NewModuleConfig().WithName(fmt.Sprint("guest ", n)))
		if errors.Is(err, gomem.ErrLimit) {
			fmt.Println("no room for guest", n)
			break
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output: no room for guest 3
}
