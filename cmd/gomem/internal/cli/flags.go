package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Parse parses args and prints nothing about an error, which the caller prints in
// one line with the name of the command; that of a bad value is as of [BadValue]. If
// help is asked for it prints usage and the flags to out; the error is flag.ErrHelp then.
func Parse(flags *flag.FlagSet, args []string, usage string, out io.Writer) error {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usage, "flags:\n")
		flags.SetOutput(out)
		flags.PrintDefaults()
	}
	return unlike(flags, err)
}

// BadValue is the error of a flag whose value is not what is wanted.
func BadValue(name string, value any, want string) error {
	shown := fmt.Sprint(value)
	if shown == "" || strings.ContainsAny(shown, " ,\"") || Printable(shown) != shown {
		shown = strconv.Quote(shown)
	}
	return fmt.Errorf("-%s %s, want %s", name, shown, want)
}

// Int defines a flag for an integer from least to most; math.MaxInt is no bound.
func Int[T int | int64](flags *flag.FlagSet, p *T, name string, value, least, most T, usage string) {
	want := fmt.Sprintf("%d to %d", least, most)
	if int64(most) == math.MaxInt || int64(most) == math.MaxInt64 {
		want = fmt.Sprintf("at least %d", least)
	}
	*p = value
	flags.Var(&checked[T]{p, want, func(s string) (T, bool) {
		n, err := strconv.ParseInt(s, 0, 64)
		return T(n), err == nil && n >= int64(least) && n <= int64(most)
	}}, name, usage)
}

// Duration defines a flag for a time that is least or longer.
func Duration(flags *flag.FlagSet, p *time.Duration, name string, value, least time.Duration, usage string) {
	*p = value
	flags.Var(&checked[time.Duration]{p, fmt.Sprintf("a time of at least %v", least), func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d >= least
	}}, name, usage)
}

// checked is a flag.Value that says what it wants.
type checked[T any] struct {
	p     *T
	want  string
	parse func(string) (T, bool)
}

// String implements flag.Value, which calls it on a zero one, too.
func (c *checked[T]) String() string {
	if c.p == nil {
		return ""
	}
	return fmt.Sprint(*c.p)
}

// Set implements flag.Value.
func (c *checked[T]) Set(s string) error {
	v, ok := c.parse(s)
	if !ok {
		return errors.New(c.want)
	}
	*c.p = v
	return nil
}

// ofFlag is how package flag reports a bad value.
var ofFlag = regexp.MustCompile(`^invalid (?:boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-([^:]+): (.*)$`)

// unlike turns an error of package flag about a value into one of BadValue.
func unlike(flags *flag.FlagSet, err error) error {
	if err == nil {
		return nil
	}
	parts := ofFlag.FindStringSubmatch(err.Error())
	if parts == nil {
		return err
	}
	value, quoted := strconv.Unquote(parts[1])
	f := flags.Lookup(parts[2])
	if quoted != nil || f == nil {
		return err
	}
	want := parts[3] // of a checked value
	if std, ok := f.Value.(flag.Getter); ok {
		switch std.Get().(type) {
		case bool:
			want = "true or false"
		case uint64:
			want = fmt.Sprintf("0 to %d", uint64(math.MaxUint64))
		}
	}
	return BadValue(f.Name, value, want)
}
