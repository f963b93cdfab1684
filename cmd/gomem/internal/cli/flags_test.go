package cli

import (
	"errors"
	"flag"
	"math"
	"strings"
	"testing"
	"time"
)

func newFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("x", flag.ContinueOnError)
	var n int
	var wide int64
	var d time.Duration
	Int(flags, &n, "n", 5, 1, 10, "`number` of things")
	Int(flags, &wide, "wide", 7, 1, math.MaxInt64, "")
	Duration(flags, &d, "d", time.Second, time.Millisecond, "")
	flags.Bool("b", false, "")
	flags.Uint64("u", 0, "")
	flags.String("s", "", "")
	return flags
}

// A bad value is named with its flag and what is wanted, in one form.
func TestBadValues(t *testing.T) {
	for args, want := range map[string]string{
		"-n 0":                      "-n 0, want 1 to 10",
		"-n=11":                     "-n 11, want 1 to 10",
		"-n many":                   "-n many, want 1 to 10",
		"-n=":                       `-n "", want 1 to 10`,
		"-n=a\"b":                   `-n "a\"b", want 1 to 10`,
		"-n=\x1b":                   `-n "\x1b", want 1 to 10`,
		"-wide 0":                   "-wide 0, want at least 1",
		"-wide 9223372036854775808": "-wide 9223372036854775808, want at least 1",
		"-d 1us":                    "-d 1us, want a time of at least 1ms",
		"-d 5":                      "-d 5, want a time of at least 1ms",
		"-b=5":                      "-b 5, want true or false",
		"-u -1":                     "-u -1, want 0 to 18446744073709551615",
		"-n":                        "flag needs an argument: -n",
		"-x":                        "flag provided but not defined: -x",
	} {
		if err := Parse(newFlags(), strings.Fields(args), "", nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	if err := BadValue("s", "a, b", "c"); err.Error() != `-s "a, b", want c` {
		t.Error(err)
	}
}

func TestGoodValues(t *testing.T) {
	flags := newFlags()
	if err := Parse(flags, strings.Fields("-n 0x0a -wide=9223372036854775807 -d 1m -b -u 3 rest"), "", nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"n": "10", "wide": "9223372036854775807", "d": "1m0s", "b": "true", "u": "3"} {
		if got := flags.Lookup(name).Value.String(); got != want {
			t.Errorf("-%s is %s, want %s", name, got, want)
		}
	}
}

func TestHelpHasFlags(t *testing.T) {
	var out strings.Builder
	if err := Parse(newFlags(), []string{"-h"}, "usage: x\n\n", &out); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	for _, want := range []string{"usage: x\n\nflags:\n  -b", "  -n number\n    \tnumber of things (default 5)\n", "(default 1s)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
