#!/bin/sh
# Measures BufReader against bufio and prints a table of medians.
#
#   sh scripts/benchmark_bufreader.sh
#
# COUNT runs of BENCHTIME each (defaults 5 and 300ms) per row. "x bufio" is the
# time as a multiple of the fair bufio in the same group, below 1 is faster; "x
# floor" as a multiple of the mock network alone.
set -eu
cd "$(dirname "$0")/.."

count=${COUNT:-5}
benchtime=${BENCHTIME:-300ms}
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT

for group in 'BenchmarkReader$' 'BenchmarkKeptFrames$' 'BenchmarkConcurrentNetworkRead$' \
    'BenchmarkConcurrentProtocolParsing$' 'BenchmarkGCPressure$' 'BenchmarkStreamingServer$'; do
    echo "running $group" >&2
    go test -run '^$' -bench "^$group" -benchmem -count "$count" -benchtime "$benchtime" . >>"$raw"
done

awk '
/^cpu:|^goos:|^goarch:/ { head[$1] = $0 }
/^Benchmark/ {
    name = $1
    sub(/^Benchmark/, "", name)
    sub(/-[0-9]+$/, "", name)
    impl = name
    sub(/.*impl=/, "", impl)
    sub(/\/impl=.*/, "", name)
    sub(/\/op=/, " ", name)
    key = name SUBSEP impl
    if (!(name in groups)) { groups[name] = 1; order[++n] = name }
    if (!(key in seen)) { seen[key] = ++runs[name]; at[name, runs[name]] = impl }
    k = ++samples[key]
    for (i = 3; i < NF; i += 2) value[key, $(i + 1), k] = $i
}
function median(key, unit,    c, i, j, t, v) {
    c = samples[key]
    if (!((key, unit, 1) in value)) return ""
    for (i = 1; i <= c; i++) v[i] = value[key, unit, i] + 0
    for (i = 2; i <= c; i++)
        for (j = i; j > 1 && v[j - 1] > v[j]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
    return v[int((c + 1) / 2)]
}
function number(x, digits) { return x == "" ? "" : sprintf("%." digits "f", x) }
END {
    for (k in head) print head[k]
    printf "%-28s %-11s %9s %8s %8s %10s %9s %8s\n", "", "", "ns/op", "x bufio", "x floor", "allocs/op", "MB-alloc", "gc-runs"
    for (i = 1; i <= n; i++) {
        name = order[i]
        fair = median(name SUBSEP "bufio", "ns/op")
        floor = median(name SUBSEP "floor", "ns/op")
        for (j = 1; j <= runs[name]; j++) {
            impl = at[name, j]
            key = name SUBSEP impl
            ns = median(key, "ns/op")
            printf "%-28s %-11s %9s %8s %8s %10s %9s %8s\n", j == 1 ? name : "", impl, number(ns, 1), \
                (fair > 0 ? number(ns / fair, 2) : ""), (floor > 0 ? number(ns / floor, 2) : ""), number(median(key, "allocs/op"), 0), \
                number(median(key, "MB-alloc"), 1), number(median(key, "gc-runs"), 0)
        }
    }
}' "$raw"
