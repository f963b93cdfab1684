#!/bin/sh
# Measures BufReader against bufio and prints a table of medians.
#
#   sh scripts/benchmark_bufreader.sh
#
# COUNT rounds (default 5) in which all rows take turns, BENCHTIME (default 300ms)
# each. "x bufio" is the time as a multiple of the fair bufio in the same group,
# below 1 is faster; "x floor" as a multiple of the mock network alone. Both are
# medians of the ratios of one round, so that a busy machine weighs on neither side.
set -eu
cd "$(dirname "$0")/.."

count=${COUNT:-5}
case $count in
'' | *[!0-9]* | 0)
    echo "COUNT is $count, not a number of rounds" >&2
    exit 2
    ;;
esac
benchtime=${BENCHTIME:-300ms}
raw=
bin=
trap 'rm -f "$raw" "$bin"' EXIT
# Some shells do not run it when a signal ends them.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
raw=$(mktemp)
bin=$(mktemp)

go test -c -o "$bin" .
round=0
while [ "$round" -lt "$count" ]; do
    round=$((round + 1))
    echo "round $round of $count" >&2
    "$bin" -test.run '^$' -test.benchmem -test.benchtime "$benchtime" \
        -test.bench '^Benchmark(Reader|KeptFrames|ConcurrentNetworkRead|ConcurrentProtocolParsing|GCPressure|StreamingServer)$' >>"$raw"
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
# over is the median of the ratios of key to other, round by round.
function over(key, other,    k) {
    if (!((other, "ns/op", 1) in value)) return ""
    for (k = 1; k <= samples[key]; k++)
        value[key, other, k] = value[key, "ns/op", k] / value[other, "ns/op", k]
    return median(key, other)
}
function number(x, digits) { return x == "" ? "" : sprintf("%." digits "f", x) }
END {
    for (k in head) print head[k]
    printf "%-28s %-11s %9s %8s %8s %10s %9s %8s\n", "", "", "ns/op", "x bufio", "x floor", "allocs/op", "MB-alloc", "gc-runs"
    for (i = 1; i <= n; i++) {
        name = order[i]
        group = name
        sub(/ next/, " range", group) # another way to do the same
        for (j = 1; j <= runs[name]; j++) {
            impl = at[name, j]
            key = name SUBSEP impl
            ns = median(key, "ns/op")
            printf "%-28s %-11s %9s %8s %8s %10s %9s %8s\n", j == 1 ? name : "", impl, number(ns, 1), \
                number(over(key, group SUBSEP "bufio"), 2), number(over(key, group SUBSEP "floor"), 2), number(median(key, "allocs/op"), 0), \
                number(median(key, "MB-alloc"), 1), number(median(key, "gc-runs"), 0)
        }
    }
}' "$raw"
