//go:build !race && !asan

package tlsf_test

const instrumented = false
