package layout

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"regexp"
	"testing"
)

// Platforms beside those that have a file of their own in package backing.
var platforms = []string{
	"linux/amd64", "linux/386", "linux/arm64", "darwin/arm64", "freebsd/amd64", "openbsd/amd64",
	"windows/amd64", "windows/arm64", "windows/386", "plan9/amd64", "js/wasm", "wasip1/wasm",
	"aix/ppc64", "solaris/amd64", "illumos/amd64",
}

// TestG23EveryTagCompiles: the files that a combination of the tags selects
// declare each name once, and every name that they use.
func TestG23EveryTagCompiles(t *testing.T) {
	for mask := range 1 << len(defaultTags) {
		var tags []string
		for i, tag := range defaultTags {
			if mask>>i&1 == 1 {
				tags = append(tags, tag)
			}
		}
		for _, dir := range []string{"", "backing", "internal/heap", "offset"} {
			complete(t, "linux/amd64", tags, dir)
		}
	}
}

// TestG24EveryPlatformCompiles is the same for the platforms, with the tag that
// asks for mmap and without.
func TestG24EveryPlatformCompiles(t *testing.T) {
	for _, platform := range platforms {
		for _, tags := range [][]string{nil, {"enable_mmap"}, {"race"}, {"gomem_portable"}, {"purego"}} {
			for _, dir := range []string{"", "backing", "internal/heap", "internal/unzeroed", "lac", "tlsf"} {
				complete(t, platform, tags, dir)
			}
		}
	}
}

// TestWritevOfEveryPlatform: what a packet may be made of is as much as package net
// passes on at once.
func TestWritevOfEveryPlatform(t *testing.T) {
	for platform, want := range map[string]string{
		"linux": "1024", "darwin": "1024", "freebsd": "1024", "illumos": "1024", "windows": "1024",
		"aix": "16", "solaris": "16", "js": "other", "wasip1": "other", "plan9": "other",
	} {
		ctx := build.Default
		ctx.GOOS = platform
		for _, kind := range []string{"1024", "16", "other"} {
			match, err := ctx.MatchFile(filepath.Join("..", ".."), "memory_writev_"+kind+".go")
			if err != nil || match != (kind == want) {
				t.Errorf("%s, limit %s: %v, %v", platform, kind, match, err)
			}
		}
	}
}

// ownName is a complaint about a name of the package itself: imported packages
// are not looked into, so what is missing in them does not count.
var ownName = regexp.MustCompile(`^undefined: \w+$|redeclared|unknown field|already declared`)

// complete checks that the files of a folder make a package where and with the
// tags given.
func complete(t *testing.T, platform string, tags []string, dir string) {
	t.Helper()
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH = path.Dir(platform), path.Base(platform)
	ctx.BuildTags, ctx.CgoEnabled = tags, false
	where := fmt.Sprintf("%s on %s with %v", path.Join("gomem", dir), platform, tags)
	pkg, err := ctx.ImportDir(filepath.Join("..", "..", dir), 0)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(pkg.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	conf := types.Config{
		Importer: emptyImporter{},
		Error: func(err error) {
			var e types.Error
			if errors.As(err, &e) && ownName.MatchString(e.Msg) {
				t.Errorf("%s: %s: %s", where, fset.Position(e.Pos), e.Msg)
			}
		},
	}
	// Imports are empty, so there are other complaints, and an error.
	_, _ = conf.Check(pkg.ImportPath, fset, files, nil)
}

// emptyImporter imports packages that declare nothing.
type emptyImporter struct{}

func (emptyImporter) Import(importPath string) (*types.Package, error) {
	if importPath == "unsafe" {
		return types.Unsafe, nil
	}
	name := path.Base(importPath)
	if name == "v2" {
		name = path.Base(path.Dir(importPath))
	}
	p := types.NewPackage(importPath, name)
	p.MarkComplete()
	return p, nil
}
