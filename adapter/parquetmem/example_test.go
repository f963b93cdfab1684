package parquetmem_test

import (
	"bytes"
	"fmt"
	"io"
	"log"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/adapter/parquetmem"
	"github.com/gomem-go/gomem/backing"
	"github.com/parquet-go/parquet-go"
)

type person struct {
	Name string `parquet:"name"`
	Age  int    `parquet:"age"`
}

func ExampleNew() {
	pages := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithBacking(backing.Mmap()), gomem.WithMaxBytes(64<<20))
	defer pages.Close()
	pool := parquetmem.New(pages, 16<<10)

	var file bytes.Buffer
	w := parquet.NewSortingWriter[person](&file, 1000,
		parquet.ColumnPageBuffers(pool),
		parquet.SortingWriterConfig(
			parquet.SortingColumns(parquet.Ascending("name")),
			parquet.SortingBuffers(pool)))
	if _, err := w.Write([]person{{"Rosa", 31}, {"Emil", 29}}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	people, err := parquet.Read[person](bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(people)
	fmt.Println(pages.Stats().Live, "bytes in use")
	// Output:
	// [{Emil 29} {Rosa 31}]
	// 0 bytes in use
}

func ExamplePool_GetBuffer() {
	pool := parquetmem.New(gomem.NewScalableMemoryAllocator(1<<20), 0)
	b := pool.GetBuffer()
	defer pool.PutBuffer(b)

	if _, err := io.WriteString(b, "page one, page two"); err != nil {
		log.Fatal(err)
	}
	if _, err := b.Seek(10, io.SeekStart); err != nil {
		log.Fatal(err)
	}
	rest, err := io.ReadAll(b)
	fmt.Printf("%s %v\n", rest, err)
	// Output: page two <nil>
}

func ExamplePool_PutBuffer() {
	a := gomem.NewScalableMemoryAllocator(1 << 20)
	pool := parquetmem.New(a, 4096)
	b := pool.GetBuffer()
	if _, err := io.WriteString(b, "a page"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Stats().Live)

	pool.PutBuffer(b)
	pool.PutBuffer(b) // does nothing
	_, err := io.WriteString(b, "more")
	fmt.Println(a.Stats().Live, err)
	// Output:
	// 4096
	// 0 parquetmem: the buffer was given back
}
