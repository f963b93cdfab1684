//go:build race || asan

package tlsf_test

// instrumented builds check every access and take ten times as long.
const instrumented = true
