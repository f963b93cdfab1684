// Json-arena parses a large JSON document into a tree of typed values twice, on
// the Go heap and in a linear arena, and shows time, allocations and the work
// of the collector side by side.
//
//	json-arena [-rounds n] [file.json]
//
// Without a file it makes up a document of some megabytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"reflect"
	"strconv"

	"github.com/gomem-go/gomem/lac"
)

// document makes up a JSON document with n records.
func document(n int) []byte {
	b := []byte(`{"records":[`)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"id":%d,"name":"record \u00e9 %d","tags":["a","bb","ccc"],"score":%s,"active":%t,"parent":null,`+
			`"place":{"lat":%.4f,"lon":%.4f}}`, i, i, strconv.FormatFloat(float64(i)/7, 'g', -1, 64), i%3 == 0,
			float64(i%180)-90, float64(i%360)-180)
	}
	return append(b, "]}"...)
}

// count returns how many values a tree has.
func count(v Value) int {
	n := 1
	for _, item := range v.Items {
		n += count(item)
	}
	for _, m := range v.Members {
		n += count(m.Value)
	}
	return n
}

func run() error {
	rounds := flag.Int("rounds", 10, "documents parsed")
	records := flag.Int("records", 20000, "records of the document made up")
	flag.Parse()
	if *rounds < 1 || *records < 0 {
		return errors.New("-rounds must be at least 1, and -records 0")
	}
	doc := document(*records)
	if flag.NArg() > 0 {
		var err error
		if doc, err = os.ReadFile(flag.Arg(0)); err != nil {
			return err
		}
	}
	pool := lac.NewPool("documents", lac.WithChunkSize(1<<20))
	want, err := Parse(nil, doc)
	if err != nil {
		return err
	}
	ac := pool.Get()
	got, err := Parse(ac, doc)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("the tree in the arena differs from the one on the heap")
	}
	values := count(got)
	ac.Release()

	heap, err := measure(*rounds, func() error {
		_, err := Parse(nil, doc)
		return err
	})
	if err != nil {
		return err
	}
	arena, err := measure(*rounds, func() error {
		ac := pool.Get()
		defer ac.Release()
		_, err := Parse(ac, doc)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("%d documents of %d bytes, %d values each\n\n", *rounds, len(doc), values)
	return printTable(os.Stdout, heap, arena)
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
