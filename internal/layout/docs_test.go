package layout

import (
	"go/ast"
	"go/token"
	"iter"
	"strings"
	"testing"
)

// TestAliasesShowTheirFields: a public name for a struct of an internal package lists
// the fields and their comments in its own comment, since go doc shows them nowhere
// else.
func TestAliasesShowTheirFields(t *testing.T) {
	structs := map[string]*ast.StructType{}
	for _, s := range readSources(t) {
		for spec := range typeSpecs(s) {
			if st, ok := spec.Type.(*ast.StructType); ok && within(s.pkg, "internal") {
				structs[s.file.Name.Name+"."+spec.Name.Name] = st
			}
		}
	}
	found := 0
	for _, s := range readSources(t) {
		if s.pkg != "." || s.isTest() {
			continue
		}
		for spec, doc := range typeSpecs(s) {
			of, ok := spec.Type.(*ast.SelectorExpr)
			if !ok || !spec.Assign.IsValid() {
				continue
			}
			st := structs[of.X.(*ast.Ident).Name+"."+of.Sel.Name]
			if st == nil {
				continue // of a public package, which shows it
			}
			found++
			lines := "\n" + words(doc)
			for _, f := range st.Fields.List {
				var names []string
				for _, id := range f.Names {
					names = append(names, id.Name)
				}
				name := strings.Join(names, ", ")
				comment := words(f.Comment.Text() + f.Doc.Text())
				if !strings.Contains(lines, "\n"+name+" ") || !strings.Contains(words(strings.ReplaceAll(doc, "//", "")), comment) {
					t.Errorf("%s: the comment of %s does not show %s // %s", s.path, spec.Name.Name, name, comment)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no alias found: the test looks in the wrong place")
	}
}

// typeSpecs yields the types that s declares, with their comments.
func typeSpecs(s source) iter.Seq2[*ast.TypeSpec, string] {
	return func(yield func(*ast.TypeSpec, string) bool) {
		for _, decl := range s.file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.TYPE {
				continue
			}
			for _, spec := range d.Specs {
				if !yield(spec.(*ast.TypeSpec), d.Doc.Text()) {
					return
				}
			}
		}
	}
}

// words is text with its blanks made one space and its lines trimmed.
func words(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}
