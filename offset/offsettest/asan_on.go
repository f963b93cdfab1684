//go:build asan

package offsettest

// sanitized is whether the address sanitizer is built in, which keeps the
// compiler from leaving values on the stack.
const sanitized = true
