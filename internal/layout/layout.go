// Package layout holds nothing but tests: they keep the shape that DESIGN.md
// gives the module, which the compiler does not check.
package layout
