package layout

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/gomem-go/gomem"

// source is one Go file of the repository.
type source struct {
	path string // from the repository's root, with slashes
	pkg  string // its folder, "." for the root
	file *ast.File
	text []byte
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

var (
	root = filepath.Join("..", "..")
	fset = token.NewFileSet() // of all sources
)

var sources = sync.OnceValues(func() ([]source, error) {
	var found []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root && (name == "testdata" || strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		pkg := filepath.ToSlash(filepath.Dir(rel))
		found = append(found, source{rel, pkg, file, text})
		return nil
	})
	return found, err
})

func readSources(t *testing.T) []source {
	t.Helper()
	found, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 {
		t.Fatalf("only %d Go files found: the test looks in the wrong place", len(found))
	}
	return found
}

// layers says, for a folder, which folders of this module the packages in it
// may import. The longest prefix counts.
var layers = map[string][]string{
	".":                 {"offset", "backing", "internal"},
	"internal":          {"internal", "offset", "backing"},
	"internal/check":    {},
	"internal/unzeroed": {},
	"offset":            {"offset", "internal/check", "internal/unzeroed"},
	"backing":           {"backing", "internal/check", "internal/unzeroed"},
	"lac":               {"lac", "backing", "internal/check"},
	"tlsf":              {"tlsf", "offset", "backing", "internal/check"},
	"gomemtest":         {"."},
	"cmd":               {".", "cmd", "offset", "backing", "lac", "tlsf", "internal"},
	"examples":          {".", "examples", "offset", "backing", "lac", "tlsf"},
	"bench":             {".", "bench", "offset", "backing", "lac", "tlsf", "internal", "cmd"},
	"adapter":           {".", "adapter", "offset", "backing", "lac", "tlsf"},
	"tools":             {},
}

// testLayers says what tests may import on top of that.
var testLayers = map[string][]string{
	"offset":   {"internal/trace", "internal/check"},
	"backing":  {"internal"},
	"lac":      {"internal"},
	"tlsf":     {"internal"},
	"adapter":  {"gomemtest"},
	"examples": {"gomemtest"},
}

func within(dir, folder string) bool { return dir == folder || strings.HasPrefix(dir, folder+"/") }

func longest(table map[string][]string, dir string) ([]string, bool) {
	best, found := "", false
	for folder := range table {
		if (within(dir, folder) || folder == "." && dir == ".") && len(folder) >= len(best) {
			best, found = folder, true
		}
	}
	return table[best], found
}

// mayImport reports whether a file in folder from may import folder to.
func mayImport(from, to string, test bool) bool {
	allowed, known := longest(layers, from)
	if !known {
		return false
	}
	if test {
		more, _ := longest(testLayers, from)
		allowed = append(slices.Clone(allowed), append(more, from)...)
		if from == "." {
			allowed = append(allowed, "cmd/gomem/internal", "examples")
		}
	}
	return slices.ContainsFunc(allowed, func(folder string) bool {
		return to == folder || folder != "." && within(to, folder)
	})
}

func TestImportsFollowTheArrows(t *testing.T) {
	for _, s := range readSources(t) {
		for _, spec := range s.file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			to, ours := strings.CutPrefix(path, module)
			if !ours || to != "" && to[0] != '/' {
				continue
			}
			to = strings.TrimPrefix(to, "/")
			if to == "" {
				to = "."
			}
			if !mayImport(s.pkg, to, s.isTest()) {
				t.Errorf("%s imports %s: against the layers in DESIGN.md", s.path, path)
			}
		}
	}
}

func TestMayImport(t *testing.T) {
	for _, c := range []struct {
		from, to string
		test     bool
		want     bool
	}{
		{"offset", "backing", false, false},
		{"offset", ".", true, false},
		{"offset/offsettest", "offset", false, true},
		{"backing", "offset", false, false},
		{"lac", ".", false, false},
		{"lac", "offset", false, false},
		{"tlsf", "offset", false, true},
		{".", "cmd/gomem", false, false},
		{".", "lac", false, false},
		{".", "internal/check", false, true},
		{"internal/check", "offset", false, false},
		{"cmd/gomem", ".", false, true},
		{"surprise", "offset", false, false},
	} {
		if got := mayImport(c.from, c.to, c.test); got != c.want {
			t.Errorf("mayImport(%q, %q, test %v) = %v", c.from, c.to, c.test, got)
		}
	}
}

// TestCoreDependsOnTheStandardLibraryAndSysAlone holds the root go.mod to it.
func TestCoreDependsOnTheStandardLibraryAndSysAlone(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") && fields[0] != "golang.org/x/sys" {
			t.Errorf("go.mod requires %s", fields[0])
		}
	}
}

// maxLines is the limit of DESIGN.md, about 400, with some slack.
const maxLines = 420

func TestFilesAreShort(t *testing.T) {
	for _, s := range readSources(t) {
		if n := bytes.Count(s.text, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, more than %d: a file of that length has two jobs", s.path, n, maxLines)
		}
	}
}

// defaultTags flip a default constant and do nothing else (decision 1).
var defaultTags = []string{"twotree", "enable_buddy", "enable_mmap", "disable_rm"}

// tagHomes says where a tag of ours may stand besides tests.
func tagHome(tag string) string {
	switch {
	case slices.Contains(defaultTags, tag):
		return "defaults_*.go"
	case tag == "gomem_debug":
		return "internal/check/*.go"
	case strings.HasPrefix(tag, "gomem_"):
		return "*"
	}
	return ""
}

func tagsOf(s source) ([]string, error) {
	var tags []string
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if c.Pos() > s.file.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			expr, err := constraint.Parse(c.Text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.path, err)
			}
			expr.Eval(func(tag string) bool { tags = append(tags, tag); return true })
			expr.Eval(func(tag string) bool { tags = append(tags, tag); return false })
		}
	}
	return tags, nil
}

// TestTagsFlipConstantsOnly: a build tag of ours stands only in a file made for
// it, and such a file declares nothing but constants.
func TestTagsFlipConstantsOnly(t *testing.T) {
	for _, s := range readSources(t) {
		tags, err := tagsOf(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range tags {
			home := tagHome(tag)
			if home == "" || home == "*" || s.isTest() {
				continue
			}
			if ok, err := filepath.Match(home, s.path); err != nil || !ok {
				t.Errorf("%s is under the tag %s, which belongs to %s", s.path, tag, home)
			}
			for _, decl := range s.file.Decls {
				if g, ok := decl.(*ast.GenDecl); !ok || g.Tok != token.CONST && g.Tok != token.IMPORT {
					t.Errorf("%s is under the tag %s and declares more than constants", s.path, tag)
					break
				}
			}
		}
	}
}
