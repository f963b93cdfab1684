package layout

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// public lists the packages that other modules import.
var public = []string{".", "offset", "offset/offsettest", "backing", "lac", "tlsf", "gomemtest"}

// implied are methods that exist for an interface of the standard library and
// are seldom called by name.
var implied = []string{"Error", "Unwrap", "Is", "String", "Format"}

// TestExportedNamesHaveExamples: each exported function and method is used
// by at least one example that is run; types come with them.
func TestExportedNamesHaveExamples(t *testing.T) {
	for _, pkg := range public {
		used := map[string]bool{}
		var exported []string
		for _, s := range readSources(t) {
			switch {
			case s.pkg != pkg:
			case s.isTest():
				collectUsed(s.file, used)
			default:
				exported = append(exported, exportedNames(s.file)...)
			}
		}
		slices.Sort(exported)
		for _, name := range slices.Compact(exported) {
			last := name[strings.LastIndex(name, ".")+1:]
			if !used[last] && !slices.Contains(implied, last) {
				t.Errorf("package %s: no example that runs uses %s", pkg, name)
			}
		}
	}
}

// exportedNames returns the exported functions of a file, and the exported
// methods of exported types as Type.Method.
func exportedNames(file *ast.File) []string {
	var names []string
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.FuncDecl)
		if !ok || !d.Name.IsExported() {
			continue
		}
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		} else if recv := receiver(d); ast.IsExported(recv) {
			names = append(names, recv+"."+d.Name.Name)
		}
	}
	return names
}

func receiver(d *ast.FuncDecl) string {
	name := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// collectUsed adds the identifiers that stand in the examples of a test file,
// and in the helpers beside them, when the examples have an output to compare.
func collectUsed(file *ast.File, used map[string]bool) {
	runs := slices.ContainsFunc(file.Comments, func(g *ast.CommentGroup) bool {
		text := strings.ToLower(g.Text())
		return strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")
	})
	if !runs {
		return
	}
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.FuncDecl)
		if !ok || strings.HasPrefix(d.Name.Name, "Test") || strings.HasPrefix(d.Name.Name, "Benchmark") {
			continue
		}
		// The name of an example shows a type that its body only infers.
		for part := range strings.SplitSeq(strings.TrimPrefix(d.Name.Name, "Example"), "_") {
			used[part] = true
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = true
			}
			return true
		})
	}
}
