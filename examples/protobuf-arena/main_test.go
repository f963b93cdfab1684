package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/lac"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

func TestIdenticalBytes(t *testing.T) {
	want, err := encode(nil, 50, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string][]lac.Option{
		"plain": nil, "scanned": {lac.WithScanned()}, "debug": {lac.WithDebug()}, "small": {lac.WithChunkSize(1024)},
	} {
		t.Run(name, func(t *testing.T) {
			pool := newPool(append(opts, lac.WithMisuse(func(err error) { t.Error(err) }))...)
			for range 20 {
				ac := pool.Get()
				file := build(ac, 50)
				runtime.GC()
				got, err := proto.MarshalOptions{Deterministic: true}.Marshal(file)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes differ from the heap's %d (%v)", len(got), len(want), err)
				}
				back := &descriptorpb.FileDescriptorProto{}
				if err := proto.Unmarshal(got, back); err != nil || !proto.Equal(back, file) {
					t.Fatalf("the message does not come back: %v", err)
				}
				ac.Release()
			}
		})
	}
}

// Numbers that make no sense are refused before anything is measured.
func TestFlags(t *testing.T) {
	args, flags := os.Args, flag.CommandLine
	defer func() { os.Args, flag.CommandLine = args, flags }()
	for _, arg := range []string{"-rounds=0", "-rounds=-1", "-messages=-1"} {
		flag.CommandLine = flag.NewFlagSet("example", flag.ContinueOnError)
		os.Args = []string{"example", arg}
		if err := run(); err == nil || !strings.Contains(err.Error(), "-messages") {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	if err := printTable(&b, cost{allocs: 3}, cost{}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(b.String(), "heap") || !strings.Contains(b.String(), "arena") {
		t.Error(b.String())
	}
	if err := printTable(full{}, cost{}, cost{}); err != errFull {
		t.Errorf("on a full disk: %v", err)
	}
}

// full is a disk without room.
type full struct{}

var errFull = errors.New("no room")

func (full) Write([]byte) (int, error) { return 0, errFull }

func BenchmarkEncode(b *testing.B) {
	pool := newPool()
	var buf []byte
	b.Run("heap", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = encode(nil, 200, buf)
		}
	})
	b.Run("arena", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ac := pool.Get()
			buf, _ = encode(ac, 200, buf)
			ac.Release()
		}
	})
}
