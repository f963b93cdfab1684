package layout

import (
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// public lists the packages that other modules import.
var public = []string{".", "offset", "offset/offsettest", "backing", "lac", "tlsf", "gomemtest"}

// implied are methods that exist for an interface of the standard library and
// are seldom called by name.
var implied = []string{"Error", "Unwrap", "Is", "String", "Format"}

// TestExportedNamesHaveExamples: each exported function, method, variable and constant is
// used by at least one example that is run; types come with them. A method of the same name
// of another type does not count.
func TestExportedNamesHaveExamples(t *testing.T) {
	imports := compiled(t)
	for _, pkg := range public {
		p, err := imports.Import(path.Join(module, pkg))
		if err != nil {
			t.Fatal(err)
		}
		used := usedByExamples(t, pkg, imports)
		for _, name := range exportedNames(p) {
			last := name[strings.LastIndex(name, ".")+1:]
			if !used[name] && !slices.Contains(implied, last) {
				t.Errorf("package %s: no example that runs uses %s", pkg, name)
			}
		}
	}
}

// compiled imports from what the go command has compiled.
func compiled(t *testing.T) types.Importer {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./...")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if name, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			files[name] = file
		}
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) {
		return os.Open(files[name])
	})
}

// exportedNames returns the exported functions, variables and constants of p, and the
// exported methods of its exported types as Type.Method.
func exportedNames(p *types.Package) []string {
	var names []string
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		typ, ok := o.(*types.TypeName)
		if !ok {
			names = append(names, name)
			continue
		}
		// The methods of an alias belong to the type that it names.
		if named, ok := typ.Type().(*types.Named); ok {
			for m := range named.Methods() {
				if m.Exported() {
					names = append(names, name+"."+m.Name())
				}
			}
		}
	}
	return names
}

// usedByExamples returns the names of a package, as exportedNames does, that stand in its
// examples, and in the helpers beside them.
func usedByExamples(t *testing.T, pkg string, imports types.Importer) map[string]bool {
	t.Helper()
	var files []*ast.File
	for _, s := range readSources(t) {
		if s.pkg == pkg && s.isTest() && strings.HasSuffix(s.file.Name.Name, "_test") {
			files = append(files, s.file)
		}
	}
	used := map[string]bool{}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// What other systems' files declare, and what is exported for tests alone, is missing.
	conf := types.Config{Importer: imports, Error: func(error) {}}
	_, _ = conf.Check(pkg+"_test", fset, files, info)
	for _, f := range files {
		if !hasOutput(f) {
			continue
		}
		for _, decl := range f.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok || strings.HasPrefix(d.Name.Name, "Test") || strings.HasPrefix(d.Name.Name, "Benchmark") {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					used[nameOf(info.Uses[id])] = true
				}
				return true
			})
		}
	}
	return used
}

// hasOutput says whether a file has an example with an output to compare.
func hasOutput(file *ast.File) bool {
	return slices.ContainsFunc(file.Comments, func(g *ast.CommentGroup) bool {
		text := strings.ToLower(g.Text())
		return strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")
	})
}

// nameOf is the name of o in its package, with its type if o is a method.
func nameOf(o types.Object) string {
	f, ok := o.(*types.Func)
	if !ok {
		if o == nil {
			return ""
		}
		return o.Name()
	}
	if recv := f.Signature().Recv(); recv != nil {
		typ := recv.Type()
		if p, ok := typ.(*types.Pointer); ok {
			typ = p.Elem()
		}
		if named, ok := typ.(*types.Named); ok {
			return named.Obj().Name() + "." + f.Name()
		}
	}
	return f.Name()
}
